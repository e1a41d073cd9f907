// A gateway as `npm start` runs it: one process on a fresh data directory, with a PostgreSQL of its own and the demo's user.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tollgate } from '../client/src/index.js';
import { basicAuthorization } from './bodies.js';
import {
  dataDirectory,
  type Ended,
  type GatewayProcess,
  removeDataDirectory,
  type StartOptions,
  startGatewayProcess,
} from './gateway-process.js';
import { copyPreparedCluster } from './prepared-cluster.js';
import { asEnvironment } from './project.js';

export interface StandaloneGateway extends GatewayProcess {
  readonly port: number;
  readonly dataDir: string;
  readonly username: string;
  readonly password: string;
  readonly authorization: string;
  /** Of the same user. */
  readonly client: Tollgate;
  /** Of its PostgreSQL, as a superuser. */
  databaseUrl(): Promise<string>;
  /** Asks it to stop, waits until it has, and removes what is left. */
  stop(): Promise<Ended>;
}

/** Settings without the prefix TOLLGATE_. */
export async function startStandalone(
  settings: Readonly<Record<string, string>> = {},
  options: StartOptions = { keep: 'nothing' },
): Promise<StandaloneGateway> {
  const dataDir = await dataDirectory();
  await copyPreparedCluster(dataDir);
  const gateway = await startGatewayProcess(asEnvironment({ ...settings, DATA_DIR: dataDir }), options);
  const { username, password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
  return {
    ...gateway,
    port: Number(new URL(gateway.baseUrl).port),
    dataDir,
    username,
    password,
    authorization: basicAuthorization({ username, password }),
    client: new Tollgate({ baseUrl: gateway.baseUrl, username, password }),
    async databaseUrl() {
      const lines = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
      const secret = (await readFile(join(dataDir, 'postgres-password'), 'utf8')).trim();
      return `postgres://tollgate:${secret}@127.0.0.1:${lines[3]}/tollgate`;
    },
    async stop() {
      const ended = await gateway.stop();
      await removeDataDirectory(dataDir);
      return ended;
    },
  };
}
