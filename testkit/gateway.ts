// A gateway for tests: in this process, on a database of its own, with merchants and users to call it as.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { inject, onTestFinished } from 'vitest';
import type { AcquirerLink } from '../src/acquirers/contract.js';
import { type LedgerEntry, readLedger } from '../src/acquirers/simulator/ledger.js';
import { advanceClock } from '../src/clock/clock-tasks.js';
import { readCertificate } from '../src/gateway/certificate-watch.js';
import { openConsole } from '../src/gateway/console-site.js';
import { startGateway } from '../src/gateway/gateway.js';
import { openOperators } from '../src/gateway/operators.js';
import { readSettings, type Settings } from '../src/gateway/settings/settings.js';
import type { Site } from '../src/http/operators-listener.js';
import type { CredentialKey } from '../src/organisations/users/credentials.js';
import { Database } from '../src/postgres/database.js';
import { parseDuration } from '../src/values/time.js';
import { addCast, type Cast, type Credentials, credentialKeyOf, sealAll } from './cast.js';
import { CITUS_URL, dropCitusDatabase, makeCitusDatabase } from './citus.js';
import { type Client, client } from './client.js';
import { databaseUrl, dropDatabase } from './database-server.js';
import { administerHere } from './kept-session.js';

export { addCast, type Cast, type Credentials, credentialKeyOf } from './cast.js';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** The name shows which test run it belongs to, in case the run is interrupted. */
export function databaseName(suffix: string): string {
  return `${inject('template').replace('tollgate_template', 'tollgate_test')}_${suffix}`;
}

/** A database of one's own, with the current schema and nothing in it, or like another one. */
export async function testDatabase(template = inject('template')): Promise<TestDatabase> {
  const name = databaseName(Math.random().toString(36).slice(2));
  const adminUrl = inject('adminUrl');
  if (CITUS_URL !== undefined) {
    const url = await makeCitusDatabase(adminUrl, name, template);
    return { url, drop: () => dropCitusDatabase(adminUrl, name) };
  }
  // A copy of files takes a third of the time that PostgreSQL needs to log every page.
  const likeTemplate = `TEMPLATE ${template} STRATEGY file_copy`;
  await administerHere(adminUrl, `CREATE DATABASE ${name} ${likeTemplate}`);
  return {
    url: databaseUrl(adminUrl, name),
    drop: () => dropDatabase(adminUrl, name, administerHere),
  };
}

/** The roles of the login that serves and of the one that operates. */
export const LOGINS = ['tollgate_application', 'tollgate_operator'] as const;
type Login = (typeof LOGINS)[number];

export interface TestGateway extends Cast {
  /** Its users are sealed under it. */
  readonly credentialKey: CredentialKey;
  readonly settings: Settings;
  /** With its key-encryption key, for commands that need it. */
  readonly dataDir: string;
  readonly baseUrl: string;
  /** Where `/metrics` is. */
  readonly operatorsUrl: string;
  /** Where payers' pages are, if there are some. */
  readonly checkoutUrl: string | undefined;
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
  /** The same with the rights of one of the logins, as somebody has who knows its password. In one transaction. */
  sqlAs(login: Login, text: string, values?: unknown[]): Promise<void>;
  /** The same for what the journal seals: as though an operator had changed it, even to something that no command allows. */
  sqlSealed(text: string, values?: unknown[]): Promise<void>;
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

/** Of the prepared cast: the same in every copy. */
let preparedKey: CredentialKey | undefined;

async function credentialKeyAt(url: string, settings: Settings, isPrepared: boolean): Promise<CredentialKey> {
  if (isPrepared && preparedKey !== undefined) return preparedKey;
  const database = new Database(url, { maxConnections: 1 });
  const key = await credentialKeyOf(database, settings).finally(() => database.close());
  if (isPrepared) preparedKey = key;
  return key;
}

/** Whether settings tell of a key, or of a service that has it. */
function bringsKey(settings: TestGatewayOptions['settings'] = {}): boolean {
  return Object.keys(settings).some((name) => /KEY|VAULT|KMS/.test(name));
}

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
  // Prepared once, unless the gateway has a key of its own.
  const prepared = shareWith || bringsKey(options.settings) ? undefined : inject('preparedCast');
  const database = shareWith
    ? { url: shareWith.databaseUrl, drop: async () => {} }
    : await testDatabase(prepared?.template);
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-gateway-'));
  // One process must open what the other has sealed.
  const key = shareWith ? join(dirname(shareWith.ledgerPath), KEY_FILE) : prepared?.keyFile;
  if (key !== undefined) await copyFile(key, join(dataDir, KEY_FILE));
  const environment = Object.fromEntries(
    Object.entries({
      ACQUIRER_DEADLINE_MS: '1500',
      // A machine busy with many tests is slow: its database is not lost, and the gateway is not overloaded.
      DATABASE_TIMEOUT_MS: '15000',
      PROCESS_TIMEOUT_MS: '16000',
      MAX_DELAY_MS: '3000',
      // Hundreds of gateways are mostly idle: ten runs a second took half of their CPU time.
      RESOLVER_INTERVAL_MS: '500',
      RESOLVER_FIRST_PAUSE_MS: '50',
      // Most tests with wrong credentials are not about how soon they are answered.
      FAILED_LOG_INS_PER_SECOND: '0',
      // Few tests are about payers' pages.
      CHECKOUT_PORT: 'off',
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
  const { owner, colleague, stranger } =
    shareWith ?? prepared?.cast ?? (await addCast(database.url, settings));
  const cast: Cast = { owner, colleague, stranger };
  const furtherLinks = options.acquirers ?? [];
  const certificate = await readCertificate(settings);
  const gateway = await startGateway({ settings, databaseUrl: database.url, certificate, log, furtherLinks });
  const operators = await openOperators(settings, certificate, log);
  operators?.show(gateway);
  // Opened on demand: most tests do not need it.
  let consoleSite: ReturnType<typeof openConsole> | undefined;
  let opened: Awaited<typeof consoleSite>;
  const answer: Site['answer'] = async (request, response) => {
    consoleSite ??= openConsole({
      settings,
      operatingUrl: database.url,
      log,
      checkoutUrl: gateway.checkoutUrl,
      figures: () => gateway.figures(),
    });
    opened = await consoleSite;
    opened?.site.answer(request, response);
  };
  operators?.serve({ answer }, () => opened?.figures() ?? {});
  const tls = certificate && { trusted: certificate.pair.certificate, connectionPerRequest: true };
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => {});
  // For the clock, which most tests do not move, and some move often.
  let moving: Database | undefined;
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await gateway.close();
    await operators?.close();
    await (await consoleSite)?.close();
    await Promise.all([pool.end(), moving?.close()]);
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    onTestFinished(close);
  } catch {
    // Outside a test the caller closes it.
  }
  return {
    ...cast,
    credentialKey: await credentialKeyAt(database.url, settings, prepared !== undefined),
    settings,
    dataDir,
    baseUrl: gateway.baseUrl,
    operatorsUrl: operators?.url ?? '',
    checkoutUrl: gateway.checkoutUrl,
    databaseUrl: database.url,
    ledgerPath: settings.simulatorLedger,
    trusted: tls?.trusted,
    api: client(gateway.baseUrl, cast.owner, tls),
    as: (credentials) => client(gateway.baseUrl, credentials, tls),
    logged: () => lines.join(''),
    ledger: () => wholeLedger(settings.simulatorLedger),
    sql: async (text, values) => (await pool.query(text, values)).rows,
    sqlAs: async (login, text, values) => {
      const session = await pool.connect();
      try {
        await session.query(`SET ROLE ${login}`);
        await session.query(text, values);
      } finally {
        await session.query('RESET ROLE').finally(() => session.release());
      }
    },
    sqlSealed: async (text, values) => {
      await pool.query(text, values);
      await sealAll({ databaseUrl: database.url, settings });
    },
    advance: async (duration) => {
      moving ??= new Database(database.url, { maxConnections: 1 });
      await advanceClock(moving, 'operator:test', parseDuration(duration) as number);
    },
    close,
  };
}
