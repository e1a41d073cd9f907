// The doctor: checks everything that an operator would check, and changes nothing. It creates no file or database, and starts
// nothing. It reports what cannot be reached, and checks the rest all the same.
import { hasDatabase, runningServer } from '../../embedded-postgres/server.js';
import { probe } from '../../http/probe.js';
import { Database } from '../../postgres/database.js';
import { loginsOf, problemsOfEncryption, reasonOf } from '../database/connection.js';
import { CLOCKS_APART } from '../observability/clock-watch.js';
import { problemsOfSettings } from '../settings/production.js';
import { readSettings, type Settings, SettingsError } from '../settings/settings.js';
import type { Environment } from '../settings/variables.js';
import { type CheckResult, failure, notChecked, ok } from './check-result.js';
import { examineDatabase } from './doctor-of-database.js';
import { examineMachine } from './doctor-of-machine.js';
import { examineRole, SET_CLOCK } from './doctor-of-server.js';

const ANSWER_WITHIN_MS = 10_000;

export async function examine(environment: Environment = process.env): Promise<CheckResult[]> {
  const settings = settingsOf(environment);
  if (Array.isArray(settings)) {
    return [...settings, notChecked('everything else', 'it takes settings that can be read')];
  }
  return [
    ...examineSettings(settings),
    ...(await examineMachine(settings)),
    await examineGateway(settings),
    ...(await examineReachable(settings)),
  ];
}

function settingsOf(environment: Environment): Settings | CheckResult[] {
  try {
    return readSettings(environment);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.message
      .split('\n')
      .map((line) => failure('settings', line, 'correct it: the gateway does not start'));
  }
}

function examineSettings(settings: Settings): CheckResult[] {
  if (settings.environment !== 'production') return [ok('settings', 'can be read; this is not production')];
  const problems = [...problemsOfSettings(settings, process.getuid?.()), ...problemsOfEncryption(settings)];
  if (problems.length === 0) return [ok('settings', 'can be read, and are fit for production')];
  return problems.map((line) => failure('settings', line, 'correct it: the gateway does not start'));
}

async function examineGateway(settings: Settings): Promise<CheckResult> {
  if (settings.port === 0)
    return notChecked('gateway', 'TOLLGATE_PORT is 0, any free port: nobody knows which to ask');
  const reason = await probe(settings, 'ready', 0);
  return reason === undefined
    ? ok('gateway', `is ready on port ${settings.port}`)
    : failure(
        'gateway',
        `is not ready on port ${settings.port}: ${reason}`,
        reason === CLOCKS_APART ? SET_CLOCK : 'look into its log, or start it',
      );
}

async function examineReachable(settings: Settings): Promise<CheckResult[]> {
  const addresses = await addressesOf(settings);
  if ('check' in addresses) {
    return [addresses, notChecked('everything in the database', 'it cannot be reached')];
  }
  try {
    return [
      ...(await asked(addresses.looking, (database) => examineDatabase(database, settings))),
      await asked(addresses.serving, examineRole),
    ];
  } catch (error) {
    const where = settings.databaseUrl === undefined ? '' : 'DATABASE_URL: ';
    return [
      failure(
        'database',
        `${where}it cannot be used (${reasonOf(error)})`,
        'address, password, network: see "Your own PostgreSQL"',
      ),
      notChecked('everything in the database', 'it cannot be reached'),
    ];
  }
}

async function asked<Result>(url: string, work: (database: Database) => Promise<Result>): Promise<Result> {
  const database = new Database(url, {
    maxConnections: 1,
    applicationName: 'tollgate-doctor',
    answerLimitMs: ANSWER_WITHIN_MS,
  });
  return work(database).finally(() => database.close());
}

/** The login for the checks, and the login under which gateways serve. */
interface Addresses {
  readonly looking: string;
  readonly serving: string;
}

async function addressesOf(settings: Settings): Promise<Addresses | CheckResult> {
  const { databaseUrl, dataDir } = settings;
  if (databaseUrl !== undefined) {
    const { operating: looking, serving } = loginsOf(settings, databaseUrl);
    return problemsOfEncryption(settings).length === 0
      ? { looking, serving }
      : failure(
          'database',
          'is not asked, since the password could be read on its way',
          'add sslmode=verify-full',
        );
  }
  if (!(await hasDatabase(dataDir))) {
    return failure(
      'database',
      `there is none in ${dataDir}`,
      'set TOLLGATE_DATA_DIR or DATABASE_URL to where it is',
    );
  }
  const server = await runningServer(dataDir);
  return 'url' in server
    ? { looking: server.url, serving: server.logins.serving }
    : failure(
        'database',
        `PostgreSQL of ${dataDir} ${server.reason}`,
        'start the gateway, and look into postgres.log',
      );
}
