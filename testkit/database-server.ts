// One PostgreSQL for the whole test run (the one of DATABASE_URL, or one of the gateway's own), with a template
// database that every test file clones.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { openEmbeddedPostgres } from '../src/embedded-postgres/server.js';
import { EventRetention } from '../src/events/feed.js';
import { DayFigures } from '../src/figures/day-figures.js';
import { readSettings, type Settings } from '../src/gateway/settings/settings.js';
import { Database } from '../src/postgres/database.js';
import { migrate } from '../src/postgres/schema.js';
import { addCast, type Cast } from './cast.js';
import { CITUS_URL } from './citus.js';
import { copyPreparedCluster, prepareCluster } from './prepared-cluster.js';
import { PROJECT_ROOT } from './project.js';
import { makeRunFolder, removeAbandonedRuns, removeRun } from './test-runs.js';

const INSUFFICIENT_PRIVILEGE = '42501';

/** This user's databases, of runs without a session. */
const ABANDONED_DATABASES = `SELECT datname AS name FROM pg_database d
  WHERE datdba = current_user::regrole AND datname ~ '^tollgate_(template|test)_[0-9]+_[0-9a-f]{8}(_|$)'
  AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datname = d.datname
    OR a.application_name = 'tollgate-tests-' || substring(d.datname FROM '_([0-9]+_[0-9a-f]{8})'))`;

declare module 'vitest' {
  interface ProvidedContext {
    /** Of a database on the server, for making and dropping others. */
    adminUrl: string;
    template: string;
    /** The same with a cast in it, and the key that its users are sealed under; undefined where databases are not copied. */
    preparedCast: PreparedCast | undefined;
    /** Where the server keeps its files; undefined for the server of DATABASE_URL, whose files are not ours to see. */
    serverFiles: string | undefined;
  }
}

interface PreparedCast {
  readonly template: string;
  readonly keyFile: string;
  readonly cast: Cast;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const removeEverything = await openRunFolder(project.tmpDir);
  const given = CITUS_URL ?? process.env.DATABASE_URL;
  if (!given) await prepareCluster();
  const dataDir = join(tmpdir(), 'server');
  await mkdir(dataDir, { mode: 0o700 });
  if (!given) {
    await copyPreparedCluster(dataDir);
    await askForPasswords(join(dataDir, 'postgres', 'pg_hba.conf'));
  }
  const embedded = given ? undefined : await openEmbeddedPostgres({ dataDir });
  const adminUrl = given ?? (embedded?.url as string);
  const run = `${process.pid}_${randomBytes(4).toString('hex')}`;
  const presence = CITUS_URL ? undefined : await showPresence(adminUrl, run);
  const template = `tollgate_template_${run}`;

  await administer(adminUrl, `CREATE DATABASE ${template}`);
  const database = new Database(databaseUrl(adminUrl, template), { maxConnections: 1 });
  await migrate(database);
  await database.close();
  // The first session writes down what every session of a database has to read from its catalogue: the clones have it then, too.
  await administer(databaseUrl(adminUrl, template), 'SELECT 1');

  const preparedCast = CITUS_URL ? undefined : await prepareCast(adminUrl, template, dataDir);

  project.provide('preparedCast', preparedCast);
  project.provide('adminUrl', adminUrl);
  project.provide('template', template);
  project.provide('serverFiles', given ? undefined : dataDir);
  return async () => {
    await presence?.end();
    if (preparedCast) await dropDatabase(adminUrl, preparedCast.template);
    await dropDatabase(adminUrl, template);
    await embedded?.stop();
    await removeEverything();
  };
}

/**
 * All temporary files go into one folder. A separate process waits for the end of this one, even by `kill -9`, and then removes
 * the folder and every process in it. The next run removes anything left over.
 */
async function openRunFolder(vitestFolder: string): Promise<() => Promise<void>> {
  const place = tmpdir();
  await removeAbandonedRuns(place);
  const folder = await makeRunFolder(place, vitestFolder);
  const program = join(PROJECT_ROOT, 'build', 'testkit', 'remove-test-run.js');
  let waiting: ChildProcess | undefined;
  if (existsSync(program)) {
    waiting = spawn(process.execPath, [program, folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    waiting.unref();
  }
  process.env.TMPDIR = folder;
  return async () => {
    process.env.TMPDIR = place;
    if (waiting?.exitCode !== null) return removeRun(folder);
    waiting.ref();
    waiting.stdin?.end();
    await once(waiting, 'exit');
  };
}

/** On a shared server: drops databases of finished runs, and a session shows that this run is alive. */
async function showPresence(adminUrl: string, run: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: adminUrl, application_name: `tollgate-tests-${run}` });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query<{ name: string }>(ABANDONED_DATABASES);
  for (const { name } of rows) await client.query(`DROP DATABASE IF EXISTS ${name}`);
  return client;
}

/** In clear: proving a password on both sides would cost each of ten thousand sessions more than a millisecond. */
async function askForPasswords(rules: string): Promise<void> {
  const text = await readFile(rules, 'utf8');
  await writeFile(rules, text.replaceAll(/\bscram-sha-256$/gm, 'password'));
}

/** Adding it for each test would take a dozen transactions every time. */
async function prepareCast(adminUrl: string, like: string, folder: string): Promise<PreparedCast> {
  const template = `${like}_cast`;
  await administer(adminUrl, `CREATE DATABASE ${template} TEMPLATE ${like}`);
  const place = join(folder, 'cast');
  await mkdir(place);
  const url = databaseUrl(adminUrl, template);
  const settings = readSettings({ TOLLGATE_DATA_DIR: place });
  const cast = await addCast(url, settings);
  await countUntilToday(url, settings);
  return { template, keyFile: join(place, 'key-encryption-key'), cast };
}

/** The first gateway would start today's events and look through all earlier days, which takes a quarter of its start. */
async function countUntilToday(url: string, { eventDays }: Settings): Promise<void> {
  const database = new Database(url, { maxConnections: 1 });
  await new EventRetention(database, eventDays).run();
  await new DayFigures(database, eventDays).run();
  await database.close();
}

export async function administer(adminUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Disconnects everybody. Only a superuser may do that to an autovacuum: that one is waited for. */
export async function dropDatabase(
  adminUrl: string,
  name: string,
  administered: typeof administer = administer,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await administered(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    } catch (error) {
      if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE || attempt === 50) throw error;
      await sleep(200);
    }
  }
}

export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}
