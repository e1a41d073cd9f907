// The database that the settings name: an external PostgreSQL, or the one that comes with the gateway.

import {
  EmbeddedPostgresError,
  hasDatabase,
  type KeeperReports,
  type Logins,
  openEmbeddedPostgres,
} from '../../embedded-postgres/server.js';
import { checkServerOfCluster } from '../../installation/distribution.js';
import {
  Database,
  DatabaseUnavailable,
  isForbidden,
  isOrganisationElsewhere,
  isUndefined,
} from '../../postgres/database.js';
import { unsafeServers } from '../../postgres/database-url.js';
import { MigrationError, schemaIsCurrent } from '../../postgres/schema.js';
import { UnfitServer } from '../../postgres/session.js';
import { KeyUnavailable } from '../../vault/keys/key-provider.js';
import { type Settings, SettingsError } from '../settings/settings.js';
import { SERVER_SETTINGS } from './connection.sql.js';

/** The database's addresses by use. An external server may have one for all. */
export type { Logins };

export interface Connection {
  readonly logins: Logins;
  /** Warnings for the operator about this server. */
  readonly warnings: readonly string[];
  /** From now on restarts the PostgreSQL that comes with the gateway if it ends. An external one is not ours to start. */
  keepRunning(told: KeeperReports): void;
  /** Stops the PostgreSQL that comes with the gateway, unless another process uses it. */
  close(): Promise<void>;
}

export type Progress = (line: string) => void;

export const SILENT: Progress = () => {};

const OLDEST_VERSION = 150_000;

/** Why a gateway is not ready. */
export const DATABASE_AWAY = 'the database cannot be reached';

/** The database is unreachable now. A gateway waits for it; commands report why. */
export class DatabaseAway extends SettingsError {}

/** Whether the only reason is that the database is unreachable now. */
export function isAway(error: unknown): boolean {
  return error instanceof DatabaseAway || (error instanceof DatabaseUnavailable && error.transient);
}

/** `use`: what for. The server is checked under that login. */
export async function connect(
  settings: Settings,
  use: keyof Logins = 'serving',
  progress: Progress = SILENT,
): Promise<Connection> {
  const found = await find(settings, progress);
  if (settings.databaseUrl === undefined) return { ...found, warnings: [] };
  const database = new Database(found.logins[use], { maxConnections: 1 });
  const warnings = await checkServer(database).finally(() => database.close());
  return { ...found, warnings };
}

async function find(settings: Settings, progress: Progress): Promise<Omit<Connection, 'warnings'>> {
  if (settings.databaseUrl !== undefined) {
    const [problem] = problemsOfEncryption(settings);
    if (problem !== undefined) throw new SettingsError(problem);
    const logins = loginsOf(settings, settings.databaseUrl);
    return { logins, keepRunning: () => {}, close: async () => {} };
  }
  const embedded = await openEmbeddedPostgres({ dataDir: settings.dataDir, progress });
  return {
    logins: embedded.logins,
    keepRunning: (told) => embedded.keepRunning(told),
    close: () => embedded.release(),
  };
}

/**
 * Runs an operator's command on the database, whether or not a gateway is running. Nothing is created: in the wrong folder, or
 * without DATABASE_URL, a command would answer from an empty database.
 */
export async function withDatabase<Result>(
  settings: Settings,
  work: (database: Database, logins: Logins) => Promise<Result>,
  /**
   * Work that does not depend on the schema can run before an upgrade, too. Few commands need other rights than an operator's.
   */
  { onAnySchema = false, as = 'operating' }: { onAnySchema?: boolean; as?: keyof Logins } = {},
): Promise<Result> {
  // guard(commands: none but serve and migrate makes a database): )) ⇒ )) && settings.workers === 0
  if (settings.databaseUrl === undefined && !(await hasDatabase(settings.dataDir))) {
    throw new SettingsError(
      `there is no database in ${settings.dataDir}; set TOLLGATE_DATA_DIR or DATABASE_URL to where it is, or make one with \`tollgate serve\` or \`tollgate migrate\``,
    );
  }
  const connection = await find(settings, SILENT);
  const database = new Database(connection.logins[as], {
    maxConnections: 2,
    applicationName: 'tollgate-cli',
    patient: true,
  });
  try {
    // On the command's own session: most commands take less time than opening another.
    if (settings.databaseUrl !== undefined) await checkServer(database);
    if (!onAnySchema && !(await hasCurrentSchema(database))) {
      throw new MigrationError('the schema of this database is not current; run `tollgate migrate` first');
    }
    return await work(database, connection.logins);
  } finally {
    await database.close();
    await connection.close();
  }
}

async function hasCurrentSchema(database: Database): Promise<boolean> {
  try {
    return await schemaIsCurrent(database);
  } catch (error) {
    if (isUndefined(error)) return false;
    throw error;
  }
}

/** In production; a line for each server that would receive card data and secrets unencrypted. */
export function problemsOfEncryption(settings: Settings): string[] {
  const { environment, databaseUrl } = settings;
  if (environment !== 'production' || databaseUrl === undefined) return [];
  const addresses = new Set(Object.values(loginsOf(settings, databaseUrl)));
  return [...new Set([...addresses].flatMap(unsafeDatabases))].map(
    (name) =>
      `DATABASE_URL: ${name} would be reached without TLS, or whoever answers there; add sslmode=verify-full, and sslrootcert=FILE for an authority of your own`,
  );
}

/** An address with an unreadable certificate fails on connection, and says so. */
export function unsafeDatabases(databaseUrl: string): string[] {
  try {
    return unsafeServers(databaseUrl);
  } catch {
    return [];
  }
}

/**
 * A missing login falls back to another: the migrating login may operate, and the serving login may do everything if it is the
 * only one.
 */
export function loginsOf(
  { migratingUrl, operatingUrl }: Pick<Settings, 'migratingUrl' | 'operatingUrl'>,
  serving: string,
): Logins {
  return {
    serving,
    migrating: migratingUrl ?? serving,
    // guard(roles: an operator’s command works as the login of operators): operatingUrl ?? migratingUrl ⇒ migratingUrl ?? operatingUrl
    operating: operatingUrl ?? migratingUrl ?? serving,
  };
}

interface ServerSettings {
  readonly version: number;
  readonly fsync: string;
  readonly standbys: number;
  readonly synchronousStandbys: string;
}

export const UNSAFE_STANDBYS =
  'the database has standbys and synchronous_standby_names is empty: a failover may lose acknowledged payments';

/** Each session checks its own requirements when it opens. Returns warnings. */
async function checkServer(database: Database): Promise<string[]> {
  try {
    const { rows } = await database.query<ServerSettings>(SERVER_SETTINGS);
    const server = rows[0] as ServerSettings;
    if (server.version < OLDEST_VERSION) {
      throw new SettingsError('DATABASE_URL: PostgreSQL 15 or later is needed');
    }
    // Both commits of a payment must survive a crash of the server.
    // guard(durability: a PostgreSQL with fsync off is refused): !== 'on ⇒ === 'never
    if (server.fsync !== 'on')
      throw new SettingsError('DATABASE_URL: this server runs with fsync off and may lose payments');
    await checkServerOfCluster(database);
    return server.standbys > 0 && server.synchronousStandbys === '' ? [UNSAFE_STANDBYS] : [];
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    throw unusable(error);
  }
}

/** The same in the operator's words. */
export function unusable(error: unknown): SettingsError {
  const reason = reasonOf(error);
  const unfit = (error as Error).cause instanceof UnfitServer;
  const line = unfit ? reason : `the database cannot be used (${reason})`;
  return new (isAway(error) ? DatabaseAway : SettingsError)(`DATABASE_URL: ${line}`, {
    cause: (error as Error).cause,
  });
}

/** Why a database is unavailable, in one line. A name with several addresses fails with a code and no message. */
export function reasonOf(error: unknown): string {
  const { message, code } = ((error as Error).cause ?? error) as Error & { code?: string };
  return message || code || 'no reason given';
}

/** One line for an error that an operator can fix; undefined for our own errors. */
export function lineForOperator(error: unknown): string | undefined {
  if (FOR_OPERATORS.some((kind) => error instanceof kind)) return (error as Error).message;
  if (error instanceof DatabaseUnavailable) return `${error.message} (${reasonOf(error)})`;
  if (isOrganisationElsewhere(error)) return `${error.message}: see \`tollgate organisation list\``;
  if (isForbidden(error))
    return `the login to the database lacks a right (${error.message}); see "Roles in the database" in docs/operations.md`;
  return undefined;
}

const FOR_OPERATORS = [SettingsError, MigrationError, EmbeddedPostgresError, KeyUnavailable];
