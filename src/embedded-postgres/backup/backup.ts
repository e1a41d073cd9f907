// Backs up a cluster while its server runs, in PostgreSQL's way for programs that copy files. Between two calls the files may be copied
// in any state and order; the WAL up to the second call makes them one consistent database.
import { mkdir, open, readdir, realpath, rm, statfs } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { DatabaseError, plainClient } from '../../postgres/client.js';
import { syncFolder } from '../../values/whole-file.js';
import { BackupError, cannot, EmbeddedPostgresError, errorCode } from '../error.js';
import { runningServer } from '../server.js';
import { BEGIN_BACKUP, END_BACKUP, KEEP_LOG } from '../server.sql.js';
import { bytesOfCluster, ClusterCopy } from './cluster-copy.js';
import { copyDurably } from './durable-files.js';
import { type BackedUpFile, FORMAT, type Manifest, writeManifest } from './manifest.js';

export interface BackupOptions {
  readonly dataDir: string;
  /** Created by the backup, or existing and empty. */
  readonly folder: string;
  /** Files of the data directory outside the cluster that belong to the backup. */
  readonly beside: readonly string[];
  readonly facts: Pick<Manifest, 'release' | 'postgres' | 'schema' | 'keyEncryptionKey' | 'withKey'>;
  readonly progress: (bytes: number, ofBytes: number) => void;
}

export interface Backup {
  readonly manifest: Manifest;
  /** Identifies this backup. */
  readonly fingerprint: string;
}

/** Room that the database may need on the same disk meanwhile. */
const SPARE_BYTES = 256 * 1024 * 1024;

export async function backUpCluster(options: BackupOptions): Promise<Backup> {
  const cluster = await realpath(join(options.dataDir, 'postgres'));
  await refuseTablespaces(cluster);
  const folder = resolve(options.folder);
  if (`${folder}${sep}`.startsWith(`${await realpath(options.dataDir)}${sep}`)) {
    throw new BackupError(`${options.folder} lies in the data directory: a backup belongs elsewhere`);
  }
  const isOurs = await makeFolder(options.folder);
  let isComplete = false;
  try {
    const bytes = await bytesOfCluster(cluster);
    await checkRoom(options.folder, bytes);
    const backup = await copyAll(options, cluster, bytes);
    isComplete = true;
    return backup;
  } catch (error) {
    throw asBackupError(error, options.folder);
  } finally {
    // An incomplete backup is useless, and would block the next one.
    if (!isComplete) await clear(options.folder, isOurs);
  }
}

interface Begun {
  readonly lsn: string;
  readonly segment: string;
  readonly at: Date;
  readonly systemIdentifier: string;
}

interface Ended extends Omit<Begun, 'systemIdentifier'> {
  readonly label: string;
}

async function copyAll(options: BackupOptions, cluster: string, ofBytes: number): Promise<Backup> {
  const { dataDir, folder, beside, facts, progress } = options;
  const client = plainClient({
    connectionString: await superuserUrl(dataDir),
    application_name: 'tollgate-backup',
  });
  let isServerGone = false;
  client.once('end', () => {
    isServerGone = true;
  });
  await client.connect();
  try {
    const copy = new ClusterCopy(cluster, join(folder, 'postgres'), {
      isServerGone: () => isServerGone,
      onCopied: (bytes) => progress(bytes, Math.max(bytes, ofBytes)),
    });
    await client.query(KEEP_LOG);
    const begun = (await client.query<Begun>(BEGIN_BACKUP)).rows[0] as Begun;
    await copy.copyFiles();
    const ended = (await client.query<Ended>(END_BACKUP)).rows[0] as Ended;
    await copy.write('backup_label', Buffer.from(ended.label));
    await copy.copyLog(begun.segment, ended.segment);
    const files = copy.files.map(({ path, ...file }) => ({ path: `postgres/${path}`, ...file }));
    for (const name of beside) files.push(await copyBeside(dataDir, folder, name));
    await copy.syncFolders();
    const manifest: Manifest = {
      format: FORMAT,
      ...facts,
      systemIdentifier: begun.systemIdentifier,
      began: begun.at.toISOString(),
      taken: ended.at.toISOString(),
      fromLsn: begun.lsn,
      toLsn: ended.lsn,
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      folders: ['postgres', ...copy.folders.map((path) => `postgres/${path}`)],
      files,
    };
    const fingerprint = await writeManifest(folder, manifest);
    await syncFolder(folder);
    return { manifest, fingerprint };
  } finally {
    await client.end().catch(() => {});
  }
}

/** Only the superuser may read the state of the whole server. */
async function superuserUrl(dataDir: string): Promise<string> {
  const server = await runningServer(dataDir);
  if ('url' in server) return server.url;
  throw new BackupError(`PostgreSQL of ${dataDir} ${server.reason}`);
}

async function copyBeside(dataDir: string, folder: string, name: string): Promise<BackedUpFile> {
  const source = await open(join(dataDir, name), 'r');
  try {
    const { size } = await source.stat();
    return { path: name, ...(await copyDurably(source, join(folder, name), size)) };
  } finally {
    await source.close();
  }
}

/** Files of tablespaces lie elsewhere, and nobody would miss them before a restore. */
async function refuseTablespaces(cluster: string): Promise<void> {
  const names = await readdir(join(cluster, 'pg_tblspc')).catch((error) => {
    throw cannot(
      `The database in ${cluster} cannot be read: back it up as the user whom it belongs to`,
      error,
    );
  });
  if (names.length > 0) {
    throw new BackupError('the database has tablespaces, which only pg_basebackup backs up');
  }
}

/** Returns whether the folder was created here. */
async function makeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw cannot(`the folder ${folder} cannot be made`, error);
  }
  const names = await readdir(folder).catch((error) => {
    throw cannot(`${folder} is no folder that can be written to`, error);
  });
  if (names.length > 0) throw new BackupError(`${folder} is not empty, and no backup is overwritten`);
  return false;
}

async function checkRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytes + SPARE_BYTES) return;
  throw new BackupError(
    `there is not enough room for a backup in ${folder}: it takes ${megabytes(bytes)}, with ${megabytes(SPARE_BYTES)} to spare for the database, and ${megabytes(freeBytes)} are free`,
  );
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MB`;
}

async function clear(folder: string, isOurs: boolean): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
  }
  if (isOurs) await rm(folder, { recursive: true, force: true }).catch(() => {});
}

function asBackupError(error: unknown, folder: string): Error {
  if (error instanceof EmbeddedPostgresError) return error;
  const code = errorCode(error);
  if (error instanceof DatabaseError) {
    return new BackupError(`PostgreSQL refuses to be backed up: ${error.message} (${error.code})`);
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new BackupError(`there is not enough room for a backup in ${folder}; what was written is removed`);
  }
  const { message } = error as Error;
  return /terminated|Connection/i.test(message)
    ? new BackupError('PostgreSQL stopped during the backup; what was written is removed')
    : cannot(`the backup in ${folder} could not be made`, error);
}
