// A real PostgreSQL inside the data directory, from binaries that npm installed: prepares, starts, adopts and stops it.
import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from '../postgres/client.js';
import { chooseAccount, run, spawnAs } from './account.js';
import { type Binaries, findBinaries } from './binaries.js';
import { EmbeddedPostgresError, errorCode } from './error.js';
import {
  chownCluster,
  clusterMajor,
  initialise,
  openDataDirectory,
  type Place,
  readPassword,
  USER,
} from './files.js';
import { Keeper, type KeeperReports } from './keeper.js';
import { withLock } from './lock.js';
import { RecoveryWatch } from './lost-recovery.js';
import {
  findPostmaster,
  freePort,
  removePostmasterFile,
  retirePostmasterFile,
  type StartedServer,
  startServer,
  stopServer,
} from './process.js';
import { type Logins, loginsAt, makeRoles } from './roles.js';
import { DATABASE } from './server.sql.js';
import { isUsedByOthers, openSession } from './sessions.js';

export { EmbeddedPostgresError, type KeeperReports, type Logins };

export interface EmbeddedPostgres {
  /** The superuser's URL, for managing the server. */
  readonly url: string;
  /** For work with the data. */
  readonly logins: Logins;
  /** False if a server of this data directory was already running. */
  readonly startedHere: boolean;
  /** From now on until `release`, a server that ends is started again. */
  keepRunning(reports: KeeperReports): void;
  /** Stops the server unless another process uses it. */
  release(): Promise<void>;
  /** Stops the server, whichever process started or uses it, and waits until it has stopped. */
  stop(): Promise<void>;
}

/** Crash recovery of a busy database takes time, and a payment gateway should come back by itself. */
const READY_LIMIT_MS = 300_000;
const REMNANT_LIMIT_MS = 1_000;
const STILL_WAITING_MS = 10_000;
const START_ATTEMPTS = 20;

export async function openEmbeddedPostgres(options: {
  dataDir: string;
  progress?: (line: string) => void;
}): Promise<EmbeddedPostgres> {
  const say = options.progress ?? (() => {});
  const binaries = await findBinaries();
  const place = await openDataDirectory(options.dataDir);
  const lock = join(place.dataDir, 'postgres.lock');
  const waiting = () => say('Waiting for another process that is starting PostgreSQL');
  return withLock(lock, waiting, async () => {
    const major = await clusterMajor(place.cluster);
    if (major !== undefined && major !== binaries.major) {
      throw new EmbeddedPostgresError(
        `The database in ${place.cluster} was made by PostgreSQL ${major}, but this Tollgate brings PostgreSQL ${binaries.major}: dump it with the old version and load it into a new data directory`,
      );
    }
    if (major === undefined) {
      say(`Preparing PostgreSQL in ${options.dataDir} (first start only)`);
      await initialise(place, binaries);
    }
    const cluster = await realpath(place.cluster);
    const password = await readPassword(place);
    const wish = { place: { ...place, cluster }, binaries, password, say };
    const first = await bringUp(wish);
    const { port } = first;
    const url = `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
    const keeper = new Keeper({
      cluster,
      first: { pid: first.pid, session: await openSession(url) },
      // Connected processes know only this port.
      startAgain: (signal) =>
        withLock(
          lock,
          () => {},
          async () => {
            // guard(embedded PostgreSQL: it is started again under the address that everybody knows): port, ⇒
            const { pid } = await bringUp({ ...wish, say: () => {}, port, signal });
            return { pid, session: await openSession(url) };
          },
        ),
    });
    const stop = async () => {
      await keeper.end();
      await stopServer(cluster, async () => {
        const account = await chooseAccount(binaries, place.owner);
        await run(spawnAs(account, 'pg_ctl', ['stop', '-m', 'fast', '-D', cluster], cluster, 'ignore'));
      });
    };
    const release = async () => {
      const { pid, starting } = await keeper.end();
      // Under the lock, because another process may have found the server and not opened its session yet.
      await withLock(lock, waiting, async () => {
        const found = await findPostmaster(cluster);
        // Another process may have stopped the server in the meantime, and a third may have started it again.
        const isSame = 'pid' in found && (found.pid === pid || (starting && found.port === port));
        if (isSame && !(await isUsedByOthers(url))) await stop();
      });
    };
    const keepRunning = (reports: KeeperReports) => keeper.begin(reports);
    const logins = loginsAt(port, password);
    return { url, logins, startedHere: first.startedHere, keepRunning, release, stop };
  });
}

/** Whether this data directory has a database. It may belong to another user, or be damaged: opening it shows that. */
export function hasDatabase(dataDir: string): Promise<boolean> {
  return stat(join(dataDir, 'postgres')).then(
    () => true,
    (error) => errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR',
  );
}

/** The running server of this data directory, if any. Creates, starts and changes nothing. */
export async function runningServer(
  dataDir: string,
): Promise<Pick<EmbeddedPostgres, 'url' | 'logins'> | { reason: string }> {
  try {
    const found = await findPostmaster(await realpath(join(dataDir, 'postgres')));
    if (found.state !== 'ready') return { reason: 'pid' in found ? `is ${found.state}` : 'is not running' };
    const password = (await readFile(join(dataDir, 'postgres-password'), 'utf8')).trim();
    const url = `postgres://${USER}:${password}@127.0.0.1:${found.port}/${DATABASE}`;
    return { url, logins: loginsAt(found.port, password) };
  } catch (error) {
    return { reason: `cannot be examined (${errorCode(error) ?? (error as Error).message})` };
  }
}

interface BringUp {
  readonly place: Place;
  readonly binaries: Binaries;
  readonly password: string;
  readonly say: (line: string) => void;
  /** This port or none. If absent: the port of a killed server if it is free, otherwise any. */
  readonly port?: number;
  readonly signal?: AbortSignal;
}

/** Checks the state and takes the one step that it calls for, until the database answers. */
async function bringUp({
  place,
  binaries,
  password,
  say,
  port,
  signal,
}: BringUp): Promise<{ pid: number; port: number; startedHere: boolean }> {
  const began = Date.now();
  let saidAt = began;
  let attempts = 0;
  let unreadableSince: number | undefined;
  let started: StartedServer | undefined;
  const recovery = new RecoveryWatch();
  for (;;) {
    signal?.throwIfAborted();
    const found = await findPostmaster(place.cluster);
    if (found.state === 'ready' && (await answers(found.port, password, place))) {
      if (port !== undefined && found.port !== port) {
        throw new EmbeddedPostgresError(
          `another process has started PostgreSQL on port ${found.port}, and port ${port} is needed`,
        );
      }
      return { pid: found.pid, port: found.port, startedHere: found.pid === started?.pid };
    }
    if (found.state !== 'unreadable') unreadableSince = undefined;
    if ('pid' in found) {
      // guard(embedded PostgreSQL: one that nobody recovers is ended): found.state !== 'stopping' && (await recovery.seesNone(found.pid)) ⇒ Date.now() < 0
      if (found.state !== 'stopping' && (await recovery.seesNone(found.pid))) {
        say('Stopping PostgreSQL: its crash recovery has died, and it would wait for ever');
        await stopServer(place.cluster, async () => {});
        started = undefined;
      }
    } else {
      const failure = await started?.failure();
      if (failure !== undefined) {
        if (!isTransient(failure) || attempts >= START_ATTEMPTS) {
          throw new EmbeddedPostgresError(`PostgreSQL did not start: ${failure} (see ${place.log})`);
        }
        started = undefined;
        await sleep(100 * attempts);
      } else if (started === undefined && found.state === 'unreadable') {
        unreadableSince ??= Date.now();
        if (Date.now() - unreadableSince > REMNANT_LIMIT_MS) await removePostmasterFile(place.cluster);
      } else if (started === undefined) {
        if (attempts === 0) say('Starting PostgreSQL');
        attempts += 1;
        const account = await chooseAccount(binaries, place.owner);
        await chownCluster(place.cluster, account);
        if (found.state === 'left behind') await retirePostmasterFile(place.cluster, found.formerPid);
        const wanted = port ?? (await freePort(found.state === 'left behind' ? found.formerPort : 0));
        started = await startServer(account, place.cluster, wanted, place.log, place.owner);
      }
    }
    if (Date.now() - began > READY_LIMIT_MS) {
      throw new EmbeddedPostgresError(
        `PostgreSQL is still ${found.state}: try again later, or see ${place.log}`,
      );
    }
    if (Date.now() - saidAt > STILL_WAITING_MS) {
      saidAt = Date.now();
      say(`Waiting for PostgreSQL (${found.state})`);
    }
    await sleep(20);
  }
}

/** The port was taken, another process was faster, or orphans of a killed server have not noticed yet. */
function isTransient(failure: string): boolean {
  return /could not create any TCP\/IP sockets|lock file .* already exists|shared memory block/.test(failure);
}

/** Whether the database is there; creates it if needed. False while the server is starting or stopping. */
async function answers(port: number, password: string, place: Place): Promise<boolean> {
  try {
    await makeRoles(port, password);
    return true;
  } catch (error) {
    // Without an answer from PostgreSQL the connection failed; class 57 means "not now".
    if (!(error instanceof DatabaseError) || error.code?.startsWith('57')) return false;
    // Another process created it at the same moment: the next check will find it.
    if (error.code === '42P04' || error.code === '42710' || error.code === '23505') return false;
    throw new EmbeddedPostgresError(
      `The database in ${place.cluster} cannot be used: ${error.message} (${error.code})`,
    );
  }
}
