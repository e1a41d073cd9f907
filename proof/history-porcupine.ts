// Has a history judged by porcupine, a checker of others: `proof/history/judge` is a small Go program around it. Without Go, or where the
// module cannot be had, that is said, and only our own judge has spoken.
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { PROJECT_ROOT } from '../testkit/project.js';
import type { Recorded } from './history-record.js';

const FOLDER = join(PROJECT_ROOT, 'proof', 'history', 'judge');

export interface Judged {
  /** Why it has not judged, if so. */
  readonly skipped?: string;
  readonly broken: readonly string[];
  readonly figures: string;
}

/** One line for each request, behind one that says what holds for all. */
export async function writeHistory(
  path: string,
  history: readonly Recorded[],
  { lenientVoids }: { readonly lenientVoids: boolean },
): Promise<void> {
  const file = createWriteStream(path);
  file.write(`${JSON.stringify({ kind: 'header', lenientVoids })}\n`);
  for (const one of history) file.write(`${JSON.stringify(one)}\n`);
  file.end();
  await finished(file);
}

export async function judgedByPorcupine(historyPath: string, folder: string): Promise<Judged> {
  const program = join(folder, 'judge');
  const built = await run('go', ['build', '-o', program, '.'], FOLDER);
  if (built.code !== 0) {
    const reason = built.code === undefined ? 'Go is not there' : `it cannot be built: ${built.output}`;
    return { skipped: reason.trim(), broken: [], figures: 'porcupine: skipped' };
  }
  const { code, output } = await run(program, [], folder, historyPath);
  const lines = output.trimEnd().split('\n');
  const figures = lines.pop() ?? '';
  // Each begins with its name, and the operations stand below it.
  const broken = lines
    .join('\n')
    .split(/^(?=BROKEN|UNDECIDED)/m)
    .filter((text) => text.startsWith('BROKEN'));
  if (code !== 0 && broken.length === 0)
    return { broken: [`the judge ended with ${code}: ${output}`], figures };
  return { broken, figures };
}

async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  inputPath?: string,
): Promise<{ code: number | null | undefined; output: string }> {
  const input = inputPath === undefined ? undefined : await open(inputPath);
  const child = spawn(command, args, { cwd, stdio: [input?.fd ?? 'ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | null | undefined>((resolve) => {
    child.once('error', () => resolve(undefined));
    child.once('close', resolve);
  });
  await input?.close();
  return { code, output };
}
