// Restores a backup into an empty data directory. It works in a separate folder and moves the result into place at the end: a restore
// that is killed halfway leaves no database that could be started.
import { randomBytes } from 'node:crypto';
import { appendFile, lchown, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { plainClient } from '../../postgres/client.js';
import { syncFolder } from '../../values/whole-file.js';
import { isRoot } from '../account.js';
import { exists, findBinaries } from '../binaries.js';
import { BackupError, cannot, EmbeddedPostgresError, errorCode } from '../error.js';
import { openDataDirectory, type Place, RESTORING } from '../files.js';
import { withLock } from '../lock.js';
import { type Logins, openEmbeddedPostgres } from '../server.js';
import { FORGET_RECOVERY } from '../server.sql.js';
import { copyDurably, forEachFile } from './durable-files.js';
import { type BackedUpFile, type Manifest, readManifest } from './manifest.js';

export interface RestoreOptions {
  readonly folder: string;
  readonly dataDir: string;
  /** The fingerprint that the operator expects. */
  readonly fingerprint?: string | undefined;
  readonly say: (line: string) => void;
  readonly progress: (bytes: number, ofBytes: number) => void;
}

/** A recovered database that nobody else can reach yet. */
export interface Recovered {
  readonly logins: Logins;
  /** Where the database is for now, with everything from the backup. */
  readonly dataDir: string;
  readonly manifest: Manifest;
}

/** Files that may already be there: the key, which is not part of a backup, and the simulated acquirer's ledger, which continues. */
const MAY_BE_THERE =
  /^(key-encryption-key|simulator-ledger\.ndjson|lost\+found|postgres\.lock|postgres-password)$/;
/** Folders of restores that were killed. */
const LEFT_BEHIND = new RegExp(`^${RESTORING}\\.[0-9a-f]{12}$`);

/**
 * Recovers the database, and lets `work` change it before anybody else can use it. If `work` throws, the restore fails and leaves no
 * database.
 */
export async function restoreCluster<Result>(
  options: RestoreOptions,
  work: (recovered: Recovered) => Promise<Result>,
): Promise<{ manifest: Manifest; result: Result }> {
  const { manifest, fingerprint } = await readManifest(options.folder);
  // guard(restore: no other backup than the one that is meant): !== undefined && options.fingerprint !== fingerprint ⇒ === fingerprint.slice(1)
  if (options.fingerprint !== undefined && options.fingerprint !== fingerprint) {
    throw new BackupError(
      `the fingerprint of the backup in ${options.folder} is ${fingerprint}, and not the one given`,
    );
  }
  const { major } = await findBinaries();
  if (manifest.postgres !== major) {
    throw new BackupError(
      `the backup is of PostgreSQL ${manifest.postgres}, but this Tollgate brings PostgreSQL ${major}: use the release that made it (${manifest.release})`,
    );
  }
  const place = await openDataDirectory(options.dataDir);
  const waiting = () => options.say('Waiting for another process that is starting PostgreSQL');
  const result = await withLock(join(place.dataDir, 'postgres.lock'), waiting, async () => {
    await removeLeftBehind(place);
    // guard(restore: a used data directory is left alone): await refuseUsed(place, manifest); ⇒
    await refuseUsed(place, manifest);
    const staging = join(place.dataDir, `${RESTORING}.${randomBytes(6).toString('hex')}`);
    try {
      await mkdir(staging, { mode: 0o700 });
      await copyBack(options, manifest, staging);
      // guard(restore: it begins a new timeline, by which processes know that the database has gone back): await prepareRecovery(join(staging, 'postgres')); ⇒
      await prepareRecovery(join(staging, 'postgres'));
      if (isRoot && place.owner.uid !== 0) await giveTo(place, staging);
      const done = await recover(staging, options.say, (logins) =>
        work({ logins, dataDir: staging, manifest }),
      );
      await moveIntoPlace(place, manifest, staging);
      return done;
    } catch (error) {
      await stopServerIn(staging);
      await rm(staging, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
      throw asBackupError(error, options);
    }
  });
  return { manifest, result };
}

async function removeLeftBehind({ dataDir }: Place): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!LEFT_BEHIND.test(name)) continue;
    await stopServerIn(join(dataDir, name));
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

async function refuseUsed({ dataDir }: Place, { withKey }: Manifest): Promise<void> {
  const names = await readdir(dataDir);
  const inTheWay = names.filter((name) => !MAY_BE_THERE.test(name));
  if (withKey && names.includes('key-encryption-key')) inTheWay.push('key-encryption-key');
  if (inTheWay.length === 0) return;
  throw new BackupError(
    `the data directory ${dataDir} is in use (${inTheWay.sort().join(', ')}): restore into an empty one, and keep the old one until you are certain`,
  );
}

/** Copies everything in the manifest, and nothing else, and checks each file. */
async function copyBack({ folder, progress }: RestoreOptions, manifest: Manifest, to: string): Promise<void> {
  for (const path of manifest.folders) await mkdir(join(to, path), { mode: 0o700 });
  let bytes = 0;
  await forEachFile(manifest.files, async (file) => {
    await copyFileBack(folder, file, to);
    bytes += file.bytes;
    progress(bytes, manifest.bytes);
  });
  await forEachFile([...manifest.folders, '.'], (path) => syncFolder(join(to, path)));
}

async function copyFileBack(
  folder: string,
  { path, bytes, sha256 }: BackedUpFile,
  to: string,
): Promise<void> {
  const source = await open(join(folder, path), 'r').catch((error) => {
    const reason = errorCode(error) === 'ENOENT' ? 'is missing' : `cannot be read (${errorCode(error)})`;
    throw new BackupError(`the backup in ${folder} is damaged: ${path} ${reason}`);
  });
  try {
    const copied = await copyDurably(source, join(to, path), bytes + 1);
    // guard(restore: each file is what was backed up): if (copied.bytes === bytes && copied.sha256 === sha256) ⇒
    if (copied.bytes === bytes && copied.sha256 === sha256) return;
    throw new BackupError(`the backup in ${folder} is damaged: ${path} is not what was backed up`);
  } finally {
    await source.close();
  }
}

/** Gives the files to the owner of the data directory, although root restores them. */
async function giveTo({ owner }: Place, staging: string): Promise<void> {
  const inside = await readdir(staging, { recursive: true });
  for (const path of [...inside.map((name) => join(staging, name)), staging]) {
    await lchown(path, owner.uid, owner.gid);
  }
}

/** Recovers as from an archive, not as from a crash: PostgreSQL then begins a new timeline, which shows that it went back. */
// guard(restore: it begins a new timeline, by which processes know that the database has gone back): async ⇒ export async
async function prepareRecovery(cluster: string): Promise<void> {
  await writeFile(join(cluster, 'recovery.signal'), '', { mode: 0o600 });
  // There is no archive: the backup contains the WAL that it needs.
  await appendFile(join(cluster, 'postgresql.auto.conf'), `restore_command = 'exit 1'\n`);
}

async function recover<Result>(
  staging: string,
  say: (line: string) => void,
  work: (logins: Logins) => Promise<Result>,
): Promise<Result> {
  const server = await openEmbeddedPostgres({ dataDir: staging, progress: say });
  const result = await work(server.logins);
  const client = plainClient({ connectionString: server.url });
  await client.connect();
  await client.query(FORGET_RECOVERY).finally(() => client.end());
  await server.stop();
  return result;
}

/** The cluster comes last: it makes the database exist. */
async function moveIntoPlace({ dataDir }: Place, { files }: Manifest, staging: string): Promise<void> {
  const beside = files.map(({ path }) => path).filter((path) => dirname(path) === '.');
  for (const name of beside) await rename(join(staging, name), join(dataDir, name));
  await rename(join(staging, 'postgres'), join(dataDir, 'postgres'));
  await syncFolder(dataDir);
  await rm(staging, { recursive: true, force: true, maxRetries: 5 });
}

/** For a restore that failed or was killed. */
async function stopServerIn(staging: string): Promise<void> {
  if (!(await exists(join(staging, 'postgres', 'postmaster.pid')))) return;
  const server = await openEmbeddedPostgres({ dataDir: staging }).catch(() => undefined);
  await server?.stop();
}

function asBackupError(error: unknown, { folder, dataDir }: RestoreOptions): unknown {
  if (error instanceof EmbeddedPostgresError) return error;
  const code = errorCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new BackupError(`there is not enough room in ${dataDir}; what was written is removed`);
  }
  return code !== undefined && /^E[A-Z]+$/.test(code)
    ? cannot(`the backup ${folder} could not be restored into ${dataDir}`, error)
    : error;
}
