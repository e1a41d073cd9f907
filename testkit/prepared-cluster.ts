// A stopped PostgreSQL with the current schema, whose files are copied for tests and proofs that need a server of their own.
// Initialising one each time takes more than a second of CPU time.
import { execFile } from 'node:child_process';
import { appendFile, cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { openEmbeddedPostgres } from '../src/embedded-postgres/server.js';
import { Database } from '../src/postgres/database.js';
import { migrate } from '../src/postgres/schema.js';

/** Tells the processes of a test run where it is. */
const PLACE = 'TOLLGATE_TEST_CLUSTER';

/** For a program that is started with none of the settings of this process. */
export function whereItIs(): Record<string, string> {
  const { [PLACE]: place = '' } = process.env;
  return { [PLACE]: place };
}

/** It goes with the folder of the test run. */
export async function prepareCluster(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-prepared-'));
  const server = await openEmbeddedPostgres({ dataDir });
  const database = new Database(server.logins.migrating, { maxConnections: 1, patient: true });
  await migrate(database);
  await database.close();
  await signInQuickly([server.url, ...Object.values(server.logins)], server.url);
  await server.stop();
  // In files of its own, so that one that is killed leaves nothing outside of its directory.
  await appendFile(join(dataDir, 'postgres', 'postgresql.conf'), "dynamic_shared_memory_type = 'mmap'\n");
  process.env[PLACE] = dataDir;
}

/** A password is hashed once instead of thousands of times: a test run opens ten thousand sessions. */
async function signInQuickly(urls: readonly string[], superuser: string): Promise<void> {
  const client = new pg.Client({ connectionString: superuser });
  await client.connect();
  await client.query('SET scram_iterations = 1');
  for (const { username, password } of urls.map((url) => new URL(url)))
    await client.query(`ALTER ROLE ${username} PASSWORD '${password}'`);
  await client.end();
}

/** Into an empty data directory. Without a prepared cluster nothing is copied, and the server is initialised. */
export async function copyPreparedCluster(dataDir: string): Promise<void> {
  const prepared = process.env[PLACE];
  if (!prepared) return;
  // Two thousand files: Node needs ten times as long for them.
  if (process.platform === 'win32') await cp(prepared, dataDir, { recursive: true });
  else await promisify(execFile)('cp', ['-Rp', `${prepared}/.`, dataDir]);
}
