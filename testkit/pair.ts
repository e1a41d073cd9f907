// A primary and its synchronous standby, from the bundled PostgreSQL binaries, and everything that can happen to them.
import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Account, chooseAccount, clusterPathFor, spawnAs } from '../src/embedded-postgres/account.js';
import { findBinaries } from '../src/embedded-postgres/binaries.js';
import { chownCluster } from '../src/embedded-postgres/files.js';
import { openEmbeddedPostgres } from '../src/embedded-postgres/server.js';
import { freePort } from './gateway-process.js';
import { copyPreparedCluster } from './prepared-cluster.js';

const READY_LIMIT_MS = 60_000;
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  fsync: 'on',
  shared_buffers: '32MB',
  wal_keep_size: '512MB',
  log_min_messages: 'log',
  log_checkpoints: 'off',
  // In files of the server instead of shared memory, where a killed server's remains would stay for good.
  dynamic_shared_memory_type: 'mmap',
  // A dead peer is noticed soon.
  wal_receiver_timeout: '3s',
  wal_retrieve_retry_interval: '200ms',
};

/** One server on a directory of its own, always on the same port. */
export class PairedServer {
  readonly #account: Account;
  #child: ChildProcess | undefined;
  readonly directory: string;
  readonly name: string;
  readonly port: number;
  readonly url: string;

  constructor(place: { directory: string; name: string; port: number; url: string; account: Account }) {
    this.directory = place.directory;
    this.name = place.name;
    this.port = place.port;
    this.url = place.url;
    this.#account = place.account;
  }

  async start(): Promise<void> {
    await chownCluster(this.directory, this.#account);
    await this.leaveNothingBehind();
    await rm(join(this.directory, 'postmaster.pid'), { force: true });
    const flags = Object.entries({ ...SETTINGS, port: this.port }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const args = ['-D', clusterPathFor(this.#account, this.directory), ...flags];
    const child = spawnAs(
      this.#account,
      'postgres',
      args,
      this.directory,
      ['ignore', 'ignore', 'pipe'],
      true,
    );
    this.#child = child;
    let words = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-4_000);
    });
    child.on('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    const limitMs = performance.now() + READY_LIMIT_MS;
    while (performance.now() < limitMs && this.#child === child) {
      if (await this.sql('SELECT 1').catch(() => undefined)) return;
      await sleep(50);
    }
    throw new Error(`${this.name} did not start: ${words}`);
  }

  /** To all of its processes: each of them is in a group of its own. */
  signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    for (const each of [pid, ...childrenOf(pid)]) {
      try {
        process.kill(each, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (signal === 'SIGKILL') this.signal('SIGKILL');
    else child.kill(signal);
    await ended;
  }

  /** Of a server that was killed: a piece of memory by which others see that it runs. The system has room for few of them. */
  async leaveNothingBehind(): Promise<void> {
    const lines = await readFile(join(this.directory, 'postmaster.pid'), 'utf8').catch(() => '');
    const id = /^ *\d+ +(\d+)$/m.exec(lines)?.[1];
    if (id !== undefined) await promisify(execFile)('ipcrm', ['-m', id]).catch(() => {});
  }

  /** In a session of its own. */
  async sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<Row>(text, values)).rows;
    } finally {
      client.end().catch(() => {});
    }
  }
}

export class Pair {
  primary: PairedServer;
  standby: PairedServer;

  private constructor(primary: PairedServer, standby: PairedServer) {
    this.primary = primary;
    this.standby = standby;
  }

  /** Both run, and the primary waits for the standby with every commit. */
  static async open(directory: string): Promise<Pair> {
    await copyPreparedCluster(directory);
    const embedded = await openEmbeddedPostgres({ dataDir: directory });
    const password = new URL(embedded.url).password;
    await embedded.stop();
    const account = await chooseAccount(await findBinaries(), {
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
    });
    const server = async (folder: string, name: string) => {
      const port = await freePort();
      const url = `postgres://tollgate:${password}@127.0.0.1:${port}/tollgate`;
      return new PairedServer({ directory: join(directory, folder), name, port, url, account });
    };
    const pair = new Pair(await server('postgres', 'one'), await server('other', 'two'));
    await pair.primary.start();
    await pair.rejoin();
    return pair;
  }

  /** The standby becomes the primary, whatever the other one does. It waits for no standby until `rejoin`. */
  async promote(): Promise<void> {
    [this.primary, this.standby] = [this.standby, this.primary];
    await setStandbys(this.primary, '');
    const [row] = await this.primary.sql<{ promoted: boolean }>('SELECT pg_promote(true, 30) AS promoted');
    if (!row?.promoted) throw new Error(`${this.primary.name} was not promoted`);
    await this.isWritable();
  }

  async isWritable(): Promise<void> {
    const limitMs = performance.now() + READY_LIMIT_MS;
    while (performance.now() < limitMs) {
      const [row] = await this.primary.sql<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
      if (row?.standby === false) return;
      await sleep(10);
    }
    throw new Error(`${this.primary.name} is not writable`);
  }

  /** Rebuilds the standby from the primary. Whatever it was before is gone. */
  async rejoin(): Promise<void> {
    await this.standby.end('SIGKILL');
    await this.standby.leaveNothingBehind();
    await rm(this.standby.directory, { recursive: true, force: true, maxRetries: 5 });
    await this.#copy(this.primary.directory, this.standby.directory);
    await this.follow();
  }

  /** After a clean stop of a former primary: its log ends where the new one's began. */
  async follow(): Promise<void> {
    const { port, url } = this.primary;
    const { password } = new URL(url);
    await writeFile(join(this.standby.directory, 'standby.signal'), '');
    await writeFile(
      join(this.standby.directory, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${port} user=tollgate password=${password} application_name=${this.standby.name}'\n`,
    );
    await this.standby.start();
    const limitMs = performance.now() + READY_LIMIT_MS;
    const streaming = `SELECT FROM pg_stat_replication WHERE application_name = $1 AND state = 'streaming'`;
    while ((await this.primary.sql(streaming, [this.standby.name])).length === 0) {
      if (performance.now() > limitMs) throw new Error(`${this.standby.name} does not follow`);
      await sleep(20);
    }
    await setStandbys(this.primary, this.standby.name);
  }

  async stop(): Promise<void> {
    for (const server of [this.standby, this.primary]) {
      server.signal('SIGCONT');
      await server.end('SIGKILL');
      await server.leaveNothingBehind();
    }
  }

  /** For the end of the process, without waiting. */
  kill(): void {
    for (const server of [this.standby, this.primary]) server.signal('SIGKILL');
  }

  /** What pg_basebackup would do, which is not bundled. */
  async #copy(from: string, to: string): Promise<void> {
    const { url } = this.primary;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(`SELECT pg_backup_start('rejoin', true)`);
      await mkdir(to, { mode: 0o700 });
      await copyTree(from, to);
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      );
      await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
    } finally {
      await client.end();
    }
  }
}

/** Of one server alone. */
const LEFT_OUT = ['postmaster.pid', 'postmaster.opts', 'standby.signal', 'backup_label'];
/** Wanted, but with nothing in them: the standby gets the log from the primary. */
const EMPTY = ['pg_replslot', 'pg_wal', 'pg_wal/archive_status', 'pg_wal/summaries'];
const GONE = /^(cp: .*No such file or directory\n)+$/;

/** Two thousand files, for which Node needs ten times as long. They may go while they are copied: their contents are in the log. */
async function copyTree(from: string, to: string): Promise<void> {
  for (const name of EMPTY) await mkdir(join(to, name), { mode: 0o700 });
  const names = (await readdir(from)).filter((name) => !LEFT_OUT.includes(name) && !EMPTY.includes(name));
  const paths = names.map((name) => join(from, name));
  const inEnglish = { env: { ...process.env, LC_ALL: 'C' } };
  await promisify(execFile)('cp', ['-Rp', ...paths, to], inEnglish).catch(({ stderr }) => {
    if (!GONE.test(stderr)) throw new Error(`${from} was not copied: ${stderr}`);
  });
}

async function setStandbys(server: PairedServer, names: string): Promise<void> {
  await server
    .sql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    .catch(async (error: NodeJS.ErrnoException) => {
      // A standby takes no ALTER SYSTEM in some states; its file does.
      if (error.code !== '25006') throw error;
      const path = join(server.directory, 'postgresql.auto.conf');
      await writeFile(path, `${await readFile(path, 'utf8')}synchronous_standby_names = '${names}'\n`);
    });
  await server.sql('SELECT pg_reload_conf()');
}

export function childrenOf(parent: number): number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/ +/).map(Number))
    .filter(([, ppid]) => ppid === parent)
    .flatMap(([pid]) => pid ?? []);
}
