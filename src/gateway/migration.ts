// The schema brought up to date, with what SQL alone cannot do: users of an earlier release are sealed in the transaction that brings
// the seals. Never later: a user without a seal is then one that nobody has added.
import { sealUsersOfEarlierRelease } from '../admin/users.js';
import { givePen, JournalPen } from '../journal/pen.js';
import type { Database, Queryable } from '../postgres/database.js';
import { MigrationError, migrate, SchemaForbidden } from '../postgres/migrations.js';
import { credentialKey, journalKey } from './callers.js';
import { openKeyProvider } from './key-encryption.js';
import { HAS_USERS } from './migration.sql.js';
import type { Settings } from './settings.js';

const SEALS = '0024_credentials.sql';
const MARKS = '0025_journal.sql';
const ACTOR = 'gateway:start';

export interface Migrated {
  /** The names of the migrations. */
  readonly applied: readonly string[];
  /** Users that were sealed with them. */
  readonly sealedUsers: readonly string[];
}

/** Where there are users of an earlier release, the key-encryption key is needed; otherwise it is not touched. */
export async function migrateDatabase(settings: Settings, database: Database): Promise<Migrated> {
  let sealedUsers: readonly string[] = [];
  const applying = migrate(database, async (names, connection) => {
    if (names.includes(SEALS) && (await hasUsers(connection))) {
      const provider = await openKeyProvider(settings, connection);
      if (names.includes(MARKS)) givePen(connection, new JournalPen(await journalKey(connection, provider)));
      sealedUsers = await sealUsersOfEarlierRelease(
        connection,
        ACTOR,
        await credentialKey(connection, provider),
      );
    }
  });
  const applied = await applying.catch((error: unknown) => {
    if (!(error instanceof SchemaForbidden)) throw error;
    const advice =
      'set TOLLGATE_MIGRATING_DATABASE_URL to the login that owns the database, or run `tollgate migrate` with that one';
    throw new MigrationError(`${error.message}; ${advice}`);
  });
  return { applied, sealedUsers };
}

async function hasUsers(connection: Queryable): Promise<boolean> {
  return (await connection.query(HAS_USERS)).count > 0;
}
