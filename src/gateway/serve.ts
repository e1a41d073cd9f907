// `tollgate serve`: from nothing to a listening gateway, and back to nothing on SIGTERM.
import cluster from 'node:cluster';
import { mkdir } from 'node:fs/promises';
import type { Logger } from 'pino';
import { demoCheckout, demoCurl, demoLink, demoWorks, makeDemo, updateDemoFile } from '../demo/demo.js';
import type { Certificate } from '../http/tls.js';
import { checkEngine } from '../installation/distribution.js';
import { sealAtUpgrade } from '../installation/upgrade.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { journalDeferredLostTime } from '../payments/processes/lost-time.js';
import { Database, isForbidden } from '../postgres/database.js';
import { migrate } from '../postgres/schema.js';
import { isLoopback } from '../values/network.js';
import { DataKeys } from '../vault/keys/keys.js';
import { credentialKey, journalKey } from './callers.js';
import { CertificateWatch, readCertificate } from './certificate-watch.js';
import { ClosingStack } from './closing-stack.js';
import { type OpenConsole, openConsole } from './console-site.js';
import {
  type Connection,
  connect,
  isAway,
  type Logins,
  type Progress,
  SILENT,
  unsafeDatabases,
} from './database/connection.js';
import { whenDatabaseIsThere } from './database/database-wait.js';
import { makeHistory } from './demo-history.js';
import { Entrance } from './entrance.js';
import { type Gateway, startGateway } from './gateway.js';
import { startAnchoring } from './journal-anchoring.js';
import { type Log, makeLog } from './observability/log.js';
import { postgresLog } from './observability/postgres-log.js';
import { type Operators, openOperators } from './operators.js';
import { consoleUrlOf } from './settings/console-url.js';
import { checkKey, openKeyProvider } from './settings/key-encryption.js';
import { checkPortsAreFree, listenError, merchantsAddress, operatorsAddress } from './settings/ports.js';
import { checkProduction } from './settings/production.js';
import { type Settings, SettingsError } from './settings/settings.js';
import { closeInTime, stopSignal } from './stopping.js';
import { runWorker } from './worker.js';
import { startWorkers } from './workers.js';

const say: Progress = (line) => process.stderr.write(`${line}\n`);

export async function serve(settings: Settings, options: { json?: boolean } = {}): Promise<void> {
  // From the first moment on: a gateway stopped during its start completes the start, then stops, and leaves nothing behind.
  const stop = stopSignal();
  const log = () => makeLog(settings.logLevel, { shared: settings.workers > 1, ...options });
  if (cluster.isWorker) return runWorker(log(), stop);
  // Before the database is touched: the gateway that has the port may be using it.
  const isFit = await checkProduction(settings).then(() => true, unlessAway);
  const certificate = await readCertificate(settings);
  await checkPortsAreFree(settings);
  await makeDataDirectory(settings);
  return runPrimary({ settings, certificate, isFit, log: log(), stop });
}

/** A check that failed because the database is lost is repeated once it is back. */
function unlessAway(error: unknown): boolean {
  if (!isAway(error)) throw error;
  return false;
}

interface Primary {
  readonly settings: Settings;
  readonly certificate: Certificate | undefined;
  /** The database has already passed the checks for production. */
  readonly isFit: boolean;
  readonly log: Log;
  readonly stop: Promise<NodeJS.Signals>;
}

/** The only process, or the first of several. */
async function runPrimary(primary: Primary): Promise<void> {
  const { settings, certificate, stop } = primary;
  const { log } = primary.log;
  const stack = new ClosingStack();
  const watch = watchCertificate(settings, certificate, log);
  warnWithoutTls(settings, log);
  // The program's entry already keeps Node from opening a debugger.
  process.on('SIGUSR1', () => log.warn('SIGUSR1 ignored; no debugger is opened'));
  for (const { setting, mode } of settings.openSecrets)
    log.warn({ setting, mode }, 'a secret file can be read by others');
  await stack.open(async () => {
    const operators = await listenToOperators(settings, certificate, log, stack);
    const entrance = stack.opened(new Entrance(settings, certificate), (opened) => opened.leave());
    const open = () =>
      new ClosingStack().open(async (tried) => {
        await openGateway(primary, { stack: tried, operators, watch, entrance });
        stack.opened(tried, (opened) => opened.close());
      });
    await whenDatabaseIsThere(open, { log, stop, onAway: () => entrance.wait() });
  });
  log.info({ signal: await stop }, 'stopping');
  await stack.close();
  log.info('stopped');
  process.exit(0);
}

interface Surroundings {
  readonly stack: ClosingStack;
  readonly operators: Operators | undefined;
  readonly watch: CertificateWatch | undefined;
  readonly entrance: Entrance;
}

/** Opens everything that needs the database. Opens nothing if the process is told to stop before it is reached. */
async function openGateway(
  primary: Primary,
  { stack, operators, watch, entrance }: Surroundings,
): Promise<void> {
  const { settings, certificate, isFit, stop } = primary;
  const { log, linesDropped } = primary.log;
  if (!isFit) await checkProduction(settings);
  const reached = await reach(settings, stop);
  if (reached === undefined) return;
  const connection = stack.opened(reached, (postgres) => postgres.close());
  for (const warning of connection.warnings) log.warn(warning);
  // guard(embedded PostgreSQL: one that has ended is started again): connection.keepRunning(postgresLog(log) ⇒ postgresLog(log
  connection.keepRunning(postgresLog(log));
  const demoWorks = await prepareDatabase(settings, connection.logins, log);
  const start = settings.workers === 1 ? startGateway : startWorkers;
  const starting = {
    settings,
    // guard(roles: a gateway serves as the login that may only serve): serving ⇒ migrating
    databaseUrl: connection.logins.serving,
    certificate,
    log,
    logLinesDropped: linesDropped,
  };
  // Opened before the gateway, so that it is closed after the last entry.
  const anchoring = await startAnchoring(settings, connection.logins.serving, log);
  if (anchoring !== undefined) stack.opened(anchoring, (opened) => opened.close());
  await entrance.leave();
  const gateway = await start(starting).catch((error) => {
    throw listenError(error, merchantsAddress(settings)) ?? error;
  });
  // The console stays open until the gateway is closed; if the console cannot be opened, the gateway is closed.
  let site: OpenConsole | undefined;
  stack.opened(gateway, () => site?.close());
  stack.opened(gateway, async () => {
    if (await closeInTime(gateway, settings)) return;
    log.warn('stop timed out; what is in doubt is resolved at the next start');
  });
  operators?.show(gateway, () => anchoring?.figures ?? {});
  site = await serveConsole(settings, connection.logins, operators, gateway, log);
  if (watch !== undefined) {
    watch.start((renewed) => {
      gateway.useCertificate(renewed);
      operators?.useCertificate(renewed);
    });
    stack.opened(watch, () => watch.stop());
  }
  const consoleUrl = operators && consoleUrlOf(settings, operators.url);
  const { operating } = connection.logins;
  await announce(settings, gateway, { demoWorks, log, site, consoleUrl, operating });
  if (operators !== undefined) log.info({ url: operators.url }, 'listening for operators');
  stack.opened(makeHistory(settings, connection.logins, log), (history) => history);
}

/**
 * Undefined if the process is told to stop meanwhile. Until then an external server was only asked, and nothing is left behind.
 */
function reach(settings: Settings, stop: Promise<unknown>): Promise<Connection | undefined> {
  const reaching = connect(settings, 'serving', process.stderr.isTTY ? say : SILENT);
  return settings.databaseUrl === undefined ? reaching : Promise.race([reaching, stop.then(() => undefined)]);
}

/** Open until everything else is closed, so that operators can watch. */
async function listenToOperators(
  settings: Settings,
  certificate: Certificate | undefined,
  log: Logger,
  stack: ClosingStack,
): Promise<Operators | undefined> {
  const operators = await openOperators(settings, certificate, log).catch((error) => {
    const address = operatorsAddress(settings);
    throw (address && listenError(error, address)) ?? error;
  });
  return operators && stack.opened(operators, (listener) => listener.close());
}

/** Serves the console on the operators' listener. */
async function serveConsole(
  settings: Settings,
  { operating }: Logins,
  operators: Operators | undefined,
  gateway: Pick<Gateway, 'figures' | 'checkoutUrl'>,
  log: Logger,
): Promise<OpenConsole | undefined> {
  const opened = await openConsole({
    settings,
    operatingUrl: operating,
    log,
    checkoutUrl: gateway.checkoutUrl,
    figures: () => gateway.figures(),
  });
  if (opened !== undefined) operators?.serve(opened.site, opened.figures);
  return opened;
}

function watchCertificate(
  { tls }: Settings,
  certificate: Certificate | undefined,
  log: Logger,
): CertificateWatch | undefined {
  if (tls === undefined || certificate === undefined) return undefined;
  const watch = new CertificateWatch({ tls, certificate, log });
  // From now on: an unhandled SIGHUP would end the process.
  process.on('SIGHUP', () => watch.reload());
  return watch;
}

function warnWithoutTls({ tls, host, databaseUrl = '' }: Settings, log: Logger): void {
  const databases = databaseUrl === '' ? [] : unsafeDatabases(databaseUrl);
  if (databases.length > 0) log.warn({ servers: databases }, 'the database is reached without verified TLS');
  if (tls !== undefined || isLoopback(host)) return;
  log.warn(
    { host },
    'listening outside loopback without TLS: card numbers and secrets can be read on their way',
  );
  say(`
WARNING: clients reach ${host} without TLS. Card numbers and secrets can be read on their way.
         Set TOLLGATE_TLS_CERTIFICATE_FILE and TOLLGATE_TLS_KEY_FILE, or listen on 127.0.0.1.`);
}

/**
 * Work to be done once, however many processes start on this database. Returns whether the demo's file holds a valid secret.
 */
async function prepareDatabase(settings: Settings, logins: Logins, log: Logger): Promise<boolean> {
  await within(logins.migrating, async (database) => {
    await checkKey(settings, database);
    const { version, applied } = await migrate(database);
    await checkEngine(database);
    if (applied.length > 0) log.info({ version, applied }, 'schema ready');
  });
  return within(logins.operating, async (database) => {
    // One process creates the keys, if there are none yet.
    const provider = await openKeyProvider(settings, database);
    const ofJournal = await journalKey(database, provider);
    setSigner(database, new EntrySigner(ofJournal));
    const key = await credentialKey(database, provider);
    const sealed = await sealAtUpgrade(database, {
      actor: 'gateway:start',
      provider,
      journalKey: ofJournal,
      credentialKey: key,
      anchorFiles: settings.journalAnchorFiles,
    }).catch(refuseWithoutRights);
    const { transactions, rows } = sealed ?? { transactions: 0, rows: 0 };
    if (transactions + rows > 0)
      log.info({ transactions, rows }, 'what was there is sealed, and the journal says so');
    await journalDeferredLostTime(database);
    if (settings.demo) await makeDemo(database, key, settings.dataDir);
    return !settings.demo || (await demoWorks(database, key, settings.dataDir));
  });
}

function refuseWithoutRights(error: unknown): never {
  if (!isForbidden(error)) throw error;
  throw new SettingsError(
    'what directs cards and money is not sealed yet, and this login may not read all of it; run `tollgate migrate` with the key-encryption key, or set TOLLGATE_OPERATING_DATABASE_URL',
  );
}

async function within<Result>(url: string, work: (database: Database) => Promise<Result>): Promise<Result> {
  const database = new Database(url, { maxConnections: 3, patient: true });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

interface Announced {
  readonly demoWorks: boolean;
  readonly log: Logger;
  readonly site: OpenConsole | undefined;
  readonly consoleUrl: string | undefined;
  /** The login of operators' commands. */
  readonly operating: string;
}

async function announce(
  settings: Settings,
  gateway: Gateway,
  { demoWorks: works, log, site, consoleUrl, operating }: Announced,
): Promise<void> {
  const { baseUrl } = gateway;
  const link =
    settings.demo && site !== undefined && consoleUrl !== undefined
      ? await demoLink(site.database, site.key, consoleUrl)
      : undefined;
  const demo = settings.demo ? await updateDemoFile(settings.dataDir, baseUrl, link) : undefined;
  log.info({ base_url: baseUrl }, 'listening');
  if (gateway.checkoutUrl !== undefined) log.info({ url: gateway.checkoutUrl }, 'listening for payers');
  say(`\nTollgate listens on ${baseUrl} (reference: ${baseUrl.replace(/\/v1$/, '/docs')})`);
  if (!works) log.warn('the secret in demo.json is no longer valid');
  else if (demo !== undefined) say(`\nA first purchase:\n\n${demoCurl(demo, settings.dataDir)}\n`);
  if (demo !== undefined && gateway.checkoutUrl !== undefined) {
    const page = await within(operating, async (database) => {
      const provider = await openKeyProvider(settings, database);
      setSigner(database, new EntrySigner(await journalKey(database, provider)));
      const keys = new DataKeys(database, provider);
      return demoCheckout(database, keys, gateway.checkoutUrl as string, demo);
    });
    say(`A payment as payers see it, in the browser:\n\n${page}\n`);
  }
  if (link !== undefined) say(`The console, by a link that works once, for 15 minutes:\n\n${link}\n`);
}

async function makeDataDirectory({ dataDir }: Settings): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw new SettingsError(`TOLLGATE_DATA_DIR: ${dataDir} cannot be used (${error.code})`);
  });
}
