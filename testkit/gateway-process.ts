// Real processes: `node bin/tollgate.js …` from the project root, with their output. Nothing is left when the test file or
// program ends: no process, data directory, disk, or PostgreSQL of a killed gateway.
import { type ChildProcess, type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedPostgres } from '../src/embedded-postgres/server.js';
import { environmentWithoutSettings, PROJECT_ROOT, TOLLGATE } from './project.js';

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
  /** Whether there was still a process to get the signal. */
  kill(signal: NodeJS.Signals): boolean;
  /** To a process that was started with `onMessage`. */
  send(message: string): void;
  /** The address of a gateway's interface, for example `http://127.0.0.1:43210/v1`; undefined if it ended before it listened. */
  readonly listening: Promise<string | undefined>;
  readonly ended: Promise<Ended>;
}

export interface StartOptions {
  /** What is piped into it. */
  readonly input?: string | Uint8Array;
  /** A program instead of `node bin/tollgate.js`. */
  readonly command?: string;
  /** The `tollgate.js` of another installation. */
  readonly program?: string;
  /** What Node is told before the program's name. */
  readonly nodeArguments?: readonly string[];
  /** How much output to keep: everything, unless it runs for long; nothing, if reading would distort a measurement. */
  readonly keep?: 'everything' | 'the end' | 'nothing';
  /** Gets each line of its output and of its standard error output. */
  readonly onLine?: (line: string) => void;
  /** Gets what it sends through the channel that Node opens between processes. */
  readonly onMessage?: (message: unknown) => void;
}

const END_CHARACTERS = 8_000;

export interface GatewayProcess extends RunningProcess {
  /** For example `http://127.0.0.1:43210/v1`. */
  readonly baseUrl: string;
  /** Where `/livez` and `/readyz` are. */
  readonly origin: string;
  /** Where `/metrics` is, as its log says. */
  operatorsUrl(): Promise<string>;
  /** Asks it to stop, and waits until it has. */
  stop(): Promise<Ended>;
  /** `kill -9`. */
  crash(): Promise<Ended>;
}

const children = new Set<ChildProcess>();
const dataDirectories = new Set<string>();
/** Those of them that are file systems of their own. */
const disks = new Set<string>();

/** Ends every process of the test file, and removes its files. */
export async function leaveNothingBehind(): Promise<void> {
  await Promise.all([...children].map(killed));
  await Promise.all([...dataDirectories].map(removeDataDirectory));
}
// If the test run itself is ended early.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const disk of disks) unmount(disk);
});

/** An empty directory. It is removed when the test file ends, after the PostgreSQL in it was stopped. */
export async function dataDirectory(name = 'tollgate-process-'): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), name));
  dataDirectories.add(directory);
  return directory;
}

/** The same on a disk of its own, real but in memory: `size` is for example `24m`. Throws where this system lets us mount nothing. */
export async function smallDisk(size: string): Promise<string> {
  const directory = await dataDirectory();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory], { stdio: 'ignore' });
  disks.add(directory);
  return directory;
}

/** Also where something still has a file open on it. */
function unmount(disk: string): void {
  if (disks.delete(disk)) execFileSync('umount', ['--lazy', disk]);
}

/** Starts a program of the project, `tollgate` unless told otherwise. */
export function start(
  args: readonly string[],
  environment: Environment = {},
  {
    command,
    program = TOLLGATE,
    nodeArguments = [],
    keep = 'everything',
    onLine,
    onMessage,
    input,
  }: StartOptions = {},
): RunningProcess {
  const child = spawn(
    command ?? process.execPath,
    command === undefined ? [...nodeArguments, program, ...args] : [...args],
    {
      cwd: PROJECT_ROOT,
      // Several gateways run on this machine: none may want the port of another.
      env: {
        ...environmentWithoutSettings(),
        NODE_ENV: 'production',
        TOLLGATE_CONSOLE_PORT: '0',
        TOLLGATE_CHECKOUT_PORT: '0',
        // Tests of the demo's history turn it on themselves.
        TOLLGATE_DEMO_DAYS: '0',
        ...environment,
      },
      stdio: [
        input === undefined ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        ...(onMessage ? (['ipc'] as const) : []),
      ],
    },
  ) as ChildProcessByStdio<Writable | null, Readable, Readable>;
  children.add(child);
  // A process that ends before reading everything is not waited for.
  child.stdin?.on('error', () => {}).end(input);
  let [stdout, stderr] = ['', ''];
  const kept = (text: string) => (keep === 'everything' ? text : text.slice(-END_CHARACTERS));
  if (keep === 'nothing') {
    // Read to its end, because an unread log would stop the gateway; but not kept.
    child.stdout.resume();
  } else {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout = kept(stdout + text);
    });
  }
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = kept(stderr + text);
  });
  if (onLine) {
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', onLine);
  }
  if (onMessage) child.on('message', onMessage);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    // A PostgreSQL that outlives its gateway writes to a log of its own, so that the pipes do close.
    child.on('close', (code, signal) => {
      children.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });
  const listening = new Promise<string | undefined>((resolve) => {
    const look = () => {
      const [, address] = /listens on (http\S+) /.exec(stderr) ?? [];
      if (address === undefined) return;
      child.stderr.off('data', look);
      resolve(address);
    };
    child.stderr.on('data', look);
    child.once('close', () => resolve(undefined));
  });
  return {
    pid: child.pid ?? 0,
    output: () => stdout + stderr,
    kill: (signal) => child.kill(signal),
    send: (message) => void child.send(message),
    listening,
    ended,
  };
}

/** Runs a command to its end. */
export function run(
  args: readonly string[],
  environment: Environment = {},
  options?: StartOptions,
): Promise<Ended> {
  return start(args, environment, options).ended;
}

/** Starts a gateway on any free port, and returns once it listens. */
export async function startGatewayProcess(
  environment: Environment,
  options?: StartOptions,
): Promise<GatewayProcess> {
  const settings = {
    TOLLGATE_PORT: '0',
    TOLLGATE_DATA_DIR: environment.TOLLGATE_DATA_DIR ?? (await dataDirectory()),
    // A machine busy with many tests is slow, not lost.
    TOLLGATE_DATABASE_TIMEOUT_MS: '15000',
    ...environment,
  };
  const running = start(['serve'], settings, options);
  const baseUrl = await running.listening;
  if (baseUrl === undefined) {
    const { signal, code } = await running.ended;
    throw new Error(`the gateway ended with ${signal ?? code} before it listened: ${running.output()}`);
  }
  return {
    ...running,
    baseUrl,
    origin: new URL(baseUrl).origin,
    operatorsUrl: () =>
      eventually(async () => /"url":"([^"]+)","msg":"listening for operators"/.exec(running.output())?.[1]),
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

/** The pid of the PostgreSQL in a data directory, or undefined if it is not running. */
export async function postgresPid(dataDir: string): Promise<number | undefined> {
  const file = join(dataDir, 'postgres', 'postmaster.pid');
  const content = await readFile(file, 'utf8').catch(() => undefined);
  return content === undefined ? undefined : Number.parseInt(content, 10);
}

/** Below the ephemeral ports: another test's program could get one of those in between. */
const [FIRST_PORT, PORTS_END] = [10_240, 32_000];

/** A free port that nobody gets by chance until it is used. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, PORTS_END);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer().once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

/** Retries until the answer is not undefined. The test's own timeout ends a vain wait. */
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

/** For a gateway that has ended. Stops the PostgreSQL of a crashed one first. */
export async function removeDataDirectory(directory: string): Promise<void> {
  dataDirectories.delete(directory);
  // Opening a running server adopts it, whoever started it.
  try {
    if (existsSync(join(directory, 'postgres', 'postmaster.pid'))) {
      await (await openEmbeddedPostgres({ dataDir: directory })).stop();
    }
  } finally {
    unmount(directory);
    await rm(directory, { recursive: true, force: true });
  }
}
