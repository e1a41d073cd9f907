// Programs of others: whether they are there, how they are installed into a folder of ours, and what they say.
import { spawn } from 'node:child_process';

const LIMIT_MS = 600_000;
const LAST_LINES = 30;

/** Something is missing that this proof cannot bring: the client is skipped, and says why. */
export class Missing extends Error {
  override name = 'Missing';
}

export interface RunOptions {
  readonly cwd?: string;
  /** Put before the PATH of this process. */
  readonly path?: string;
}

/** Runs a program to its end. Throws with its last words unless it ends well. */
export function run(
  program: string,
  args: readonly string[],
  { cwd, path }: RunOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const environment = { ...process.env, ...(path && { PATH: `${path}:${process.env.PATH}` }) };
    const child = spawn(program, args, { cwd, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    const words: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => words.push(piece));
    const said = () => Buffer.concat(words).toString('utf8').trim();
    child.once('error', (error) => {
      clearTimeout(limit);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(limit);
      const last = said().split('\n').slice(-LAST_LINES).join('\n');
      if (code === 0) resolve(said());
      else reject(new Error(`${program} ${args.join(' ')}\n${last}`));
    });
  });
}

/** What brings tools may fail where there is no network; that says nothing about the client. */
export async function install(
  what: string,
  program: string,
  args: readonly string[],
  options?: RunOptions,
): Promise<string> {
  try {
    return await run(program, args, options);
  } catch (error) {
    const { message } = error as Error;
    const lines = message.split('\n').slice(1);
    const reason = lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? message;
    throw new Missing(`${what} cannot be installed: ${reason.trim()}`);
  }
}

export async function needed(program: string, ...args: string[]): Promise<void> {
  await run(program, args).catch(() => {
    throw new Missing(`${program} is not there`);
  });
}
