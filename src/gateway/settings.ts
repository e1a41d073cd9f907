// The settings: environment variables, each checked before anything is started. A wrong one stops the start.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { MOST_DAYS_KEPT } from '../events/retention.js';
import { DatabaseUrlError, serversOf } from '../postgres/database-url.js';
import { POINTS, type Point, REROUTED } from '../transactions/create.js';
import type { TransitOptions } from '../vault/transit-keys.js';
import { readNetwork } from '../webhooks/addresses.js';
import { MOST_LOG_DAYS } from '../webhooks/attempts.js';

export class SettingsError extends Error {}

export interface Settings {
  /** Production refuses to start with what real payments must not have. */
  readonly environment: 'development' | 'production';
  /** Undefined: the PostgreSQL that comes with the gateway, in the data directory. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly demo: boolean;
  readonly logLevel: string;
  readonly acquirerDeadlineMs: number;
  readonly resolverIntervalMs: number;
  readonly resolverFirstPauseMs: number;
  readonly resolverLongestPauseMs: number;
  readonly processTimeoutMs: number;
  readonly correlationIdHours: number;
  readonly eventDays: number;
  /** Where webhooks may go although it is not public. */
  readonly webhookNetworks: readonly string[];
  readonly webhookTimeoutMs: number;
  readonly webhookFirstPauseMs: number;
  readonly webhookLogDays: number;
  /** After so long a database that does not answer is given up. */
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
  readonly keyEncryption: KeyEncryption;
  /** For crash tests: the process ends itself with SIGKILL when it passes this point for the nth time. */
  readonly crashAt: { readonly point: Point; readonly time: number } | undefined;
}

/** Who wraps the data keys. */
export type KeyEncryption =
  | { readonly provider: 'file' }
  | { readonly provider: 'environment'; readonly keys: string }
  | ({ readonly provider: 'vault-transit' } & TransitOptions);

const ENVIRONMENTS = ['development', 'production'] as const;

type Environment = Readonly<Record<string, string | undefined>>;

export function readSettings(environment: Environment = process.env): Settings {
  const databaseUrl = readDatabaseUrl(environment);
  const dataDir = resolve(read(environment, 'TOLLGATE_DATA_DIR') ?? 'data');
  const integer = (name: string, otherwise: number, least: number, most: number) =>
    readInteger(environment, `TOLLGATE_${name}`, otherwise, least, most);
  return {
    environment: readChoice(environment, 'TOLLGATE_ENVIRONMENT', ENVIRONMENTS, 'development'),
    databaseUrl,
    dataDir,
    host: read(environment, 'TOLLGATE_HOST') ?? '127.0.0.1',
    port: integer('PORT', 8080, 0, 65_535),
    demo:
      readChoice(
        environment,
        'TOLLGATE_DEMO',
        ['true', 'false'],
        databaseUrl === undefined ? 'true' : 'false',
      ) === 'true',
    logLevel: readChoice(
      environment,
      'TOLLGATE_LOG_LEVEL',
      ['debug', 'info', 'warn', 'error', 'silent'],
      'info',
    ),
    acquirerDeadlineMs: integer('ACQUIRER_DEADLINE_MS', 10_000, 50, 120_000),
    resolverIntervalMs: integer('RESOLVER_INTERVAL_MS', 1_000, 10, 60_000),
    resolverFirstPauseMs: integer('RESOLVER_FIRST_PAUSE_MS', 1_000, 1, 3_600_000),
    resolverLongestPauseMs: integer('RESOLVER_LONGEST_PAUSE_MS', 300_000, 1, 86_400_000),
    processTimeoutMs: integer('PROCESS_TIMEOUT_MS', 5_000, 1_500, 600_000),
    correlationIdHours: integer('CORRELATION_ID_HOURS', 24, 1, 8_760),
    eventDays: integer('EVENT_DAYS', 30, 1, MOST_DAYS_KEPT),
    webhookNetworks: readNetworks(environment),
    webhookTimeoutMs: integer('WEBHOOK_TIMEOUT_MS', 10_000, 100, 30_000),
    webhookFirstPauseMs: integer('WEBHOOK_FIRST_PAUSE_MS', 5_000, 1, 60_000),
    webhookLogDays: integer('WEBHOOK_LOG_DAYS', 7, 1, MOST_LOG_DAYS),
    databaseTimeoutMs: integer('DATABASE_TIMEOUT_MS', 4_000, 500, 60_000),
    workers: integer('WORKERS', 1, 1, 256),
    maxInFlight: integer('MAX_IN_FLIGHT', 5_000, 1, 1_000_000),
    maxDelayMs: integer('MAX_DELAY_MS', 200, 1, 60_000),
    maxConnections: integer('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    maxBatch: integer('MAX_BATCH', 256, 1, 5_000),
    userRequestsPerSecond: integer('USER_REQUESTS_PER_SECOND', 0, 0, 1_000_000),
    failedLogInsPerSecond: integer('FAILED_LOG_INS_PER_SECOND', 10, 0, 1_000_000),
    searchTimeoutMs: integer('SEARCH_TIMEOUT_MS', 2_000, 10, 15_000),
    simulatorLedger: resolve(
      read(environment, 'TOLLGATE_SIMULATOR_LEDGER') ?? `${dataDir}/simulator-ledger.ndjson`,
    ),
    keyEncryption: readKeyEncryption(environment),
    crashAt: readCrashAt(environment),
  };
}

function readDatabaseUrl(environment: Environment): string | undefined {
  const url = read(environment, 'DATABASE_URL');
  try {
    if (url !== undefined) serversOf(url);
  } catch (error) {
    if (error instanceof DatabaseUrlError) throw new SettingsError(`DATABASE_URL ${error.message}`);
    throw error;
  }
  return url;
}

/** The variable itself, or the content of the file that `…_FILE` names; an empty one is as good as none. */
function read(environment: Environment, name: string): string | undefined {
  const value = environment[name];
  const file = environment[`${name}_FILE`];
  if (value !== undefined && value !== '' && file)
    throw new SettingsError(`${name} and ${name}_FILE are both set`);
  if (!file) return value === '' ? undefined : value;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new SettingsError(
      `${name}_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`,
    );
  }
}

function readInteger(
  environment: Environment,
  name: string,
  otherwise: number,
  least: number,
  most: number,
): number {
  const text = read(environment, name);
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value < least || value > most) {
    throw new SettingsError(`${name} must be a whole number from ${least} to ${most}`);
  }
  return value;
}

function readChoice<Choice extends string>(
  environment: Environment,
  name: string,
  choices: readonly Choice[],
  otherwise: NoInfer<Choice>,
): Choice {
  const text = read(environment, name) ?? otherwise;
  const chosen = choices.find((choice) => choice === text);
  if (chosen === undefined) throw new SettingsError(`${name} must be one of ${choices.join(', ')}`);
  return chosen;
}

function readNetworks(environment: Environment): string[] {
  const networks = (read(environment, 'TOLLGATE_WEBHOOK_NETWORKS') ?? '')
    .split(',')
    .map((each) => each.trim());
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

function readKeyEncryption(environment: Environment): KeyEncryption {
  const keys = read(environment, 'TOLLGATE_KEY_ENCRYPTION_KEY');
  const otherwise = keys === undefined ? 'file' : 'environment';
  const provider = readChoice(
    environment,
    'TOLLGATE_KEY_PROVIDER',
    ['file', 'environment', 'vault-transit'],
    otherwise,
  );
  if (provider === 'file') return { provider };
  if (provider === 'environment') {
    return { provider, keys: keys ?? missing('TOLLGATE_KEY_ENCRYPTION_KEY', provider) };
  }
  return {
    provider: 'vault-transit',
    address: read(environment, 'TOLLGATE_VAULT_ADDRESS') ?? missing('TOLLGATE_VAULT_ADDRESS', provider),
    token: read(environment, 'TOLLGATE_VAULT_TOKEN') ?? missing('TOLLGATE_VAULT_TOKEN', provider),
    keyName: read(environment, 'TOLLGATE_VAULT_KEY') ?? 'tollgate',
    mount: read(environment, 'TOLLGATE_VAULT_MOUNT') ?? 'transit',
    namespace: read(environment, 'TOLLGATE_VAULT_NAMESPACE'),
  };
}

function missing(name: string, provider: string): never {
  throw new SettingsError(`${name} is needed with TOLLGATE_KEY_PROVIDER ${provider}`);
}

function readCrashAt(environment: Environment): Settings['crashAt'] {
  const text = read(environment, 'TOLLGATE_CRASH_AT');
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
