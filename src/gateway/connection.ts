// The database that the settings name: somebody's PostgreSQL, or the one that comes with the gateway.

import { EmbeddedPostgresError, openEmbeddedPostgres } from '../embedded-postgres/server.js';
import { Database } from '../postgres/database.js';
import { MigrationError, migrate, schemaIsCurrent } from '../postgres/migrations.js';
import { UnfitServer } from '../postgres/session.js';
import { SERVER_SETTINGS } from './connection.sql.js';
import { type Settings, SettingsError } from './settings.js';

export interface Connection {
  readonly url: string;
  /** What the operator should know about this server. */
  readonly warnings: readonly string[];
  /** Stops the PostgreSQL that comes with the gateway, unless another process uses it. */
  close(): Promise<void>;
}

export type Progress = (line: string) => void;

export const SILENT: Progress = () => {};

const OLDEST_VERSION = 150_000;

export async function connect(settings: Settings, progress: Progress = SILENT): Promise<Connection> {
  if (settings.databaseUrl !== undefined) {
    const warnings = await checkServer(settings.databaseUrl);
    return { url: settings.databaseUrl, warnings, close: async () => {} };
  }
  const embedded = await openEmbeddedPostgres({ dataDir: settings.dataDir, progress });
  return { url: embedded.url, warnings: [], close: () => embedded.release() };
}

/** Runs an operator's command on the database. The gateway may be running meanwhile or not. */
export async function withDatabase<Result>(
  settings: Settings,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const connection = await connect(settings);
  const database = new Database(connection.url, {
    maxConnections: 2,
    applicationName: 'tollgate-cli',
    patient: true,
  });
  try {
    if (settings.databaseUrl === undefined) await migrate(database);
    else if (!(await schemaIsCurrent(database).catch(() => false))) {
      throw new MigrationError('the schema of this database is not current; run `tollgate migrate` first');
    }
    return await work(database);
  } finally {
    await database.close();
    await connection.close();
  }
}

interface ServerSettings {
  readonly version: number;
  readonly fsync: string;
  readonly standbys: number;
  readonly synchronousStandbys: string;
}

export const UNSAFE_STANDBYS =
  'the database has standbys and synchronous_standby_names is empty: a failover may lose acknowledged payments';

/** What every session has to be is checked when it is opened. Returns what is worth a warning. */
async function checkServer(url: string): Promise<string[]> {
  const database = new Database(url, { maxConnections: 1 });
  try {
    const { rows } = await database.query<ServerSettings>(SERVER_SETTINGS);
    const server = rows[0] as ServerSettings;
    if (server.version < OLDEST_VERSION) {
      throw new SettingsError('DATABASE_URL: PostgreSQL 15 or later is needed');
    }
    // Both commits of a payment must survive a crash of the server.
    if (server.fsync !== 'on')
      throw new SettingsError('DATABASE_URL: this server runs with fsync off and may lose payments');
    return server.standbys > 0 && server.synchronousStandbys === '' ? [UNSAFE_STANDBYS] : [];
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    if ((error as Error).cause instanceof UnfitServer)
      throw new SettingsError(`DATABASE_URL: ${reasonOf(error)}`);
    throw new SettingsError(`DATABASE_URL: the database cannot be used (${reasonOf(error)})`);
  } finally {
    await database.close();
  }
}

/** Why a database is not available, in one line. A name with several addresses fails with a code and no message. */
export function reasonOf(error: unknown): string {
  const { message, code } = ((error as Error).cause ?? error) as Error & { code?: string };
  return message || code || 'no reason given';
}

/** Errors whose message is meant for the operator. */
export function isForOperator(error: unknown): error is Error {
  return (
    error instanceof SettingsError ||
    error instanceof MigrationError ||
    error instanceof EmbeddedPostgresError
  );
}
