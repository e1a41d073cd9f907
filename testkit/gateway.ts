// A gateway for tests: in this process, on a database of its own, with merchants and users to call it as.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { inject, onTestFinished } from 'vitest';
import type { AcquirerLink } from '../src/acquirers/contract.js';
import { type LedgerEntry, readLedger } from '../src/acquirers/simulator/ledger.js';
import { advanceClock } from '../src/admin/clock.js';
import { addMerchant } from '../src/admin/merchants.js';
import { addOrganisation } from '../src/admin/organisations.js';
import { addUser } from '../src/admin/users.js';
import { credentialKey, journalKey } from '../src/gateway/callers.js';
import { readCertificate } from '../src/gateway/certificate-watch.js';
import { openConsole } from '../src/gateway/console-site.js';
import { startGateway } from '../src/gateway/gateway.js';
import { openKeyProvider } from '../src/gateway/key-encryption.js';
import { openOperators } from '../src/gateway/operators.js';
import { readSettings, type Settings } from '../src/gateway/settings.js';
import { givePen, JournalPen } from '../src/journal/pen.js';
import type { CredentialKey } from '../src/merchants/credentials.js';
import { Database } from '../src/postgres/database.js';
import { parseDuration } from '../src/values/duration.js';
import { CITUS_URL, dropCitusDatabase, makeCitusDatabase } from './citus.js';
import { type Client, client } from './client.js';
import { administer, databaseUrl, dropDatabase } from './database-server.js';
import { dataDirectory } from './gateway-process.js';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A database of one's own, with the current schema and nothing in it. */
export async function testDatabase(): Promise<TestDatabase> {
  const name = `tollgate_test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const adminUrl = inject('adminUrl');
  if (CITUS_URL !== undefined) {
    const url = await makeCitusDatabase(adminUrl, name, inject('template'));
    return { url, drop: () => dropCitusDatabase(adminUrl, name) };
  }
  // As a copy of files, it is made in a third of the time that PostgreSQL needs to log every page of it.
  const likeTemplate = `TEMPLATE ${inject('template')} STRATEGY file_copy`;
  await administer(adminUrl, `CREATE DATABASE ${name} ${likeTemplate}`);
  return {
    url: databaseUrl(adminUrl, name),
    drop: () => dropDatabase(adminUrl, name),
  };
}

/** Merchants 1 and 2 (vault) and 3 (no vault) of one organisation, merchant 4 of another. */
export interface Cast {
  /** Assigned to merchant 1, granted 2 and 3. */
  readonly owner: Credentials;
  /** Of the same organisation; assigned to merchant 2 and granted nothing. */
  readonly colleague: Credentials;
  /** Of another organisation; assigned to merchant 4. */
  readonly stranger: Credentials;
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Somebody to call a gateway as that has these settings: its users are sealed under its key-encryption key. */
export async function addCast(databaseUrl: string, settings?: Settings): Promise<Cast> {
  const database = new Database(databaseUrl, { maxConnections: 1 });
  const key = await credentialKeyOf(database, settings);
  try {
    const ours = await addOrganisation(database, 'operator:test', 'Ours');
    for (const vault of [true, true, false])
      await addMerchant(database, 'operator:test', ours.id, 'Ours', { vault });
    const theirs = await addOrganisation(database, 'operator:test', 'Theirs');
    await addMerchant(database, 'operator:test', theirs.id, 'Theirs', { vault: true });
    return {
      owner: await addUser(database, 'operator:test', key, 'owner', { merchant: 1, grants: [2, 3] }),
      colleague: await addUser(database, 'operator:test', key, 'colleague', { merchant: 2 }),
      stranger: await addUser(database, 'operator:test', key, 'stranger', { merchant: 4 }),
    };
  } finally {
    await database.close();
  }
}

/** The key that the users of this database are sealed under, by the settings of its gateway. */
export async function credentialKeyOf(database: Database, settings?: Settings): Promise<CredentialKey> {
  const own = settings ?? readSettings({ TOLLGATE_DATA_DIR: await dataDirectory() });
  const provider = await openKeyProvider(own, database);
  givePen(database, new JournalPen(await journalKey(database, provider)));
  return credentialKey(database, provider);
}

export interface TestGateway extends Cast {
  /** Its users are sealed under it. */
  readonly credentialKey: CredentialKey;
  readonly settings: Settings;
  /** With its key-encryption key, for commands that need it. */
  readonly dataDir: string;
  readonly baseUrl: string;
  /** Where `/metrics` is. */
  readonly operatorsUrl: string;
  readonly databaseUrl: string;
  readonly ledgerPath: string;
  /** The certificate that it shows, where it speaks TLS. */
  readonly trusted: string | undefined;
  /** Calls as `owner`. */
  readonly api: Client;
  as(credentials: Credentials): Client;
  /** Everything that was logged, as text. */
  logged(): string;
  ledger(): Promise<LedgerEntry[]>;
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Moves the gateway's clock, for example by `3d`. */
  advance(duration: string): Promise<void>;
  close(): Promise<void>;
}

export async function wholeLedger(path: string): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const entry of readLedger(path)) entries.push(entry);
  return entries;
}

const KEY_FILE = 'key-encryption-key';

export interface TestGatewayOptions {
  /** As environment variables, without the prefix TOLLGATE_. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly acquirers?: readonly AcquirerLink[];
  /** A second process of this gateway: on the same database and ledger. Close it before the first. */
  readonly shareWith?: TestGateway;
}

/** Starts a gateway. In a test it ends with the test; in `beforeAll`, close it in `afterAll`. */
export async function testGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { shareWith } = options;
  const database = shareWith ? { url: shareWith.databaseUrl, drop: async () => {} } : await testDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-gateway-'));
  // What one process has sealed, the other must open.
  if (shareWith) await copyFile(join(dirname(shareWith.ledgerPath), KEY_FILE), join(dataDir, KEY_FILE));
  const environment = Object.fromEntries(
    Object.entries({
      ACQUIRER_DEADLINE_MS: '1500',
      // A machine that is busy with many tests is slow: its database is not gone, and the gateway has not too much to do.
      DATABASE_TIMEOUT_MS: '15000',
      MAX_DELAY_MS: '3000',
      RESOLVER_INTERVAL_MS: '100',
      RESOLVER_FIRST_PAUSE_MS: '50',
      // Most tests with wrong credentials are not about how soon they are answered.
      FAILED_LOG_INS_PER_SECOND: '0',
      ...(shareWith && { SIMULATOR_LEDGER: shareWith.ledgerPath }),
      ...options.settings,
      DATA_DIR: dataDir,
      PORT: '0',
      CONSOLE_PORT: '0',
    }).map(([name, value]) => [`TOLLGATE_${name}`, value]),
  );
  const lines: string[] = [];
  const log = pino({ level: 'debug', base: null }, { write: (line: string) => void lines.push(line) });
  const settings = readSettings(environment);
  const { owner, colleague, stranger } = shareWith ?? (await addCast(database.url, settings));
  const cast: Cast = { owner, colleague, stranger };
  const furtherLinks = options.acquirers ?? [];
  const certificate = await readCertificate(settings);
  const gateway = await startGateway({ settings, databaseUrl: database.url, certificate, log, furtherLinks });
  const operators = await openOperators(settings, certificate);
  operators?.show(gateway);
  // Opened when somebody looks: most tests do not.
  let consoleSite: ReturnType<typeof openConsole> | undefined;
  operators?.serve({
    answer: async (request, response) => {
      consoleSite ??= openConsole({
        settings,
        operatingUrl: database.url,
        servingUrl: database.url,
        log,
        figures: () => gateway.figures(),
      });
      await (await consoleSite)?.site.answer(request, response);
    },
  });
  const tls = certificate && { trusted: certificate.pair.certificate, connectionPerRequest: true };
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => {});
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await gateway.close();
    await operators?.close();
    await (await consoleSite)?.close();
    await pool.end();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    onTestFinished(close);
  } catch {
    // Not inside a test: whoever called closes it.
  }
  const own = new Database(database.url, { maxConnections: 1 });
  const key = await credentialKeyOf(own, settings).finally(() => own.close());
  return {
    ...cast,
    credentialKey: key,
    settings,
    dataDir,
    baseUrl: gateway.baseUrl,
    operatorsUrl: operators?.url ?? '',
    databaseUrl: database.url,
    ledgerPath: settings.simulatorLedger,
    trusted: tls?.trusted,
    api: client(gateway.baseUrl, cast.owner, tls),
    as: (credentials) => client(gateway.baseUrl, credentials, tls),
    logged: () => lines.join(''),
    ledger: () => wholeLedger(settings.simulatorLedger),
    sql: async (text, values) => (await pool.query(text, values)).rows,
    advance: async (duration) => {
      const ours = new Database(database.url, { maxConnections: 1 });
      await advanceClock(ours, 'operator:test', parseDuration(duration) as number).finally(() =>
        ours.close(),
      );
    },
    close,
  };
}
