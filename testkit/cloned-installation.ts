// The things that several gateway processes of a test share: a clone of the test run's database, the simulated acquirer's
// ledger, and a user.
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, inject } from 'vitest';
import type { LedgerEntry } from '../src/acquirers/simulator/ledger.js';
import { readSettings } from '../src/gateway/settings/settings.js';
import { type Client, client, type Json } from './client.js';
import { addCast, type Credentials, testDatabase, wholeLedger } from './gateway.js';
import {
  dataDirectory,
  type Environment,
  type GatewayProcess,
  startGatewayProcess,
} from './gateway-process.js';
import { asEnvironment } from './project.js';

export interface Installation {
  readonly databaseUrl: string;
  /** With the key-encryption key, which all processes on this database need. */
  readonly dataDir: string;
  /** Whom `api` calls as. */
  readonly owner: Credentials;
  /** Starts a gateway process. Settings without the prefix TOLLGATE_. */
  start(settings?: Environment): Promise<InstalledGateway>;
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  ledger(): Promise<LedgerEntry[]>;
  /** The acquirer's entries for one transaction's reference. */
  ledgerOf(audit: number): Promise<LedgerEntry[]>;
}

export interface InstalledGateway extends GatewayProcess {
  readonly api: Client;
}

const left: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const remove of left) await remove();
});

export async function installation(): Promise<Installation> {
  const prepared = inject('preparedCast');
  const database = await testDatabase(prepared?.template);
  const dataDir = await dataDirectory();
  if (prepared) await copyFile(prepared.keyFile, join(dataDir, 'key-encryption-key'));
  const cast = prepared?.cast ?? (await addCast(database.url, readSettings({ TOLLGATE_DATA_DIR: dataDir })));
  const ledgerPath = join(dataDir, 'ledger.ndjson');
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => {});
  left.push(async () => {
    await pool.end();
    await database.drop();
  });
  const [gateway] = (await pool.query('SELECT installation FROM gateway')).rows;
  const ledger = () => wholeLedger(ledgerPath);
  const referenceOf = (audit: number) => `${gateway.installation}-1-${audit}`;
  return {
    databaseUrl: database.url,
    dataDir,
    owner: cast.owner,
    start: (settings) => startInstalled(database.url, ledgerPath, cast.owner, settings),
    sql: async (text, values) => (await pool.query(text, values)).rows,
    ledger,
    ledgerOf: async (audit) => (await ledger()).filter(({ reference }) => reference === referenceOf(audit)),
  };
}

async function startInstalled(
  databaseUrl: string,
  ledgerPath: string,
  owner: Credentials,
  settings: Environment = {},
): Promise<InstalledGateway> {
  const { DATABASE_URL = databaseUrl, ...others } = settings;
  const gateway = await startGatewayProcess({
    DATABASE_URL,
    TOLLGATE_SIMULATOR_LEDGER: ledgerPath,
    // Processes that share a database share the key that its card data is sealed under.
    TOLLGATE_DATA_DIR: dirname(ledgerPath),
    TOLLGATE_RESOLVER_INTERVAL_MS: '50',
    TOLLGATE_RESOLVER_FIRST_PAUSE_MS: '50',
    TOLLGATE_PROCESS_TIMEOUT_MS: '5000',
    // Requests stay in flight long enough for a busy machine to see it.
    TOLLGATE_SIMULATOR_SLOW_MS: '6000',
    // A machine busy with many tests is slow, but the gateway is not overloaded.
    TOLLGATE_MAX_DELAY_MS: '3000',
    ...asEnvironment(others),
  });
  return { ...gateway, api: client(gateway.baseUrl, owner) };
}

/** Looks a transaction up by its correlation ID until its outcome is known. Undefined if there is none. */
export async function outcomeOf(api: Client, correlationId: string): Promise<Json | undefined> {
  const { status, body } = await api.search(correlationId);
  expect(status).toBe(200);
  const [found] = body.results;
  return found === undefined ? undefined : api.decided(found.audit);
}
