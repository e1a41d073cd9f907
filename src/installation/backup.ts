// Backup and restore of the database that comes with the gateway: what belongs to a backup, and what is done before a restored
// database may be used.
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { backUpCluster } from '../embedded-postgres/backup/backup.js';
import type { Manifest } from '../embedded-postgres/backup/manifest.js';
import { restoreCluster } from '../embedded-postgres/backup/restore.js';
import { exists, findBinaries } from '../embedded-postgres/binaries.js';
import { BackupError } from '../embedded-postgres/error.js';
import type { Logins } from '../embedded-postgres/server.js';
import { type EntrySigner, setSigner, signerOf } from '../journal/entry-signer.js';
import { journal } from '../journal/journal.js';
import { Database, type Queryable } from '../postgres/database.js';
import { migrate } from '../postgres/schema.js';
import { count, FLAG, FROM, TEXT } from '../tasks/kinds.js';
import {
  type Doing,
  type DoingAlone,
  type Given,
  needed,
  optional,
  type Progress,
  type TaskSettings,
  task,
} from '../tasks/task.js';
import { PROGRAM_VERSION } from '../values/program.js';
import type { PaidElsewhere } from './moving/left-to-others.js';
import { type Guarded, guardRestored, revivedLines } from './restored.js';
import { BACKED_UP_STATE } from './restored.sql.js';

/** Without it nobody could log in to the restored database. */
const PASSWORD = 'postgres-password';
const KEY = 'key-encryption-key';
const MEGABYTE = 1024 * 1024;

const BACKUP_INPUT = {
  folder: needed(TEXT, '<folder>', 'where to: a folder that is not there yet, or is empty'),
  withKey: optional(
    FLAG,
    '--with-key',
    'the key file too: whoever has such a backup can open every card in it',
  ),
};

function checkBackup(settings: TaskSettings, { withKey }: Given<typeof BACKUP_INPUT>): void {
  refuseForeign(settings, 'pg_basebackup, or what you use elsewhere, backs up a PostgreSQL of your own');
  if (withKey && settings.keyEncryption.provider !== 'file')
    throw new BackupError('there is no key file: the key-encryption key comes from elsewhere');
}

async function backUp(
  { database, actor, settings, progress }: Doing,
  { folder, withKey = false }: Given<typeof BACKUP_INPUT>,
) {
  const { rows } = await database.query<Pick<Manifest, 'schema' | 'keyEncryptionKey'>>(BACKED_UP_STATE);
  const state = rows[0] as Pick<Manifest, 'schema' | 'keyEncryptionKey'>;
  const { manifest, fingerprint } = await backUpCluster({
    dataDir: settings.dataDir,
    folder,
    // guard(backup: the key is not in it): ...(withKey ? [KEY] : []) ⇒ KEY
    beside: [PASSWORD, ...(withKey ? [KEY] : [])],
    facts: { release: PROGRAM_VERSION, postgres: (await findBinaries()).major, ...state, withKey },
    progress: inMegabytes(progress('backup', 'MB')),
  });
  const { taken, bytes, files, keyEncryptionKey } = manifest;
  // An entry without a MAC would look forged.
  const isJournalled = (await signerOf(database)) !== undefined;
  const entry = {
    actor,
    action: 'gateway.backed_up',
    detail: `${folder}: ${bytes} bytes, taken ${taken}, fingerprint ${fingerprint}${withKey ? ', with the key-encryption key' : ''}`,
  } as const;
  // guard(backup: no entry without a MAC): if (isJournalled) ⇒ if (entry)
  if (isJournalled) await journal(database, entry);
  else
    process.stderr.write(
      'The backup is not in the journal: the journal\u2019s key cannot be opened without the key-encryption key.\n',
    );
  return { folder, taken, bytes, files: files.length, fingerprint, keyEncryptionKey, withKey };
}

const AHEAD = optional(count(), '--ahead <count>', 'by how many to move audits, customer and token IDs');

const RESTORE_INPUT = {
  folder: needed(TEXT, '<folder>', 'the backup'),
  fingerprint: optional(TEXT, '--fingerprint <fingerprint>', 'only if the backup is this one'),
  ahead: AHEAD,
};

interface RestoreMeans {
  /** Asks the other cells of the fleet which organisations of this database they pay for. */
  readonly paidElsewhere: (database: Queryable) => Promise<readonly PaidElsewhere[]>;
  readonly signerIfAvailable: (database: Queryable, dataDir: string) => Promise<EntrySigner | undefined>;
}

interface RestoredBackup extends Guarded, Pick<Manifest, 'taken' | 'keyEncryptionKey' | 'withKey'> {
  readonly folder: string;
  readonly dataDir: string;
  /** How often this backup was brought back, this time included. */
  readonly times: number;
  /** False where it could not be written down: another restore of it must be told by how many to move. */
  readonly isCounted: boolean;
  /** Whether the gateway would find a key file there. */
  readonly hasKeyFile: boolean;
}

export async function restore(
  { actor, settings, means, progress }: DoingAlone<RestoreMeans>,
  { folder, fingerprint, ahead }: Given<typeof RESTORE_INPUT>,
): Promise<RestoredBackup> {
  refuseForeign(
    settings,
    'restore it as you do elsewhere, and run `tollgate counters advance` before the gateway starts',
  );
  const { dataDir } = settings;
  const show = inMegabytes(progress('restore', 'MB'));
  const { manifest, result } = await restoreCluster(
    { folder, dataDir, fingerprint, say: () => {}, progress: show },
    async ({ logins, dataDir: place, manifest: { taken, withKey } }) => {
      const { times, isCounted } = await countRestore(folder);
      const guarded = await asOwner(logins, async (database) => {
        await migrate(database);
        // The key may come along.
        const signer = await means.signerIfAvailable(database, withKey ? place : dataDir);
        if (signer !== undefined) setSigner(database, signer);
        const elsewhere = await means.paidElsewhere(database);
        const takenMs = Date.parse(taken);
        return guardRestored(database, actor, { takenMs, times, ahead, isAlone: true, elsewhere });
      });
      return { ...guarded, times, isCounted };
    },
  );
  const { taken, keyEncryptionKey, withKey } = manifest;
  const hasKeyFile = await exists(join(dataDir, KEY));
  return { folder, dataDir, taken, keyEncryptionKey, withKey, ...result, hasKeyFile };
}

async function asOwner<Result>(
  logins: Logins,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = new Database(logins.migrating, {
    maxConnections: 1,
    applicationName: 'tollgate-restore',
    patient: true,
  });
  return work(database).finally(() => database.close());
}

/** Beside the backup stands how often it was brought back: each life after it gives out numbers of its own. */
async function countRestore(folder: string): Promise<{ times: number; isCounted: boolean }> {
  const path = join(folder, 'restored');
  const earlier = await readFile(path, 'utf8').catch(() => '');
  // guard(restore: each time it moves further): !== ' ⇒ === '-
  const times = earlier.split('\n').filter((line) => line !== '').length + 1;
  return appendFile(path, `${new Date().toISOString()}\n`, { mode: 0o600 }).then(
    () => ({ times, isCounted: true }),
    () => ({ times, isCounted: false }),
  );
}

function refuseForeign({ databaseUrl }: TaskSettings, instead: string): void {
  if (databaseUrl !== undefined) {
    throw new BackupError(
      `DATABASE_URL is set, and this is for the PostgreSQL that comes with Tollgate: ${instead}`,
    );
  }
}

function inMegabytes(show: Progress): (bytes: number, ofBytes: number) => void {
  return (bytes, of) => show(Math.floor(bytes / MEGABYTE), Math.ceil(of / MEGABYTE));
}

function restoredSentence(restored: RestoredBackup): string {
  const { dataDir, taken, keyEncryptionKey, times, isCounted, hasKeyFile } = restored;
  const key =
    keyEncryptionKey === null || hasKeyFile
      ? []
      : [
          `The key-encryption key is not in the backup: its cards need the one called ${keyEncryptionKey}. Bring it before the gateway starts (with TOLLGATE_KEY_PROVIDER file, as ${dataDir}/key-encryption-key).`,
        ];
  const again = [
    ...(times > 1
      ? [`It is the ${times}th time that this backup was brought back: everything has moved further.`]
      : []),
    ...(isCounted
      ? []
      : [
          'That it was brought back could not be noted beside the backup: should it be brought back again, say by how far to move with --ahead.',
        ]),
  ];
  return [`Restored into ${dataDir}, as of ${taken}.`, ...again, ...revivedLines(restored), ...key].join(
    '\n',
  );
}

export const BACKUP = {
  name: 'backup',
  tasks: [
    task({
      name: 'backup',
      help: 'back up the database that comes with Tollgate, while the gateway serves',
      role: 'administrator',
      scope: 'installation',
      byAccount: true,
      // Best made before an upgrade, with whichever release.
      on: 'any schema',
      fresh: true,
      input: BACKUP_INPUT,
      checks: checkBackup,
      run: backUp,
      says: ({ folder, taken, bytes, fingerprint, withKey }) => {
        const key = withKey
          ? 'The key-encryption key is in it: guard it as you guard the cards.'
          : 'The key-encryption key is not in it: keep that elsewhere, for as long as this backup.';
        return `Backed up ${Math.ceil(bytes / MEGABYTE)} MB to ${folder}, as of ${taken}. Fingerprint: ${fingerprint}\n${key}`;
      },
    }),
  ],
} as const;

export const RESTORE = {
  name: 'restore',
  tasks: [
    task({
      name: 'restore',
      help: 'bring a backup back into an empty data directory',
      // There is no database yet that could know operators.
      scope: 'nobody',
      on: 'nothing',
      input: RESTORE_INPUT,
      run: restore,
      says: restoredSentence,
    }),
  ],
} as const;

export const COUNTERS = {
  name: 'counters',
  help: 'what is given out only once',
  tasks: [
    task({
      name: 'counters advance',
      help: 'after a backup of your own PostgreSQL was brought back, and before the gateway starts: move audits, IDs and STANs past what may have been used since',
      role: 'administrator',
      scope: 'installation',
      byAccount: true,
      // Whoever owns the tables may move everything in them.
      on: 'as owner',
      input: {
        taken: needed(
          FROM,
          '--taken <time>',
          'when the backup was taken, or up to when the log was replayed',
        ),
        ahead: AHEAD,
      },
      run: async (
        { database, actor, means }: Doing<Pick<RestoreMeans, 'paidElsewhere'>>,
        { taken, ahead },
      ) => {
        const elsewhere = await means.paidElsewhere(database);
        return guardRestored(database, actor, { takenMs: taken, ahead, times: 1, isAlone: false, elsewhere });
      },
      says: (guarded) => revivedLines(guarded).join('\n'),
    }),
  ],
} as const;
