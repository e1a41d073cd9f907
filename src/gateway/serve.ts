// `tollgate serve`: from nothing to a listening gateway, and back to nothing on SIGTERM.
import cluster from 'node:cluster';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../postgres/database.js';
import { migrate } from '../postgres/migrations.js';
import { connect, type Progress } from './connection.js';
import { demoAt, demoCurl, makeDemo } from './demo.js';
import { type Gateway, startGateway } from './gateway.js';
import { checkKey, openKeyProvider } from './key-encryption.js';
import { makeLog } from './log.js';
import { checkProduction } from './production.js';
import { type Settings, SettingsError } from './settings.js';
import { startWorkers, work } from './workers.js';

/** Twice within this time is one Ctrl-C: npm passes on what the terminal has sent to the gateway already. */
const SAME_SIGNAL_MS = 1_000;

export async function serve(settings: Settings, options: { json?: boolean } = {}): Promise<void> {
  const say: Progress = (line) => process.stderr.write(`${line}\n`);
  // From the first moment on: told to stop while it starts, it starts and then stops, and leaves nothing behind.
  const toldToStop = stopSignal();
  // Before the database is touched: it may be in use by the very gateway that has the port.
  if (cluster.isPrimary) {
    await checkProduction(settings);
    await checkPortIsFree(settings);
  }
  await makeDataDirectory(settings);
  const log = makeLog(settings.logLevel, { shared: settings.workers > 1, ...options });
  if (cluster.isWorker) return work(log, toldToStop);
  const connection = await connect(settings, process.stderr.isTTY ? say : () => {});
  for (const warning of connection.warnings) log.warn(warning);

  let gateway: Gateway;
  try {
    const database = new Database(connection.url, { maxConnections: 2, patient: true });
    try {
      await checkKey(settings, database);
      for (const name of await migrate(database)) log.info({ migration: name }, 'migrated');
      if (settings.demo) await makeDemo(database, settings.dataDir);
      // One process makes the key, if there is none yet.
      await openKeyProvider(settings, database);
    } finally {
      await database.close();
    }
    const start = settings.workers === 1 ? startGateway : startWorkers;
    gateway = await start(settings, connection.url, log);
  } catch (error) {
    await connection.close();
    throw listenError(error, settings) ?? error;
  }

  const demo = settings.demo ? await demoAt(settings.dataDir, gateway.baseUrl) : undefined;
  log.info({ base_url: gateway.baseUrl }, 'listening');
  say(`\nTollgate listens on ${gateway.baseUrl} (reference: ${gateway.baseUrl.replace(/\/v1$/, '/docs')})`);
  if (demo !== undefined) say(`\nA first purchase:\n\n${demoCurl(demo, settings.dataDir)}\n`);

  log.info({ signal: await toldToStop }, 'stopping');
  // An acquirer is waited for no longer than its deadline, so that this ends.
  const tooLong = sleep(settings.acquirerDeadlineMs + 5_000, 'late', { ref: false });
  const ended = await Promise.race([gateway.close(), tooLong]);
  if (ended === 'late')
    log.warn('some requests did not end in time; they will be resolved at the next start');
  await connection.close();
  log.info('stopped');
  process.exit(0);
}

/** SIGTERM or SIGINT, whichever comes first. A second one ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      firstMs ??= performance.now();
      resolve(signal);
      if (performance.now() - firstMs > SAME_SIGNAL_MS) process.exit(1);
    };
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  });
}

async function makeDataDirectory({ dataDir }: Settings): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw new SettingsError(`TOLLGATE_DATA_DIR: ${dataDir} cannot be used (${error.code})`);
  });
}

async function checkPortIsFree(settings: Settings): Promise<void> {
  if (settings.port === 0) return;
  await new Promise<void>((resolve, reject) => {
    const probe = createServer()
      .once('error', (error) => reject(listenError(error, settings) ?? error))
      .listen({ host: settings.host, port: settings.port, exclusive: true }, () =>
        probe.close(() => resolve()),
      );
  });
}

/** The error in the operator's words, if it is about the address to listen on. */
function listenError(error: unknown, { host, port }: Settings): SettingsError | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new SettingsError(
      `port ${port} on ${host} is taken by another program; set TOLLGATE_PORT to a free one`,
    );
  }
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined;
  return new SettingsError(`TOLLGATE_HOST ${host} and TOLLGATE_PORT ${port} cannot be listened on (${code})`);
}
