// Runs a program of proof/ to its end, as `npm run test:…` does.
import { spawn } from 'node:child_process';
import { onTestFailed, onTestFinished } from 'vitest';
import { compiledProgram, PROJECT_ROOT } from '../../testkit/project.js';

export async function runProof(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [compiledProgram(`proof/${program}/${program}`), ...args], {
    cwd: PROJECT_ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Told to stop it still removes what it started, should the test be over before it.
  onTestFinished(() => void child.kill('SIGTERM'));
  let output = '';
  // Of one that did not come to its end in time nothing else would be known.
  onTestFailed(() => void process.stdout.write(output));
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
