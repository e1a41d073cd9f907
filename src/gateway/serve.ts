// `tollgate serve`: from nothing to a listening gateway, and back to nothing on SIGTERM.
import cluster from 'node:cluster';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Logger } from 'pino';
import { Database } from '../postgres/database.js';
import { migrate } from '../postgres/migrations.js';
import { ClosingStack } from './closing-stack.js';
import { connect, type Progress, SILENT } from './connection.js';
import { demoAt, demoCurl, makeDemo } from './demo.js';
import { type Gateway, startGateway } from './gateway.js';
import { checkKey, openKeyProvider } from './key-encryption.js';
import { makeLog } from './log.js';
import { checkProduction } from './production.js';
import { type Settings, SettingsError } from './settings.js';
import { closeInTime, stopSignal } from './stopping.js';
import { runWorker } from './worker.js';
import { startWorkers } from './workers.js';

const say: Progress = (line) => process.stderr.write(`${line}\n`);

export async function serve(settings: Settings, options: { json?: boolean } = {}): Promise<void> {
  // From the first moment on: stopped while it starts, it starts and then stops, and leaves nothing behind.
  const stop = stopSignal();
  const log = () => makeLog(settings.logLevel, { shared: settings.workers > 1, ...options });
  if (cluster.isWorker) return runWorker(log(), stop);
  // Before the database is touched: it may be in use by the very gateway that has the port.
  await checkProduction(settings);
  await checkPortIsFree(settings);
  await makeDataDirectory(settings);
  return runPrimary(settings, log(), stop);
}

/** The only process, or the first of several. */
async function runPrimary(settings: Settings, log: Logger, stop: Promise<NodeJS.Signals>): Promise<void> {
  const stack = new ClosingStack();
  await stack.open(async () => {
    const connection = stack.opened(
      await connect(settings, process.stderr.isTTY ? say : SILENT),
      (postgres) => postgres.close(),
    );
    for (const warning of connection.warnings) log.warn(warning);
    await prepareDatabase(settings, connection.url, log);
    const start = settings.workers === 1 ? startGateway : startWorkers;
    const gateway = await start({ settings, databaseUrl: connection.url, log }).catch((error) => {
      throw listenError(error, settings) ?? error;
    });
    stack.opened(gateway, async () => {
      if (await closeInTime(gateway, settings)) return;
      log.warn('stop timed out; what is in doubt is resolved at the next start');
    });
    await announce(settings, gateway, log);
  });
  log.info({ signal: await stop }, 'stopping');
  await stack.close();
  log.info('stopped');
  process.exit(0);
}

/** What has to be done once, however many processes start on this database. */
async function prepareDatabase(settings: Settings, url: string, log: Logger): Promise<void> {
  const database = new Database(url, { maxConnections: 2, patient: true });
  try {
    await checkKey(settings, database);
    for (const name of await migrate(database)) log.info({ migration: name }, 'migration applied');
    if (settings.demo) await makeDemo(database, settings.dataDir);
    // One process makes the key, if there is none yet.
    await openKeyProvider(settings, database);
  } finally {
    await database.close();
  }
}

async function announce(settings: Settings, { baseUrl }: Gateway, log: Logger): Promise<void> {
  const demo = settings.demo ? await demoAt(settings.dataDir, baseUrl) : undefined;
  log.info({ base_url: baseUrl }, 'listening');
  say(`\nTollgate listens on ${baseUrl} (reference: ${baseUrl.replace(/\/v1$/, '/docs')})`);
  if (demo !== undefined) say(`\nA first purchase:\n\n${demoCurl(demo, settings.dataDir)}\n`);
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
