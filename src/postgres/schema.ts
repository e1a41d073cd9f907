// The schema. A new database gets all of schema/; an existing database is brought up to date by migrations/: numbered SQL files, forward
// only, each applied once by the process that starts first. A test checks that both give the same schema.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { type Database, isForbidden, isRaised, isUndefined, type Queryable } from './database.js';
import { APPLIED_MIGRATIONS, LOCK_SCHEMA, MIGRATION_TABLE, RECORD_MIGRATION } from './schema.sql.js';

const SCHEMA = new URL('../../schema/', import.meta.url);
const MIGRATIONS = new URL('../../migrations/', import.meta.url);

/** The name under which the whole schema is recorded, in place of a migration. */
const WHOLE = 'schema';

/** Migrations start after this version. The digest is of the 42 earlier migrations, which are gone. */
const FIRST_VERSION = 45;
const ADOPTED = 'f565323bd414ed7c4d974dd666a11f8c1b0c0f7d42641bf18492bc08f9e0ffb4';

interface Applied {
  readonly version: number;
  /** The file's name, or `schema`. */
  readonly name: string;
  readonly checksum: string;
}

interface Migration extends Applied {
  readonly text: string;
}

export interface BroughtUpToDate {
  readonly version: number;
  /** The names of the migrations, or `schema` for a new database. */
  readonly applied: readonly string[];
}

export class MigrationError extends Error {}

async function migrationsOfThisRelease(): Promise<Migration[]> {
  const names = (await readdir(MIGRATIONS)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, MIGRATIONS), 'utf8');
      return { version: Number(name.slice(0, 4)), name, text, checksum: digestOf(text) };
    }),
  );
}

async function wholeSchema(): Promise<Migration> {
  const names = (await readdir(SCHEMA)).filter((name) => name.endsWith('.sql')).sort();
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, SCHEMA), 'utf8')));
  const text = texts.join('\n');
  return { version: await newestVersion(), name: WHOLE, text, checksum: digestOf(text) };
}

async function newestVersion(): Promise<number> {
  return (await migrationsOfThisRelease()).at(-1)?.version ?? FIRST_VERSION;
}

async function missing(connection: Queryable): Promise<Migration[]> {
  const { rows: applied } = await connection.query<Applied>(APPLIED_MIGRATIONS);
  if (applied.length === 0) return [await wholeSchema()];
  const migrations = await migrationsOfThisRelease();
  const newest = Math.max(...applied.map(({ version }) => version));
  if (newest > (await newestVersion())) {
    throw new MigrationError(`the database has schema version ${newest}, which this release does not know`);
  }
  const begun = versionBegunWith(applied);
  for (const { version, name, checksum } of applied.filter((one) => one.version > begun)) {
    if (migrations.find((migration) => migration.version === version)?.checksum !== checksum) {
      throw new MigrationError(`migration ${name} was changed after it was applied`);
    }
  }
  return migrations.filter(
    ({ version }) => version > begun && !applied.some((one) => one.version === version),
  );
}

/** The version after which migrations apply. */
function versionBegunWith(applied: readonly Applied[]): number {
  const whole = applied.find(({ name }) => name === WHOLE);
  if (whole !== undefined) return whole.version;
  const earlier = applied.filter(({ version }) => version <= FIRST_VERSION);
  if (digestOf(earlier.map(({ version, checksum }) => `${version} ${checksum}`).join('\n')) !== ADOPTED) {
    const version = Math.max(0, ...earlier.map((one) => one.version));
    throw new MigrationError(
      `the database has schema version ${version} from before the first release: only an unchanged version ${FIRST_VERSION} can be migrated`,
    );
  }
  return FIRST_VERSION;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Creates the schema, or applies the missing migrations. */
export async function migrate(database: Database): Promise<BroughtUpToDate> {
  const version = await newestVersion();
  // A login that may not change the schema can still find that it is current.
  if ((await missingMigrations(database)).length === 0) return { version, applied: [] };
  const applying = database.transaction(async (connection) => {
    await connection.query(LOCK_SCHEMA);
    await database.script(connection, MIGRATION_TABLE);
    const migrations = await missing(connection);
    for (const { version: reached, name, text, checksum } of migrations) {
      await database.script(connection, text).catch((error: unknown) => {
        throw isRaised(error) ? new MigrationError(`${name}: ${error.message}`) : error;
      });
      await connection.query(RECORD_MIGRATION, [reached, name, checksum]);
    }
    return migrations.map(({ name }) => name);
  });
  const applied = await applying.catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    throw new MigrationError(
      `the schema of this database is not current, and its login may not change it (${error.message}); set TOLLGATE_MIGRATING_DATABASE_URL to the login that owns the database, or run \`tollgate migrate\` with that one`,
    );
  });
  return { version, applied };
}

let current: number | undefined;

/** Whether the database has the schema of this release. */
export async function schemaIsCurrent(database: Database): Promise<boolean> {
  current ??= await newestVersion();
  const { rows } = await database.query<Applied>(APPLIED_MIGRATIONS);
  return rows.some(({ version }) => version === current);
}

/** The names of the migrations that a start would apply. Throws if this release does not know the schema. */
export async function missingMigrations(database: Database): Promise<string[]> {
  try {
    return (await missing(database)).map(({ name }) => name);
  } catch (error) {
    if (isUndefined(error)) return [WHOLE];
    throw error;
  }
}
