// Finds out which of the requests that were under way when the gateway crashed did it: each alone, on a fresh gateway.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = new URL('./hostile.js', import.meta.url).pathname;

/** Those that crash a gateway all by themselves. */
export async function culprits(seed, cases) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-crash-'));
  const found = [];
  for (const one of cases) {
    const file = join(folder, 'case.json');
    await writeFile(file, JSON.stringify({ seed, ...one }));
    if ((await outputOf(file)).includes('broken: no crash')) found.push(one);
  }
  await rm(folder, { recursive: true, force: true });
  return found;
}

function outputOf(file) {
  const child = spawn(process.execPath, [PROGRAM, '--replay', file], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.once('close', () => resolve(output)));
}
