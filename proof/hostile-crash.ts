// Finds out which of the requests that were under way when the gateway crashed did it: each alone, on a fresh gateway.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiledProgram } from '../testkit/project.js';
import type { Case } from './hostile-case.js';

/** Those that crash a gateway all by themselves. */
export async function culprits(seed: number, cases: readonly Case[]): Promise<Case[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-crash-'));
  const found: Case[] = [];
  for (const one of cases) {
    const file = join(folder, 'case.json');
    await writeFile(file, JSON.stringify({ seed, ...one }));
    if ((await outputOf(file)).includes('broken: no crash')) found.push(one);
  }
  await rm(folder, { recursive: true, force: true });
  return found;
}

function outputOf(file: string): Promise<string> {
  const child = spawn(process.execPath, [compiledProgram('proof/hostile'), '--replay', file], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.once('close', () => resolve(output)));
}
