// Starts the ceilings of bench/ceilings, each in a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Loaded } from '../testkit/load.js';
import { compiledProgram } from '../testkit/project.js';
import type { StandaloneGateway } from '../testkit/standalone.js';
import type { FastifyAsked, StatementsAsked } from './ceilings.js';
import type { PerSecond } from './results.js';

/** About what a purchase is answered with. */
const ANSWER = {
  audit: 1,
  gateway_timestamp: '2026-11-15T11:07:18.123+11:00',
  merchant: { id: 1 },
  kvps: {},
  status: {
    gateway_status_code: 0,
    gateway_status_message: 'Processed',
    transaction_status_code: 'approved',
    acquirer: { response_code: '00', response_message: 'Approved', settlement_date: '2026-11-16' },
  },
  _links: {
    self: { href: '/v1/transactions/1' },
    refund: { href: '/v1/transactions/1/refund' },
    void: { href: '/v1/transactions/1/void' },
  },
};

function start<Said>(asked: StatementsAsked | FastifyAsked): { child: ChildProcess; said: Promise<Said> } {
  const program = compiledProgram('bench/ceilings');
  const child = spawn(process.execPath, [program, JSON.stringify(asked)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = new Promise<Said>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a ceiling ended with ${code}`)));
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)));
  });
  return { child, said };
}

export async function batchedStatements(
  gateway: StandaloneGateway,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<PerSecond> {
  const databaseUrl = await gateway.databaseUrl();
  return start<PerSecond>({ kind: 'statements', databaseUrl, connections, seconds }).said;
}

export async function bareFastify(): Promise<Loaded & { stop(): void }> {
  const { child, said } = start<{ port: number }>({ kind: 'fastify', answer: ANSWER });
  const { port } = await said;
  child.removeAllListeners('exit');
  return { port, authorization: 'Basic YmVuY2g6YmVuY2g=', stop: () => void child.kill('SIGTERM') };
}
