// The settings: environment variables, each validated before anything starts. A wrong one stops the start.
import { resolve } from 'node:path';
import { MOST_DAYS_KEPT } from '../../events/feed.js';
import { anchorFiles, type Destination } from '../../journal/anchor.js';
import { POINTS, type Point, REROUTED } from '../../payments/pipeline/create.js';
import { DatabaseUrlError, serversOf } from '../../postgres/database-url.js';
import { isLoopback, Networks } from '../../values/network.js';
import { DEFAULT_KEY_LIMITS, type KeyLimits } from '../../vault/keys/renewal.js';
import { readNetwork } from '../../webhooks/addresses.js';
import { MOST_LOG_DAYS } from '../../webhooks/attempts.js';
import type { OtlpSettings } from '../observability/span-export.js';
import { type KeyEncryption, readKeyEncryption, readPreviousKeyEncryption } from './key-settings.js';
import { type Environment, type OpenSecret, SettingsError, type Source, Variables } from './variables.js';
import {
  type ConsoleSettings,
  readConsole,
  readJournalAnchors,
  readOtlp,
  readPublicUrl,
} from './watching-settings.js';

export { SettingsError };

export interface Settings {
  /** Production refuses to start with anything unsafe for real payments. */
  readonly environment: 'development' | 'production';
  /** Undefined: the PostgreSQL that comes with the gateway, in the data directory. */
  readonly databaseUrl: string | undefined;
  /** If an external server has separate logins for migrations and for operators' commands. */
  readonly migratingUrl: string | undefined;
  readonly operatingUrl: string | undefined;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** The operators' listener. Undefined: none. */
  readonly console: ConsoleSettings | undefined;
  /** The listener of payers' pages. Undefined: none. */
  readonly checkout: { readonly host: string; readonly port: number } | undefined;
  /** Where browsers find those pages, without a trailing slash. Undefined: where they are listened for. */
  readonly checkoutUrl: string | undefined;
  /** After how long without activity a session on the console ends. */
  readonly sessionIdleMs: number;
  /** Undefined: the gateway speaks plain HTTP. */
  readonly tls: TlsSettings | undefined;
  /** Proxies whose word counts for a client's address: networks, separated by commas. */
  readonly trustedProxies: string | undefined;
  /** Where spans are exported. Undefined: nowhere. */
  readonly otlp: OtlpSettings | undefined;
  /** Where the end of the journal is kept outside of the database. */
  readonly journalAnchors: readonly Destination[];
  /** The files among them. */
  readonly journalAnchorFiles: readonly string[];
  /** Lists the cells of which this is one. */
  readonly fleet: Source | undefined;
  readonly demo: boolean;
  /** How many days of generated trade the demo starts with. */
  readonly demoDays: number;
  readonly logLevel: string;
  /** By which the console vouches for whoever runs a command. */
  readonly operatorToken: string | undefined;
  readonly acquirerDeadlineMs: number;
  readonly resolverIntervalMs: number;
  readonly resolverFirstPauseMs: number;
  readonly resolverLongestPauseMs: number;
  readonly processTimeoutMs: number;
  readonly correlationIdHours: number;
  readonly eventDays: number;
  /** Networks that webhooks may reach although they are not public. */
  readonly webhookNetworks: readonly string[];
  readonly webhookTimeoutMs: number;
  readonly webhookFirstPauseMs: number;
  readonly webhookLogDays: number;
  /** After this long, an unanswered database statement is given up. */
  readonly databaseTimeoutMs: number;
  readonly workers: number;
  readonly maxInFlight: number;
  readonly maxDelayMs: number;
  readonly maxConnections: number;
  readonly maxBatch: number;
  readonly userRequestsPerSecond: number;
  readonly failedLogInsPerSecond: number;
  readonly searchTimeoutMs: number;
  readonly simulatorLedger: string;
  readonly simulatorSlowMs: number;
  readonly keyEncryption: KeyEncryption;
  /** While one provider replaces another: the previous one. */
  readonly previousKeyEncryption: KeyEncryption | undefined;
  readonly dataKeyLimits: KeyLimits;
  /** Secret files that others than their owner and its group can read. */
  readonly openSecrets: readonly OpenSecret[];
  /** For crash tests: the process kills itself with SIGKILL when it passes this point for the nth time. */
  readonly crashAt: { readonly point: Point; readonly time: number } | undefined;
}

/** In PEM. */
export interface TlsSettings {
  readonly certificate: Source;
  readonly key: Source;
}

/** PCI DSS 8.2.8 allows no more. */
export const MOST_IDLE_MINUTES = 15;
const ENVIRONMENTS = ['development', 'production'] as const;

export function readSettings(environment: Environment = process.env): Settings {
  const variables = new Variables(environment);
  const settings = readAll(variables);
  // guard(settings: a misspelt name is refused): variables.refuseMisspelt(); ⇒
  variables.refuseMisspelt();
  return { ...settings, openSecrets: variables.openSecrets };
}

function readAll(variables: Variables): Omit<Settings, 'openSecrets'> {
  const databaseUrl = readDatabaseUrl(variables);
  const journalAnchors = readJournalAnchors(variables);
  const dataDir = resolve(variables.text('TOLLGATE_DATA_DIR') ?? 'data');
  const integer = (name: string, otherwise: number, least: number, most: number) =>
    variables.integer(`TOLLGATE_${name}`, otherwise, least, most);
  return {
    environment: variables.choice('TOLLGATE_ENVIRONMENT', ENVIRONMENTS, 'development'),
    databaseUrl,
    migratingUrl: readFurtherUrl(variables, 'TOLLGATE_MIGRATING_DATABASE_URL', databaseUrl),
    operatingUrl: readFurtherUrl(variables, 'TOLLGATE_OPERATING_DATABASE_URL', databaseUrl),
    dataDir,
    host: variables.text('TOLLGATE_HOST') ?? '127.0.0.1',
    port: integer('PORT', 8080, 0, 65_535),
    console: readConsole(variables),
    ...readCheckout(variables),
    sessionIdleMs: integer('CONSOLE_IDLE_MINUTES', MOST_IDLE_MINUTES, 1, 720) * 60_000,
    tls: readTls(variables),
    trustedProxies: readTrustedProxies(variables),
    otlp: readOtlp(variables),
    journalAnchors,
    journalAnchorFiles: anchorFiles(journalAnchors),
    fleet: variables.source('TOLLGATE_FLEET'),
    demo:
      variables.choice('TOLLGATE_DEMO', ['true', 'false'], databaseUrl === undefined ? 'true' : 'false') ===
      'true',
    demoDays: integer('DEMO_DAYS', 9, 0, 120),
    operatorToken: variables.text('TOLLGATE_OPERATOR_TOKEN'),
    logLevel: variables.choice('TOLLGATE_LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent'], 'info'),
    acquirerDeadlineMs: integer('ACQUIRER_DEADLINE_MS', 10_000, 50, 120_000),
    resolverIntervalMs: integer('RESOLVER_INTERVAL_MS', 1_000, 10, 60_000),
    resolverFirstPauseMs: integer('RESOLVER_FIRST_PAUSE_MS', 1_000, 1, 3_600_000),
    resolverLongestPauseMs: integer('RESOLVER_LONGEST_PAUSE_MS', 300_000, 1, 86_400_000),
    processTimeoutMs: integer('PROCESS_TIMEOUT_MS', 5_000, 1_500, 600_000),
    correlationIdHours: integer('CORRELATION_ID_HOURS', 24, 1, 8_760),
    eventDays: integer('EVENT_DAYS', 30, 1, MOST_DAYS_KEPT),
    webhookNetworks: readNetworks(variables),
    webhookTimeoutMs: integer('WEBHOOK_TIMEOUT_MS', 10_000, 100, 30_000),
    webhookFirstPauseMs: integer('WEBHOOK_FIRST_PAUSE_MS', 5_000, 1, 60_000),
    webhookLogDays: integer('WEBHOOK_LOG_DAYS', 7, 1, MOST_LOG_DAYS),
    databaseTimeoutMs: integer('DATABASE_TIMEOUT_MS', 4_000, 500, 60_000),
    workers: integer('WORKERS', 1, 1, 256),
    maxInFlight: integer('MAX_IN_FLIGHT', 5_000, 1, 1_000_000),
    maxDelayMs: integer('MAX_DELAY_MS', 1_000, 1, 60_000),
    maxConnections: integer('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    maxBatch: integer('MAX_BATCH', 256, 1, 5_000),
    userRequestsPerSecond: integer('USER_REQUESTS_PER_SECOND', 0, 0, 1_000_000),
    failedLogInsPerSecond: integer('FAILED_LOG_INS_PER_SECOND', 10, 0, 1_000_000),
    searchTimeoutMs: integer('SEARCH_TIMEOUT_MS', 2_000, 10, 15_000),
    simulatorLedger: resolve(
      variables.text('TOLLGATE_SIMULATOR_LEDGER') ?? `${dataDir}/simulator-ledger.ndjson`,
    ),
    simulatorSlowMs: integer('SIMULATOR_SLOW_MS', 2_000, 1, 120_000),
    keyEncryption: readKeyEncryption(variables),
    previousKeyEncryption: readPreviousKeyEncryption(variables),
    dataKeyLimits: {
      days: integer('DATA_KEY_DAYS', DEFAULT_KEY_LIMITS.days, 1, 3_650),
      seals: integer('DATA_KEY_SEALS', DEFAULT_KEY_LIMITS.seals, 1_000, 4_294_967_296),
    },
    crashAt: readCrashAt(variables),
  };
}

function readDatabaseUrl(variables: Variables, name = 'DATABASE_URL'): string | undefined {
  const url = variables.secret(name);
  try {
    if (url !== undefined) serversOf(url);
  } catch (error) {
    if (error instanceof DatabaseUrlError) throw new SettingsError(`${name} ${error.message}`);
    throw error;
  }
  return url;
}

/** The PostgreSQL that comes with the gateway has logins of its own. */
function readFurtherUrl(variables: Variables, name: string, url: string | undefined): string | undefined {
  const further = readDatabaseUrl(variables, name);
  if (further !== undefined && url === undefined)
    throw new SettingsError(`DATABASE_URL is needed with ${name}`);
  return further;
}

function readTls(variables: Variables): TlsSettings | undefined {
  const certificate = variables.source('TOLLGATE_TLS_CERTIFICATE');
  const key = variables.source('TOLLGATE_TLS_KEY');
  if (certificate === undefined && key === undefined) return undefined;
  if (key === undefined) throw new SettingsError('TOLLGATE_TLS_KEY is needed with TOLLGATE_TLS_CERTIFICATE');
  if (certificate === undefined)
    throw new SettingsError('TOLLGATE_TLS_CERTIFICATE is needed with TOLLGATE_TLS_KEY');
  return { certificate, key };
}

const DEFAULT_CHECKOUT_PORT = 8082;

/** Payers send their cards there. */
function readCheckout(variables: Variables): Pick<Settings, 'checkout' | 'checkoutUrl'> {
  const host = variables.text('TOLLGATE_CHECKOUT_HOST') ?? '127.0.0.1';
  const checkoutUrl = readPublicUrl(variables, 'TOLLGATE_CHECKOUT_URL', 'https://pay.example');
  if (variables.text('TOLLGATE_CHECKOUT_PORT') === 'off') return { checkout: undefined, checkoutUrl };
  const port = variables.integer('TOLLGATE_CHECKOUT_PORT', DEFAULT_CHECKOUT_PORT, 0, 65_535, 'off');
  // guard(settings: no pages for payers outside loopback without TLS): !isLoopback(host) && !variables.isSet('TOLLGATE_TLS_CERTIFICATE') ⇒ false
  if (!isLoopback(host) && !variables.isSet('TOLLGATE_TLS_CERTIFICATE'))
    throw new SettingsError(
      `TOLLGATE_CHECKOUT_HOST: card numbers would come to ${host} without TLS; set TOLLGATE_TLS_CERTIFICATE_FILE and TOLLGATE_TLS_KEY_FILE, or listen on 127.0.0.1 and put a proxy that speaks TLS in front`,
    );
  return { checkout: { host, port }, checkoutUrl };
}

function readTrustedProxies(variables: Variables): string | undefined {
  const text = variables.text('TOLLGATE_TRUSTED_PROXIES');
  if (text !== undefined && Networks.read(text) === undefined) {
    throw new SettingsError(
      'TOLLGATE_TRUSTED_PROXIES must be networks or addresses such as 10.1.0.0/16 or fd00::1, with commas between',
    );
  }
  return text;
}

function readNetworks(variables: Variables): string[] {
  const networks = (variables.text('TOLLGATE_WEBHOOK_NETWORKS') ?? '').split(',').map((each) => each.trim());
  const named = networks.filter((network) => network !== '');
  for (const network of named) {
    if (readNetwork(network) === undefined) {
      throw new SettingsError(
        'TOLLGATE_WEBHOOK_NETWORKS must be networks such as 10.1.0.0/16 or fd00::/8, with commas between',
      );
    }
  }
  return named;
}

function readCrashAt(variables: Variables): Settings['crashAt'] {
  const text = variables.text('TOLLGATE_CRASH_AT');
  if (text === undefined) return undefined;
  const [point, time = '1'] = text.split(':');
  const points: readonly Point[] = [...POINTS, REROUTED];
  const known = points.find((name) => name === point);
  if (known === undefined || !/^[1-9][0-9]{0,8}$/.test(time)) {
    throw new SettingsError(
      `TOLLGATE_CRASH_AT must be one of ${points.join(', ')}, and may end in a colon and a count`,
    );
  }
  return { point: known, time: Number(time) };
}
