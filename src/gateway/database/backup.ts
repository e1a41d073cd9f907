// Backup and restore of the database that comes with the gateway: what belongs to a backup, and what is done before a restored
// database may be used.
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Backup, backUpCluster } from '../../embedded-postgres/backup/backup.js';
import type { Manifest } from '../../embedded-postgres/backup/manifest.js';
import { restoreCluster } from '../../embedded-postgres/backup/restore.js';
import { exists, findBinaries } from '../../embedded-postgres/binaries.js';
import { BackupError } from '../../embedded-postgres/error.js';
import { type Guarded, guardRestored, type Restored } from '../../installation/restored.js';
import { setSigner } from '../../journal/entry-signer.js';
import { journalOnAnySchema } from '../../journal/journal.js';
import { Database } from '../../postgres/database.js';
import { migrate } from '../../postgres/schema.js';
import { signerIfAvailable } from '../callers.js';
import { type Settings, SettingsError } from '../settings/settings.js';
import { BACKED_UP_STATE } from './backup.sql.js';
import { type Logins, type Progress, SILENT, withDatabase } from './connection.js';

export type BytesProgress = (bytes: number, ofBytes: number) => void;

/** The name for the journal of whoever asks, if they may. */
export type Admit = (database: Database) => Promise<string>;

export interface BackupRequest {
  readonly folder: string;
  readonly admit: Admit;
  readonly release: string;
  /** Whoever has such a backup can open every card in it. */
  readonly withKey: boolean;
  readonly progress?: BytesProgress;
}

/** Without it nobody could log in to the restored database. */
const PASSWORD = 'postgres-password';
const KEY = 'key-encryption-key';

export async function backUp(settings: Settings, request: BackupRequest): Promise<Backup> {
  const { folder, admit, release, withKey, progress = () => {} } = request;
  refuseForeign(settings, 'pg_basebackup, or what you use elsewhere, backs up a PostgreSQL of your own');
  if (withKey && settings.keyEncryption.provider !== 'file') {
    throw new SettingsError('there is no key file: the key-encryption key comes from elsewhere');
  }
  const work = async (database: Database) => {
    const signer = await signerIfAvailable(settings, database);
    if (signer !== undefined) setSigner(database, signer);
    const operator = await admit(database);
    const { rows } = await database.query<Pick<Manifest, 'schema' | 'keyEncryptionKey'>>(BACKED_UP_STATE);
    const state = rows[0] as Pick<Manifest, 'schema' | 'keyEncryptionKey'>;
    const backup = await backUpCluster({
      dataDir: settings.dataDir,
      folder,
      // guard(backup: the key is not in it): ...(withKey ? [KEY] : []) ⇒ KEY
      beside: [PASSWORD, ...(withKey ? [KEY] : [])],
      facts: { release, postgres: (await findBinaries()).major, ...state, withKey },
      progress,
    });
    await journalOnAnySchema(database, {
      actor: operator,
      action: 'gateway.backed_up',
      detail: `${folder}: ${backup.manifest.bytes} bytes, taken ${backup.manifest.taken}, fingerprint ${backup.fingerprint}${withKey ? ', with the key-encryption key' : ''}`,
    });
    return backup;
  };
  // Best made before an upgrade, with whichever release.
  return withDatabase(settings, work, { onAnySchema: true });
}

export interface RestoreRequest {
  readonly folder: string;
  readonly operator: string;
  readonly fingerprint?: string | undefined;
  readonly ahead?: number | undefined;
  readonly say?: Progress;
  readonly progress?: BytesProgress;
}

export interface RestoredBackup extends Guarded {
  readonly manifest: Manifest;
  /** How often this backup was brought back, this time included. */
  readonly times: number;
  /** False where it could not be written down: another restore of it must be told by how many to move. */
  readonly isCounted: boolean;
  /** Whether the gateway would find a key file there. */
  readonly hasKeyFile: boolean;
}

export async function restore(settings: Settings, request: RestoreRequest): Promise<RestoredBackup> {
  const { folder, operator, fingerprint, ahead, say = SILENT, progress = () => {} } = request;
  refuseForeign(
    settings,
    'restore it as you do elsewhere, and run `tollgate counters advance` before the gateway starts',
  );
  const { manifest, result } = await restoreCluster(
    { folder, dataDir: settings.dataDir, fingerprint, say, progress },
    async ({ logins, dataDir, manifest: { taken, withKey } }) => {
      const { times, isCounted } = await countRestore(folder);
      const guarded = await asOwner(logins, async (database) => {
        // The key may come along.
        const own = withKey ? { ...settings, dataDir } : settings;
        await migrate(database);
        const signer = await signerIfAvailable(own, database);
        if (signer !== undefined) setSigner(database, signer);
        return guardRestored(database, operator, { takenMs: Date.parse(taken), times, ahead, isAlone: true });
      });
      return { ...guarded, times, isCounted };
    },
  );
  return { manifest, ...result, hasKeyFile: await exists(join(settings.dataDir, KEY)) };
}

/** After a PostgreSQL of the operator's own was restored, in whatever way. */
export function advanceCounters(
  settings: Settings,
  admit: Admit,
  restored: Pick<Restored, 'takenMs' | 'ahead'>,
): Promise<Guarded> {
  // Whoever owns the tables may move everything in them.
  return withDatabase(
    settings,
    async (database) => {
      const signer = await signerIfAvailable(settings, database);
      if (signer !== undefined) setSigner(database, signer);
      const operator = await admit(database);
      return guardRestored(database, operator, { ...restored, times: 1, isAlone: false });
    },
    { as: 'migrating' },
  );
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

function refuseForeign({ databaseUrl }: Settings, instead: string): void {
  if (databaseUrl !== undefined) {
    throw new BackupError(
      `DATABASE_URL is set, and this is for the PostgreSQL that comes with Tollgate: ${instead}`,
    );
  }
}
