// Programs of others: whether they are there, how they are installed into a folder of ours, and what they say.
import { spawn, spawnSync } from 'node:child_process';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { verdict } from './verdict.js';

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

export interface Said {
  readonly ok: boolean;
  readonly text: string;
}

/** Runs a tool to its end, and waits for it. Undefined if it is not there. */
export function tool(
  program: string,
  args: readonly string[],
  { cwd = PROJECT_ROOT, input = '' }: { readonly cwd?: string; readonly input?: string | Buffer } = {},
): Said | undefined {
  const options = { cwd, input, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
  const { status, error, stdout, stderr } = spawnSync(program, args, options);
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return undefined;
  return { ok: status === 0, text: status === 0 ? stdout : `${stdout}${stderr}` };
}

/** What tools of others find. A tool that is missing is named in the end, and its checks are skipped. */
export class ToolChecks {
  readonly #broken: Record<string, string[]> = {};
  readonly #missing = new Set<string>();
  #checks = 0;

  run(program: string, args: readonly string[], input = ''): Said | undefined {
    const said = tool(program, args, { input });
    if (said === undefined) this.#missing.add(program);
    return said;
  }

  isThere(program: string): boolean {
    return this.run(program, ['--version']) !== undefined;
  }

  expect(promise: string, isKept: boolean, otherwise: string): void {
    this.#checks += 1;
    if (isKept) return;
    this.#broken[promise] ??= [];
    this.#broken[promise].push(otherwise);
  }

  /** That a tool had nothing to complain of. */
  expectGood(promise: string, what: string, said: Said | undefined): void {
    if (said !== undefined) this.expect(promise, said.ok, `${what}: ${said.text}`);
  }

  verdict(name: string): 0 | 1 {
    for (const program of this.#missing) say(`${name}: ${program} is not there; its checks are skipped`);
    return verdict(this.#broken, `${name}: ${this.#checks} checks`);
  }
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
