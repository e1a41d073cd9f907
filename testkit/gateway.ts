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
import { startGateway } from '../src/gateway/gateway.js';
import { readSettings } from '../src/gateway/settings.js';
import { Database } from '../src/postgres/database.js';
import { parseDuration } from '../src/values/duration.js';
import { type Client, client } from './client.js';
import { administer, databaseUrl, dropDatabase } from './database-server.js';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A database of one's own, with the current schema and nothing in it. */
export async function testDatabase(): Promise<TestDatabase> {
  const name = `tollgate_test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const adminUrl = inject('adminUrl');
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

export async function addCast(databaseUrl: string): Promise<Cast> {
  const database = new Database(databaseUrl, { maxConnections: 1 });
  try {
    const ours = await addOrganisation(database, 'operator:test', 'Ours');
    for (const vault of [true, true, false])
      await addMerchant(database, 'operator:test', ours.id, 'Ours', { vault });
    const theirs = await addOrganisation(database, 'operator:test', 'Theirs');
    await addMerchant(database, 'operator:test', theirs.id, 'Theirs', { vault: true });
    return {
      owner: await addUser(database, 'operator:test', 'owner', { merchant: 1, grants: [2, 3] }),
      colleague: await addUser(database, 'operator:test', 'colleague', { merchant: 2 }),
      stranger: await addUser(database, 'operator:test', 'stranger', { merchant: 4 }),
    };
  } finally {
    await database.close();
  }
}

export interface TestGateway extends Cast {
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly ledgerPath: string;
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
  const { owner, colleague, stranger } = shareWith ?? (await addCast(database.url));
  const cast: Cast = { owner, colleague, stranger };
  // What one process has sealed, the other must open.
  if (shareWith) await copyFile(join(dirname(shareWith.ledgerPath), KEY_FILE), join(dataDir, KEY_FILE));
  const environment = Object.fromEntries(
    Object.entries({
      ACQUIRER_DEADLINE_MS: '400',
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
    }).map(([name, value]) => [`TOLLGATE_${name}`, value]),
  );
  const lines: string[] = [];
  const log = pino({ level: 'debug', base: null }, { write: (line: string) => void lines.push(line) });
  const settings = readSettings(environment);
  const furtherLinks = options.acquirers ?? [];
  const gateway = await startGateway({ settings, databaseUrl: database.url, log, furtherLinks });
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => {});
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await gateway.close();
    await pool.end();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    onTestFinished(close);
  } catch {
    // Not inside a test: whoever called closes it.
  }
  return {
    ...cast,
    baseUrl: gateway.baseUrl,
    databaseUrl: database.url,
    ledgerPath: settings.simulatorLedger,
    api: client(gateway.baseUrl, cast.owner),
    as: (credentials) => client(gateway.baseUrl, credentials),
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
