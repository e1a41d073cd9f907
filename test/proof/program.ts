// Runs a program of proof/ to its end, as `npm run test:…` does.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export async function runProof(
  program: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [`proof/${program}.js`, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Told to stop it still removes what it started, should the test be over before it.
  onTestFinished(() => void child.kill('SIGTERM'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, output };
}

// biome-ignore lint/suspicious/noExplicitAny: the programs are plain JavaScript
export async function moduleOfProof(name: string): Promise<any> {
  return import(new URL(`../../proof/${name}.js`, import.meta.url).href);
}
