// Logs the PostgreSQL that comes with the gateway: that it has ended, and that it runs again.
import type { Logger } from 'pino';
import type { KeeperReports } from '../../embedded-postgres/server.js';

export function postgresLog(log: Logger): KeeperReports {
  return {
    onEnded: () => log.error('PostgreSQL of the data directory has ended; starting it again'),
    onNotStarted: (reason) =>
      log.error({ reason }, 'PostgreSQL of the data directory cannot be started; tried again'),
    onRunning: ({ attempts, seconds }) =>
      log.warn({ attempts, seconds }, 'PostgreSQL of the data directory runs again'),
  };
}
