// `tollgate serve`: from nothing to a listening gateway, and back to nothing on SIGTERM.
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../store/database.js';
import { migrate } from '../store/migrations.js';
import { connect, type Progress } from './connection.js';
import { demoAt, demoCurl, makeDemo } from './demo.js';
import { type Gateway, startGateway } from './gateway.js';
import { makeLog } from './log.js';
import { type Settings, SettingsError } from './settings.js';

export async function serve(settings: Settings): Promise<void> {
  const say: Progress = (line) => process.stderr.write(`${line}\n`);
  // Before the database is touched: it may be in use by the very gateway that has the port.
  await checkPortIsFree(settings);
  const log = makeLog(settings.logLevel);
  const connection = await connect(settings, process.stderr.isTTY ? say : () => {});

  let gateway: Gateway;
  try {
    const database = new Database(connection.url, { maxConnections: 1 });
    try {
      for (const name of await migrate(database)) log.info({ migration: name }, 'migrated');
      if (settings.demo) await makeDemo(database, settings.dataDir);
    } finally {
      await database.close();
    }
    gateway = await startGateway(settings, connection.url, log);
  } catch (error) {
    await connection.close();
    throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? portTaken(settings) : error;
  }

  log.info({ base_url: gateway.baseUrl }, 'listening');
  const demo = settings.demo ? await demoAt(settings.dataDir, gateway.baseUrl) : undefined;
  say(`\nTollgate listens on ${gateway.baseUrl} (reference: ${gateway.baseUrl.replace(/\/v1$/, '/docs')})`);
  if (demo !== undefined) say(`\nA first purchase:\n\n${demoCurl(demo, settings.dataDir)}\n`);

  const stop = async (signal: string) => {
    process.once(signal, () => process.exit(1)); // a second time: at once
    log.info({ signal }, 'stopping');
    // An acquirer is waited for no longer than its deadline, so that this ends.
    const tooLong = sleep(settings.acquirerDeadlineMs + 5_000, 'late', { ref: false });
    const ended = await Promise.race([gateway.close(), tooLong]);
    if (ended === 'late')
      log.warn('some requests did not end in time; they will be resolved at the next start');
    await connection.close();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal));
}

async function checkPortIsFree(settings: Settings): Promise<void> {
  if (settings.port === 0) return;
  await new Promise<void>((resolve, reject) => {
    const probe = createServer()
      .once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') reject(portTaken(settings));
        else
          reject(
            new SettingsError(
              `TOLLGATE_HOST ${settings.host} and TOLLGATE_PORT ${settings.port}: ${error.code}`,
            ),
          );
      })
      .listen({ host: settings.host, port: settings.port, exclusive: true }, () =>
        probe.close(() => resolve()),
      );
  });
}

function portTaken({ host, port }: Settings): SettingsError {
  return new SettingsError(
    `port ${port} on ${host} is taken by another program; set TOLLGATE_PORT to a free one`,
  );
}
