// Checks on the machine, without the database: files and their permissions, the disk, certificates and keys.
import { type Stats, statfsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasDatabase } from '../../embedded-postgres/server.js';
import { daysToExpiry } from '../../http/tls.js';
import { isLoopback } from '../../values/network.js';
import { readCertificate } from '../certificate-watch.js';
import type { Settings } from '../settings/settings.js';
import { byAge, type CheckResult, failure, inWords, notChecked, ok, warning } from './check-result.js';

const MEGABYTE = 1024 ** 2;
const GIGABYTE = 1024 ** 3;
/**
 * How much space must be free. PostgreSQL writes its log in files of 16 MB, several at once. A small volume is fine while half
 * of it is free; of a very large one a small share is plenty. If the database is elsewhere, the directory holds only a few
 * small files.
 */
const ROOM_FOR_DATABASE = { failBelow: 64 * MEGABYTE, warnBelow: GIGABYTE };
const ROOM_FOR_FILES = { failBelow: MEGABYTE, warnBelow: 16 * MEGABYTE };
const KEY_DAYS = 365;
const DAY_SECONDS = 86_400;

export async function examineMachine(settings: Settings): Promise<CheckResult[]> {
  return [
    ...examineSecrets(settings),
    await examineDataDirectory(settings),
    ...examineDisk(settings),
    await examineCertificate(settings),
    await examineKeyFile(settings),
  ];
}

function examineSecrets({ openSecrets }: Settings): CheckResult[] {
  return openSecrets.map(({ setting, mode }) =>
    warning(
      'secrets',
      `everybody on this machine can read the file of ${setting} (mode ${mode})`,
      'chmod 600',
    ),
  );
}

async function examineDataDirectory({ dataDir }: Settings): Promise<CheckResult> {
  const found = await statOf(dataDir);
  if (found === undefined)
    return warning('data directory', `${dataDir} is not there`, 'the gateway makes it at its start');
  const mode = found.mode & 0o777;
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    return warning(
      'data directory',
      `others can get into ${dataDir} (mode ${mode.toString(8)})`,
      'chmod 700',
    );
  }
  const user = process.getuid?.();
  return user !== undefined && user !== 0 && found.uid !== user
    ? warning('data directory', `${dataDir} belongs to another user (uid ${found.uid})`, 'work as that user')
    : ok('data directory', `${dataDir} is closed to others`);
}

/** The disk of the data directory. An external database's disk cannot be seen from here. */
function examineDisk({ dataDir, databaseUrl }: Settings): CheckResult[] {
  let disk: ReturnType<typeof statfsSync>;
  try {
    disk = statfsSync(dataDir);
  } catch (error) {
    return [notChecked('disk', `of ${dataDir}: ${(error as NodeJS.ErrnoException).code}`)];
  }
  const freeBytes = disk.bavail * disk.bsize;
  const share = freeBytes / Math.max(1, disk.blocks * disk.bsize);
  const free =
    freeBytes < GIGABYTE
      ? `${Math.floor(freeBytes / MEGABYTE)} MB`
      : `${(freeBytes / GIGABYTE).toFixed(1)} GB`;
  const line = `${free} (${Math.round(share * 100)} %) are free for ${dataDir}`;
  const todo = 'make room, or a larger volume: with a full disk no payment is taken';
  const { failBelow, warnBelow } = databaseUrl === undefined ? ROOM_FOR_DATABASE : ROOM_FOR_FILES;
  const space =
    freeBytes < failBelow || (share < 0.02 && freeBytes < 2 * warnBelow)
      ? failure('disk', line, todo)
      : (freeBytes < warnBelow && share < 0.5) || (share < 0.1 && freeBytes < 20 * warnBelow)
        ? warning('disk', line, todo)
        : ok('disk', line);
  const elsewhere =
    databaseUrl === undefined
      ? []
      : [notChecked('disk of the database', 'it is on a server of its own: watch it there')];
  // Some file systems have no limit, and report 0.
  if (disk.files === 0) return [space, ...elsewhere];
  const left = `${disk.ffree} of ${disk.files} inodes are free`;
  const inodes =
    disk.ffree < 1_000
      ? failure('inodes', left, todo)
      : disk.ffree / disk.files < 0.05
        ? warning('inodes', left, todo)
        : ok('inodes', left);
  return [space, inodes, ...elsewhere];
}

async function examineCertificate(settings: Settings): Promise<CheckResult> {
  if (settings.tls === undefined) {
    return isLoopback(settings.host)
      ? ok('certificate', 'none; the gateway listens on this machine only')
      : warning('certificate', `none, and the gateway listens on ${settings.host}`, 'set up TLS');
  }
  try {
    const certificate = await readCertificate(settings);
    if (certificate === undefined) return notChecked('certificate', 'there is none');
    const leftSeconds = (certificate.expiresAtMs - Date.now()) / 1_000;
    const within = daysToExpiry(certificate, Date.now());
    if (within === 0)
      return failure('certificate', `expired ${inWords(-leftSeconds)} ago`, 'renew it: clients refuse it');
    const line = `ends in ${inWords(leftSeconds)}`;
    return within === undefined ? ok('certificate', line) : warning('certificate', line, 'renew it');
  } catch (error) {
    return failure(
      'certificate',
      (error as Error).message,
      'put it right: the gateway does not start with it',
    );
  }
}

async function examineKeyFile({ keyEncryption, dataDir, databaseUrl }: Settings): Promise<CheckResult> {
  if (keyEncryption.provider !== 'file')
    return ok('key-encryption key', `comes from ${keyEncryption.provider}`);
  const path = join(dataDir, 'key-encryption-key');
  const found = await statOf(path);
  if (found === undefined) {
    if (databaseUrl === undefined && !(await hasDatabase(dataDir)))
      return notChecked('key-encryption key', 'there is none yet; the first start makes it');
    return failure(
      'key-encryption key',
      `${path} is not there`,
      'bring it back from a backup; in a new installation the first start makes it',
    );
  }
  const mode = found.mode & 0o777;
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    return failure(
      'key-encryption key',
      `others can read ${path} (mode ${mode.toString(8)})`,
      'chmod 600, and renew it: the gateway does not start',
    );
  }
  if (databaseUrl !== undefined) {
    return warning(
      'key-encryption key',
      `lies in ${path}`,
      'keep it elsewhere: environment, or vault-transit',
    );
  }
  const seconds = (Date.now() - found.mtimeMs) / 1_000;
  return byAge(
    'key-encryption key',
    seconds,
    { warnAbove: KEY_DAYS * DAY_SECONDS },
    {
      nothing: 'is new',
      found: (age) => `${path} is closed to others and ${age} old`,
      todo: 'renew it: `tollgate keys rotate --key-encryption-key`',
    },
  );
}

function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}
