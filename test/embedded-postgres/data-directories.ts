// Data directories with an embedded PostgreSQL, processes that open it, and an end to all of them after each test.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { expect } from 'vitest';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';

const isLinux = process.platform === 'linux';
const madeDirectories: string[] = [];
const madeProcesses: ChildProcess[] = [];

/** Ends the processes and servers of a test, and removes its directories. */
export async function removeWhatWasMade(): Promise<void> {
  for (const child of madeProcesses.splice(0)) child.kill('SIGKILL');
  for (const directory of madeDirectories.splice(0)) {
    await stopLeftServers(directory);
    await rm(directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

export async function newDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'tollgate-embedded-')));
  madeDirectories.push(directory);
  return directory;
}

let prepared: Promise<string> | undefined;

/** A data directory that was started once before: copying one is quicker than preparing each. */
export async function usedDirectory(): Promise<string> {
  prepared ??= mkdtemp(join(tmpdir(), 'tollgate-embedded-')).then(async (dataDir) => {
    const server = await openEmbeddedPostgres({ dataDir });
    await server.stop();
    return dataDir;
  });
  const directory = await newDirectory();
  // Sync: it takes half of the processor's time of the other.
  cpSync(await prepared, directory, { recursive: true });
  return directory;
}

/** When no test wants a copy of it any more. */
export async function removeUsedDirectory(): Promise<void> {
  const directory = await prepared?.catch(() => undefined);
  prepared = undefined;
  if (directory) await rm(directory, { recursive: true, force: true });
}

/** Apart from the code under test, so that a mistake there leaves no server behind. */
async function stopLeftServers(directory: string): Promise<void> {
  for (const path of await readdir(directory, { recursive: true })) {
    if (!path.endsWith('postmaster.pid')) continue;
    const pid = await postmasterPid(join(directory, path, '..', '..'));
    const command = isLinux ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : 'postgres';
    if (command.includes('postgres')) await endProcess(pid, 'SIGINT');
  }
}

export async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

export async function endProcess(pid: number, signal: NodeJS.Signals): Promise<void> {
  process.kill(pid, signal);
  while (await isRunning(pid)) await sleep(20);
}

/** A zombie process still has its pid, but no command line. */
export async function isRunning(pid: number): Promise<boolean> {
  if (isLinux) return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== '';
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** What is committed is there again after a stop and a start. */
export async function keepsData(dataDir: string): Promise<void> {
  const first = await openEmbeddedPostgres({ dataDir });
  await query(first.url, 'CREATE TABLE kept (value int); INSERT INTO kept VALUES (42)');
  await first.stop();
  const second = await openEmbeddedPostgres({ dataDir });
  expect(await query(second.url, 'SELECT value FROM kept')).toEqual([{ value: 42 }]);
  await second.stop();
}

const OPEN_IN_CHILD = `
  import { openEmbeddedPostgres } from ${JSON.stringify(pathToFileURL(join(process.cwd(), 'dist/embedded-postgres/server.js')).href)};
  const server = await openEmbeddedPostgres({ dataDir: process.argv[1] });
  console.log(JSON.stringify({ url: server.url, startedHere: server.startedHere }));
  setInterval(() => {}, 1000);
`;

/** A process that opens the server of this data directory, and lives on. */
export function spawnOpening(dataDir: string): ChildProcess {
  const args = ['--input-type=module', '-e', OPEN_IN_CHILD, dataDir];
  return spawned(args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** A process of Node's. */
export function spawned(args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(process.execPath, args, options);
  madeProcesses.push(child);
  return child;
}

export async function opened(child: ChildProcess): Promise<{ url: string; startedHere: boolean }> {
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (data: Buffer) => resolve(data.toString()));
    child.once('exit', (code) => reject(new Error(`the child ended with ${code}`)));
  });
  return JSON.parse(line) as { url: string; startedHere: boolean };
}
