// The server process of an embedded PostgreSQL: finds, starts and stops the postmaster of one cluster, and no other.
import { open, readFile, readlink, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, clusterPathFor, isRoot, type Owner, spawnAs } from './account.js';
import { cannot, EmbeddedPostgresError, errorCode } from './error.js';
import { hasLostRecovery } from './lost-recovery.js';
import { ps } from './ps.js';

const STOP_LIMIT_MS = 300_000;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
/** No system assigns this pid. */
const IMPOSSIBLE_PID = 2_147_483_647;

export type Postmaster =
  | { readonly state: 'starting' | 'ready' | 'stopping'; readonly pid: number; readonly port: number }
  /** The file names a process that is not, or no longer, this cluster's server. */
  | { readonly state: 'left behind'; readonly formerPid: number; readonly formerPort: number }
  /** The file is just being written, or was left by a crash. */
  | { readonly state: 'unreadable' }
  | { readonly state: 'absent' };

export async function findPostmaster(cluster: string): Promise<Postmaster> {
  let content: string;
  try {
    content = await readFile(join(cluster, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { state: 'absent' };
    throw cannot(`The database in ${cluster} cannot be read`, error);
  }
  const lines = content.split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0 || lines[3] === undefined) return { state: 'unreadable' };
  if (!(await isPostmasterOf(cluster, pid)))
    return { state: 'left behind', formerPid: pid, formerPort: port };
  const status = lines[7]?.trim();
  return { state: status === 'ready' || status === 'stopping' ? status : 'starting', pid, port };
}

/** A pid alone proves nothing: after a crash, or in a restarted container, any program may have it. */
async function isPostmasterOf(cluster: string, pid: number): Promise<boolean> {
  if (pid === IMPOSSIBLE_PID) return false;
  if (process.platform === 'linux') {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const args = commandLine.split('\0');
    if (basename(args[0] ?? '') !== 'postgres') return false;
    // Without CAP_SYS_PTRACE, as in many containers, root cannot read the working directory of another user's process.
    const directory = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
    return directory === undefined ? args.includes(clusterTag(cluster)) : directory === cluster;
  }
  if (process.platform === 'win32') return isAlive(pid);
  const command = await ps(['-ww', '-o', 'command=', '-p', String(pid)]);
  return command.includes('/postgres ') && command.includes(`${clusterTag(cluster)} `);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** A setting that PostgreSQL ignores. On the command line it tells which cluster the server belongs to. */
function clusterTag(cluster: string): string {
  return `tollgate.cluster=${cluster}`;
}

/**
 * PostgreSQL refuses to start while the pid in an old `postmaster.pid` is alive, whatever process that is. The file gets a dead pid
 * instead of being removed: from the rest of it PostgreSQL finds orphans of the old server that still use the shared memory.
 */
export async function retirePostmasterFile(cluster: string, pid: number): Promise<void> {
  if (!isAlive(pid)) return;
  // Reads and writes through one handle: if a new server replaces the file in the meantime, the new file is not touched.
  const file = await open(join(cluster, 'postmaster.pid'), 'r+').catch((error) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw cannot(`The database in ${cluster} cannot be written`, error);
  });
  if (file === undefined) return;
  try {
    const [seen, ...rest] = (await file.readFile('utf8')).split('\n');
    if (Number(seen) !== pid) return;
    const { bytesWritten } = await file.write([IMPOSSIBLE_PID, ...rest].join('\n'), 0);
    await file.truncate(bytesWritten);
  } finally {
    await file.close();
  }
}

export async function removePostmasterFile(cluster: string): Promise<void> {
  await rm(join(cluster, 'postmaster.pid'), { force: true });
}

export interface StartedServer {
  readonly pid: number | undefined;
  /** After the process has ended: why, in one line. */
  readonly failure: () => Promise<string | undefined>;
}

export async function startServer(
  account: Account,
  cluster: string,
  port: number,
  logPath: string,
  logOwner: Owner,
): Promise<StartedServer> {
  const log = await open(logPath, 'a', 0o600).catch((error) => {
    throw cannot(`PostgreSQL's log ${logPath} cannot be written`, error);
  });
  try {
    if (isRoot && logOwner.uid !== 0) await log.chown(logOwner.uid, logOwner.gid);
    if ((await log.stat()).size > LOG_LIMIT_BYTES) await log.truncate();
    const logStart = (await log.stat()).size;
    const args = ['-D', clusterPathFor(account, cluster), ...settings(cluster, port)];
    // In a session of its own: Ctrl-C in the gateway's terminal must not stop the database.
    const child = spawnAs(account, 'postgres', args, cluster, ['ignore', log.fd, log.fd], true);
    let ended: string | undefined;
    child.on('error', (error) => {
      ended = error.message;
    });
    child.on('exit', (code, signal) => {
      ended = `ended with ${signal ?? `exit code ${code}`}`;
    });
    child.unref();
    return {
      pid: child.pid,
      failure: async () => ended && ((await lastWords(logPath, logStart)) ?? ended),
    };
  } finally {
    await log.close();
  }
}

/** Processes of a killed server write to the same log until they notice. */
const OF_AN_ORPHAN = 'due to unexpected postmaster exit';

async function lastWords(logPath: string, from: number): Promise<string | undefined> {
  const text = await readFile(logPath).catch(() => Buffer.alloc(0));
  const lines = text
    .subarray(from)
    .toString('utf8')
    .split('\n')
    .filter((each) => !each.includes(OF_AN_ORPHAN));
  const line =
    lines.findLast((each) => /FATAL:|PANIC:/.test(each)) ?? lines.findLast((each) => each.trim() !== '');
  return line?.replace(/^.*?(FATAL|PANIC|LOG): +/, '').trim();
}

function settings(cluster: string, port: number): string[] {
  const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const sharedMiB = Math.max(16, Math.min(256, Math.floor(memoryBytes / 8 / 1024 / 1024)));
  const values: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    password_encryption: 'scram-sha-256',
    // A gateway process uses up to 36 connections: enough for ten processes and some commands.
    max_connections: 400,
    // Answered payments must survive a power failure.
    // guard(durability: the gateway’s own PostgreSQL runs with fsync): on ⇒ off
    fsync: 'on',
    // guard(durability: the gateway’s own PostgreSQL runs with full_page_writes): on ⇒ off
    full_page_writes: 'on',
    // guard(durability: the gateway’s own PostgreSQL runs with synchronous_commit): on' ⇒ off'
    synchronous_commit: 'on',
    shared_buffers: `${sharedMiB}MB`,
    max_wal_size: '4GB',
    min_wal_size: '512MB',
    checkpoint_timeout: '15min',
    // The binaries come without lz4, and pglz costs a tenth of the throughput to save a sixth of the WAL.
    wal_compression: 'off',
    jit: 'off',
    // Finds quickly that two batches lock the same targets in a different order; they are tried again.
    deadlock_timeout: '100ms',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Card data must never reach a log. An error message may quote a value, so errors of statements are not logged at all; the gateway
    // gets them anyway. In PostgreSQL's order of levels, "log" is above them.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_statement: 'none',
    log_min_duration_statement: -1,
    log_parameter_max_length: 0,
    log_parameter_max_length_on_error: 0,
    log_checkpoints: 'off',
    logging_collector: 'off',
    log_destination: 'stderr',
  };
  const flags = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  // The tag is not last, so that a space follows it where only the joined command line can be read.
  return [clusterTag(cluster), ...flags].flatMap((flag) => ['-c', flag]);
}

/** A free port: the preferred one if possible. */
export async function freePort(preferred = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', (error) => (preferred === 0 ? reject(error) : resolve(freePort())));
    server.listen(preferred, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/**
 * A fast shutdown: rolls back open transactions, and everything committed is on disk. The server is never killed, with one exception: a
 * server whose recovery process died would wait for ever. It has written nothing since the crash, so it is ended at once.
 */
export async function stopServer(cluster: string, stopOnWindows: () => Promise<unknown>): Promise<void> {
  const found = await findPostmaster(cluster);
  if (!('pid' in found)) return;
  if (process.platform === 'win32') await stopOnWindows();
  else {
    const isLost = found.state !== 'stopping' && (await hasLostRecovery(found.pid));
    try {
      // guard(embedded PostgreSQL: one that nobody recovers ends when it is stopped): SIGQUIT ⇒ SIGINT
      process.kill(found.pid, isLost ? 'SIGQUIT' : 'SIGINT');
    } catch (error) {
      if (errorCode(error) !== 'ESRCH')
        throw cannot(`PostgreSQL (process ${found.pid}) cannot be stopped`, error);
    }
  }
  const deadline = Date.now() + STOP_LIMIT_MS;
  while (await isPostmasterOf(cluster, found.pid)) {
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `PostgreSQL (process ${found.pid}) was asked to stop but has not ended yet`,
      );
    }
    await sleep(20);
  }
}
