// Real processes for tests: `node bin/tollgate.js …` from the project root, whose output is collected, and of which
// nothing is left when the test file ends: no process, no data directory, no PostgreSQL that a killed gateway left behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openEmbeddedPostgres } from '../src/embedded-postgres/server.js';

export const PROJECT_ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Environment variables. Those of the surrounding shell that are settings of the gateway do not count. */
export type Environment = Readonly<Record<string, string>>;

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProcess {
  readonly pid: number;
  /** Everything that it has written so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

export interface GatewayProcess extends RunningProcess {
  /** For example `http://127.0.0.1:43210/v1`. */
  readonly baseUrl: string;
  /** Where `/livez` and `/readyz` are. */
  readonly origin: string;
  /** Asks it to stop, and waits until it has. */
  stop(): Promise<Ended>;
  /** `kill -9`. */
  crash(): Promise<Ended>;
}

const children = new Set<ChildProcess>();
const dataDirectories = new Set<string>();

/** Ends what the test file has started and removes what it has made. */
export async function leaveNothingBehind(): Promise<void> {
  await Promise.all([...children].map(killed));
  await Promise.all([...dataDirectories].map(removeDataDirectory));
  dataDirectories.clear();
}
// Should the test run itself be ended early.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** An empty directory. It is removed when the test file ends, after the PostgreSQL in it was stopped. */
export async function dataDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-process-'));
  dataDirectories.add(directory);
  return directory;
}

/** Starts a program of the project, `tollgate` unless told otherwise. */
export function start(
  args: readonly string[],
  environment: Environment = {},
  command?: string,
): RunningProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(DATABASE_URL|TOLLGATE_)/.test(name));
  const child = spawn(
    command ?? process.execPath,
    command === undefined ? [join(PROJECT_ROOT, 'bin/tollgate.js'), ...args] : [...args],
    {
      cwd: PROJECT_ROOT,
      env: { ...Object.fromEntries(inherited), NODE_ENV: 'production', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  children.add(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    // A PostgreSQL that outlives its gateway writes to a log of its own, so that the pipes do close.
    child.on('close', (code, signal) => {
      children.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });
  return {
    pid: child.pid ?? 0,
    output: () => stdout + stderr,
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

/** Runs a command to its end. */
export function run(args: readonly string[], environment: Environment = {}): Promise<Ended> {
  return start(args, environment).ended;
}

/** Starts a gateway on any free port, and returns once it listens. */
export async function startGatewayProcess(environment: Environment): Promise<GatewayProcess> {
  const running = start(['serve'], {
    TOLLGATE_PORT: '0',
    TOLLGATE_DATA_DIR: environment.TOLLGATE_DATA_DIR ?? (await dataDirectory()),
    ...environment,
  });
  const baseUrl = await listening(running);
  return {
    ...running,
    baseUrl,
    origin: new URL(baseUrl).origin,
    stop: () => {
      running.kill('SIGTERM');
      return running.ended;
    },
    crash: () => {
      running.kill('SIGKILL');
      return running.ended;
    },
  };
}

async function listening(running: RunningProcess): Promise<string> {
  let ended: Ended | undefined;
  void running.ended.then((end) => {
    ended = end;
  });
  while (ended === undefined) {
    const line = running
      .output()
      .split('\n')
      .find((text) => text.includes('"msg":"listening"'));
    if (line !== undefined) return (JSON.parse(line) as { base_url: string }).base_url;
    await sleep(10);
  }
  throw new Error(
    `the gateway ended with ${ended.signal ?? ended.code} before it listened: ${running.output()}`,
  );
}

/** The pid of the PostgreSQL in a data directory, or undefined if it is not running. */
export async function postgresPid(dataDir: string): Promise<number | undefined> {
  const file = join(dataDir, 'postgres', 'postmaster.pid');
  const content = await readFile(file, 'utf8').catch(() => undefined);
  return content === undefined ? undefined : Number.parseInt(content, 10);
}

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** Asks again and again until the answer is not undefined. The test's own time limit ends a vain wait. */
export async function eventually<Result>(ask: () => Promise<Result | undefined>): Promise<Result> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(25);
  }
}

async function killed(child: ChildProcess): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await closed;
}

async function removeDataDirectory(directory: string): Promise<void> {
  // Opening a running server adopts it, whoever started it.
  if (existsSync(join(directory, 'postgres', 'postmaster.pid'))) {
    await (await openEmbeddedPostgres({ dataDir: directory })).stop();
  }
  await rm(directory, { recursive: true, force: true });
}
