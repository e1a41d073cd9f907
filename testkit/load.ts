// Loads a gateway from a separate process, so that the measuring process and the load do not wait for each other.
import { spawn } from 'node:child_process';
import { paymentBody } from './bodies.js';
import type { Load, LoadResult } from './load-generator.js';
import { compiledProgram } from './project.js';

export type LoadOptions = Omit<Load, 'port' | 'authorization' | 'host'>;

/** What there is to load. */
export interface Loaded {
  readonly port: number;
  readonly authorization: string;
}

export function load({ port, authorization }: Loaded, options: LoadOptions): Promise<LoadResult> {
  const program = compiledProgram('testkit/load-generator');
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify({ port, authorization, ...options }));
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) =>
      code === 0 ? resolve(JSON.parse(output)) : reject(new Error('the load failed')),
    );
  });
}

export const PURCHASE = {
  method: 'POST',
  paths: ['/v1/transactions/purchase'],
  body: JSON.stringify(paymentBody({ reference: 'bench', amount: 1995 })),
} as const;
