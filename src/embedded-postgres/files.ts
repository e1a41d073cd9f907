// The files of an embedded PostgreSQL: the data directory, the cluster, its password, and their owner.
import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { join, parse } from 'node:path';
import { syncFolder, writeText } from '../values/whole-file.js';
import { type Account, chooseAccount, clusterPathFor, isRoot, type Owner, run, spawnAs } from './account.js';
import { type Binaries, exists } from './binaries.js';

import { cannot, EmbeddedPostgresError, errorCode } from './error.js';

export const USER = 'tollgate';
/** The prefix of the folder into which a backup is restored; a random suffix follows. */
export const RESTORING = 'restoring';

export interface Place {
  readonly dataDir: string;
  readonly cluster: string;
  readonly passwordFile: string;
  readonly log: string;
  readonly owner: Owner;
}

export async function openDataDirectory(path: string): Promise<Place> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const dataDir = await realpath(path);
    const { uid, gid, mode } = await stat(dataDir);
    // A directory that is clearly shared (/tmp, /) keeps its mode.
    const isShared = (mode & 0o1000) !== 0 || parse(dataDir).root === dataDir;
    if (!isShared && (mode & 0o777) !== 0o700) await chmod(dataDir, 0o700).catch(() => {});
    return {
      dataDir,
      cluster: join(dataDir, 'postgres'),
      passwordFile: join(dataDir, 'postgres-password'),
      log: join(dataDir, 'postgres.log'),
      owner: { uid, gid },
    };
  } catch (error) {
    throw cannot(`The data directory ${path} cannot be used`, error);
  }
}

/** The major version of the cluster's PostgreSQL; undefined if there is no cluster yet. */
export async function clusterMajor(cluster: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(cluster, 'PG_VERSION'), 'utf8'), 10);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && !(await exists(cluster))) return undefined;
    if (errorCode(error) === 'EACCES') {
      throw cannot(`The database in ${cluster} belongs to another user: start Tollgate as that user`, error);
    }
    throw cannot(`${cluster} does not hold a PostgreSQL database`, error);
  }
}

/** Works in a separate directory and renames it at the end: a start that is killed halfway leaves no half-made database. */
export async function initialise(place: Place, binaries: Binaries): Promise<void> {
  const names = await readdir(place.dataDir);
  // Somebody would take a new database for the one being restored.
  // guard(restore: no new database where a restore was interrupted): some ⇒ length < 0 && names.some
  if (names.some((name) => name.startsWith(`${RESTORING}.`))) {
    throw new EmbeddedPostgresError(
      `A restore into ${place.dataDir} was interrupted: run \`tollgate restore\` again, or remove ${RESTORING}.… from it`,
    );
  }
  for (const name of names) {
    if (/^postgres\.new(\.[0-9a-f]{12}(\.password)?)?$/.test(name)) {
      await rm(join(place.dataDir, name), { recursive: true, force: true, maxRetries: 5 });
    }
  }
  const account = await chooseAccount(binaries, place.owner);
  const password = await makePassword(place);
  // A new name each time: the initdb of a killed start may still be writing to the old one.
  const fresh = join(place.dataDir, `postgres.new.${randomBytes(6).toString('hex')}`);
  await mkdir(fresh, { mode: 0o700 }).catch((error) => {
    throw cannot(`The data directory ${place.dataDir} cannot be written`, error);
  });
  try {
    if (account.owner) await lchown(fresh, account.owner.uid, account.owner.gid);
    await runInitdb(account, fresh, place, password);
    await rename(fresh, place.cluster);
    await syncFolder(place.dataDir);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true, maxRetries: 5 });
    if (!(await exists(join(place.cluster, 'PG_VERSION')))) throw error;
  }
}

async function runInitdb(account: Account, fresh: string, place: Place, password: string): Promise<void> {
  // The password is passed in an unnamed file that the account can read; the password file itself is closed to it.
  const isWindows = process.platform === 'win32';
  const path = `${fresh}.password`;
  const file = await open(path, 'wx+', 0o600);
  try {
    if (!isWindows) await rm(path);
    if (account.owner) await file.chown(account.owner.uid, account.owner.gid);
    // At position 0, so that the file offset, which initdb shares on some systems, stays there.
    await file.write(password, 0);
    const args = [
      `--pgdata=${clusterPathFor(account, fresh)}`,
      `--pwfile=${isWindows ? path : '/dev/stdin'}`,
      `--username=${USER}`,
      '--auth=scram-sha-256',
      // Thousands of rounds protect passwords that people choose. Nobody guesses 192 random bits, and the rounds would be most of the
      // cost of opening a session.
      '--set=scram_iterations=1',
      '--encoding=UTF8',
      '--locale=C',
      '--data-checksums',
      '--no-instructions',
    ];
    const { code, output } = await run(spawnAs(account, 'initdb', args, fresh, [file.fd, 'pipe', 'pipe']));
    if (code === 0) return;
    const lines = output.trim().split('\n');
    const reason = lines.find((line) => /error:|FATAL:/.test(line)) ?? (lines.at(-1) || `exit code ${code}`);
    throw new EmbeddedPostgresError(`PostgreSQL could not be prepared in ${place.dataDir}: ${reason.trim()}`);
  } finally {
    await file.close();
    if (isWindows) await rm(path, { force: true });
  }
}

async function makePassword(place: Place): Promise<string> {
  const existing = await readPassword(place).catch(() => undefined);
  if (existing !== undefined) return existing;
  const password = randomBytes(24).toString('hex');
  await writeText(place.passwordFile, 'replace', `${password}\n`);
  if (isRoot && place.owner.uid !== 0) await chown(place.passwordFile, place.owner.uid, place.owner.gid);
  return password;
}

export async function readPassword(place: Place): Promise<string> {
  const password = await readFile(place.passwordFile, 'utf8').catch((error) => {
    throw cannot(`The database's password in ${place.passwordFile} cannot be read`, error);
  });
  if (/^[0-9a-f]{48}\n$/.test(password)) return password.trim();
  throw new EmbeddedPostgresError(`${place.passwordFile} does not hold the database's password any more`);
}

/** Before each start, because root may run PostgreSQL as another user than last time. */
export async function chownCluster(cluster: string, account: Account): Promise<void> {
  const { uid } = await lstat(cluster);
  if (account.owner === undefined) {
    if (process.getuid !== undefined && uid !== process.getuid()) {
      throw new EmbeddedPostgresError(
        `The database in ${cluster} belongs to another user (uid ${uid}): start Tollgate as that user`,
      );
    }
    return;
  }
  if (uid === account.owner.uid) return;
  const inside = await readdir(cluster, { recursive: true });
  // The directory itself comes last: its owner shows that everything is done.
  for (const path of [...inside.map((name) => join(cluster, name)), cluster]) {
    await lchown(path, account.owner.uid, account.owner.gid);
  }
}
