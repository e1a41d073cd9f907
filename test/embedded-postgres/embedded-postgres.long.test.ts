// The embedded PostgreSQL on real servers: what survives which death, and what the user reads when it cannot start.
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { EmbeddedPostgresError, openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import {
  endProcess,
  isRunning,
  keepsData,
  newDirectory,
  opened,
  postmasterPid,
  query,
  removeUsedDirectory,
  removeWhatWasMade,
  spawned,
  spawnOpening,
  usedDirectory,
} from './data-directories.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

afterEach(removeWhatWasMade);
afterAll(removeUsedDirectory);

async function refusal(dataDir: string): Promise<string> {
  const error = await openEmbeddedPostgres({ dataDir }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(EmbeddedPostgresError);
  const { message } = error as EmbeddedPostgresError;
  expect(message).not.toContain('\n');
  return message;
}

describe('starting and stopping', () => {
  test('the first start creates the database, the second finds its data', async () => {
    const dataDir = join(await newDirectory(), 'data');
    const lines: string[] = [];
    const first = await openEmbeddedPostgres({ dataDir, progress: (line) => lines.push(line) });
    expect(first.startedHere).toBe(true);
    expect(first.url).toMatch(/^postgres:\/\/tollgate:[0-9a-f]{48}@127\.0\.0\.1:\d+\/tollgate$/);
    expect(lines).toEqual([`Preparing PostgreSQL in ${dataDir} (first start only)`, 'Starting PostgreSQL']);
    await query(first.url, 'CREATE TABLE kept (value int); INSERT INTO kept VALUES (42)');
    await first.stop();
    await first.stop();
    await expect(query(first.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');

    const second = await openEmbeddedPostgres({ dataDir, progress: (line) => lines.push(line) });
    expect(await query(second.url, 'SELECT value FROM kept')).toEqual([{ value: 42 }]);
    expect(lines.slice(2)).toEqual(['Starting PostgreSQL']);
    await second.stop();
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres-password', 'postgres.log']);
    if (process.platform !== 'win32') {
      const modes = ['.', 'postgres-password', 'postgres.log'].map(async (name) =>
        ((await stat(join(dataDir, name))).mode & 0o777).toString(8),
      );
      expect(await Promise.all(modes)).toEqual(['700', '600', '600']);
    }
  });

  // catches(durability: the gateway’s own PostgreSQL runs with synchronous_commit) slow
  // catches(durability: the gateway’s own PostgreSQL runs with full_page_writes) slow
  // catches(durability: the gateway’s own PostgreSQL runs with fsync) slow
  test('a server is durable, listens on no network, uses UTC and asks for the password', async () => {
    const server = await openEmbeddedPostgres({ dataDir: await usedDirectory() });
    const rows = await query(
      server.url,
      `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit',
       'data_checksums', 'listen_addresses', 'unix_socket_directories', 'TimeZone', 'server_encoding', 'log_timezone', 'max_connections')`,
    );
    const settings = Object.fromEntries(
      (rows as { name: string; setting: string }[]).map(({ name, setting }) => [name, setting]),
    );
    expect(settings).toEqual({
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      data_checksums: 'on',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      TimeZone: 'UTC',
      log_timezone: 'UTC',
      server_encoding: 'UTF8',
      // Ten processes with 36 each, and some commands.
      max_connections: '400',
    });
    const stranger = server.url.replace(/:[0-9a-f]{48}@/, ':wrong@');
    await expect(query(stranger, 'SELECT 1')).rejects.toThrow('password authentication failed');
    await server.stop();
  });

  test('a value that makes a statement fail does not reach the log', async () => {
    const dataDir = await usedDirectory();
    const server = await openEmbeddedPostgres({ dataDir });
    await query(server.url, `CREATE TABLE cards (number text PRIMARY KEY)`);
    await query(server.url, `INSERT INTO cards VALUES ('4111111111111111')`);
    const stumbles = [
      `INSERT INTO cards VALUES ('4111111111111111')`,
      `SELECT '4111111111111111'::int`,
      `SELECT '4111111111111111'::date`,
      `SELECT '{"n": 4111111111111111'::json`,
      `DO $$ BEGIN RAISE WARNING '4111111111111111'; END $$; SELECT 1/0`,
    ];
    for (const stumble of stumbles) await expect(query(server.url, stumble)).rejects.toThrow();
    await server.stop();
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).not.toContain('41111111');
  });

  test('a log over ten megabytes is truncated', async () => {
    const dataDir = await usedDirectory();
    await writeFile(join(dataDir, 'postgres.log'), 'x'.repeat(10 * 1024 * 1024 + 1));
    const server = await openEmbeddedPostgres({ dataDir });
    await server.stop();
    expect((await stat(join(dataDir, 'postgres.log'))).size).toBeLessThan(10_000);
  });
});

describe('two processes', () => {
  test('two processes at once on an empty directory: one starts the server, the other adopts it', async () => {
    const dataDir = await newDirectory();
    const children = [spawnOpening(dataDir), spawnOpening(dataDir)];
    const [one, other] = await Promise.all(children.map(opened));
    expect(one?.url).toBe(other?.url);
    expect([one?.startedHere, other?.startedHere].sort()).toEqual([false, true]);
    const third = await openEmbeddedPostgres({ dataDir });
    expect(third).toMatchObject({ url: one?.url, startedHere: false });
    await third.stop();
  });

  test('a process that starts while the server is shutting down waits, and starts the server again', async () => {
    const dataDir = await usedDirectory();
    const first = spawnOpening(dataDir);
    await opened(first);
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid');
    // A smart shutdown lasts as long as somebody is connected, as the process that opened it is.
    process.kill(await postmasterPid(dataDir), 'SIGTERM');
    while (!(await readFile(pidFile, 'utf8')).includes('stopping')) await sleep(10);
    const opening = openEmbeddedPostgres({ dataDir });
    // It has this lock from its first look on.
    await expect.poll(() => existsSync(join(dataDir, 'postgres.lock'))).toBe(true);
    first.kill('SIGKILL');
    const second = await opening;
    expect(second.startedHere).toBe(true);
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await second.stop();
  });
});

describe('after a kill', () => {
  test('the process that started the server is killed: the server lives on and the next process adopts it', async () => {
    const dataDir = await usedDirectory();
    const child = spawnOpening(dataDir);
    const { url } = await opened(child);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await endProcess(child.pid ?? 0, 'SIGKILL');
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();

    const pid = await postmasterPid(dataDir);
    const adopted = await openEmbeddedPostgres({ dataDir });
    expect(adopted).toMatchObject({ url, startedHere: false });
    await adopted.stop();
    expect(await isRunning(pid)).toBe(false);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  test('the first start is killed while it creates the database: the next one starts over', async () => {
    const dataDir = await newDirectory();
    const child = spawnOpening(dataDir);
    const written = async () =>
      (await readdir(dataDir, { recursive: true })).some((path) => /^postgres\.new[^/]*\/./.test(path));
    while (!(await written())) await sleep(5);
    await endProcess(child.pid ?? 0, 'SIGKILL');
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    await keepsData(dataDir);
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres-password', 'postgres.log']);
  });

  test('a partly created database and an abandoned lock of an earlier start do not prevent a start', async () => {
    const dataDir = await newDirectory();
    await mkdir(join(dataDir, 'postgres.new', 'base'), { recursive: true });
    await writeFile(join(dataDir, 'postgres.new', 'PG_VERSION'), '18\n');
    // Our own pid, but of a process that began at another time: a restarted container repeats its pids.
    await writeFile(join(dataDir, 'postgres.lock'), `${process.pid} 1 abc\n`);
    const server = await openEmbeddedPostgres({ dataDir });
    expect(server.startedHere).toBe(true);
    await server.stop();
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres-password', 'postgres.log']);
  });

  test('the server is killed and its pid now belongs to another program: committed data is kept, the program untouched', async () => {
    const dataDir = await usedDirectory();
    const first = await openEmbeddedPostgres({ dataDir });
    await query(first.url, 'CREATE TABLE kept (value int); INSERT INTO kept VALUES (42)');
    const bystander = spawned(['-e', 'setInterval(() => {}, 1000)'], { cwd: join(dataDir, 'postgres') });
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid');
    const [pid, ...rest] = (await readFile(pidFile, 'utf8')).split('\n');
    await endProcess(Number(pid), 'SIGKILL');
    await writeFile(pidFile, [bystander.pid, ...rest].join('\n'));

    const second = await openEmbeddedPostgres({ dataDir });
    expect(second.startedHere).toBe(true);
    expect(await query(second.url, 'SELECT value FROM kept')).toEqual([{ value: 42 }]);
    await second.stop();
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
  });

  test('an empty postmaster.pid from a crashed start is removed', async () => {
    const dataDir = await usedDirectory();
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), '');
    const server = await openEmbeddedPostgres({ dataDir });
    expect(server.startedHere).toBe(true);
    await server.stop();
  });

  test('the server of a copied data directory is not mistaken for that of the copy', async () => {
    const [dataDir, copy] = [await usedDirectory(), await usedDirectory()];
    const original = await openEmbeddedPostgres({ dataDir });
    const pidFile = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8');
    // The shared memory's key is left out: PostgreSQL would rightly refuse a copy that pretends to be the original.
    await writeFile(join(copy, 'postgres', 'postmaster.pid'), pidFile.split('\n').slice(0, 6).join('\n'));
    const started = await openEmbeddedPostgres({ dataDir: copy });
    expect(started.startedHere).toBe(true);
    await started.stop();
    expect(await query(original.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await original.stop();
  });
});

describe('messages', () => {
  test('a database of another PostgreSQL version is refused and left unchanged', async () => {
    const dataDir = await newDirectory();
    await mkdir(join(dataDir, 'postgres'));
    await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '15\n');
    expect(await refusal(dataDir)).toContain(
      'was made by PostgreSQL 15, but this Tollgate brings PostgreSQL 18',
    );
    expect(await readdir(dataDir, { recursive: true })).toEqual(['postgres', 'postgres/PG_VERSION']);
  });

  test('a server that cannot start: its last log lines and the path of the log', async () => {
    const dataDir = await usedDirectory();
    await appendFile(join(dataDir, 'postgres', 'postgresql.conf'), '\nnonsense = 1\n');
    const message = await refusal(dataDir);
    expect(message).toMatch(
      /^PostgreSQL did not start: configuration file .* contains errors \(see .*postgres\.log\)$/,
    );
    expect(message).toContain(join(dataDir, 'postgres.log'));
  });

  test('a data directory that is a file, or that lost its password: one line', async () => {
    const directory = await usedDirectory();
    await writeFile(join(directory, 'file'), '');
    expect(await refusal(join(directory, 'file'))).toContain('cannot be used (EEXIST)');
    await rm(join(directory, 'postgres-password'));
    expect(await refusal(directory)).toContain('postgres-password cannot be read (ENOENT)');
  });
});
