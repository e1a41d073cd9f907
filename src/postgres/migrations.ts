// Brings the schema up to date: numbered SQL files, forward only, each applied once, whoever starts first.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { type Database, isForbidden, isRaised, isUndefined, type Queryable } from './database.js';
import { APPLIED_MIGRATIONS, LOCK_MIGRATIONS, MIGRATION_TABLE, RECORD_MIGRATION } from './migrations.sql.js';

const FOLDER = new URL('../../migrations/', import.meta.url);

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

interface Applied {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

export class MigrationError extends Error {}

/** The login may not do what is missing. */
export class SchemaForbidden extends MigrationError {}

async function available(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, FOLDER), 'utf8');
      return {
        version: Number(name.slice(0, 4)),
        name,
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
      };
    }),
  );
}

async function missing(connection: Queryable): Promise<Migration[]> {
  const { rows } = await connection.query<Applied>(APPLIED_MIGRATIONS);
  const migrations = await available();
  for (const applied of rows) {
    const known = migrations.find((migration) => migration.version === applied.version);
    if (known === undefined) {
      throw new MigrationError(
        `the database has schema version ${applied.version}, which this release does not know`,
      );
    }
    if (known.checksum !== applied.checksum) {
      throw new MigrationError(`migration ${applied.name} was changed after it was applied`);
    }
  }
  return migrations.filter((migration) => !rows.some((applied) => applied.version === migration.version));
}

/**
 * Applies what is missing and returns the names of what was applied. What SQL alone cannot do is done in `afterwards`, in the same
 * transaction, where something was applied.
 */
export async function migrate(
  database: Database,
  afterwards: (applied: readonly string[], connection: Queryable) => Promise<void> = async () => {},
): Promise<string[]> {
  // A login that may not change the schema can find that it is current.
  if (await nothingMissing(database)) return [];
  const applying = database.transaction(async (connection) => {
    await connection.query(LOCK_MIGRATIONS);
    await database.script(connection, MIGRATION_TABLE);
    const migrations = await missing(connection);
    for (const { version, name, text, checksum } of migrations) {
      await database.script(connection, text).catch((error: unknown) => {
        throw isRaised(error) ? new MigrationError(`${name}: ${error.message}`) : error;
      });
      await connection.query(RECORD_MIGRATION, [version, name, checksum]);
    }
    const applied = migrations.map((migration) => migration.name);
    if (applied.length > 0) await afterwards(applied, connection);
    return applied;
  });
  return applying.catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    throw new SchemaForbidden(
      `the schema of this database is not current, and its login may not change it (${error.message})`,
    );
  });
}

async function nothingMissing(database: Database): Promise<boolean> {
  try {
    return (await missing(database)).length === 0;
  } catch (error) {
    if (isUndefined(error)) return false;
    throw error;
  }
}

let newestVersion: number | undefined;

/** Whether every migration of this release has been applied. */
export async function schemaIsCurrent(database: Database): Promise<boolean> {
  newestVersion ??= Math.max(...(await available()).map((migration) => migration.version));
  const { rows } = await database.query<Applied>(APPLIED_MIGRATIONS);
  return rows.some((applied) => applied.version === newestVersion);
}

/** The names of those that a start would apply. Throws for a schema that this release does not know. */
export async function missingMigrations(database: Database): Promise<string[]> {
  return (await missing(database)).map(({ name }) => name);
}
