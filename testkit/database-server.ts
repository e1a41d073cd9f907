// One PostgreSQL for the whole test run (the one of DATABASE_URL, or one of the gateway's own), with a template
// database that every test file clones.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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

const INSUFFICIENT_PRIVILEGE = '42501';

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
  const given = CITUS_URL ?? process.env.DATABASE_URL;
  const prepared = given ? undefined : await prepareCluster();
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-test-'));
  if (!given) {
    await copyPreparedCluster(dataDir);
    await askForPasswords(join(dataDir, 'postgres', 'pg_hba.conf'));
  }
  const embedded = given ? undefined : await openEmbeddedPostgres({ dataDir });
  const adminUrl = given ?? (embedded?.url as string);
  const template = `tollgate_template_${process.pid}`;

  await administer(adminUrl, `DROP DATABASE IF EXISTS ${template}`);
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
    if (preparedCast) await dropDatabase(adminUrl, preparedCast.template);
    await dropDatabase(adminUrl, template);
    await embedded?.stop();
    await rm(dataDir, { recursive: true, force: true });
    await prepared?.remove();
  };
}

/** As they are: to prove on both sides that one knows them costs each of ten thousand sessions more than a millisecond. */
async function askForPasswords(rules: string): Promise<void> {
  const text = await readFile(rules, 'utf8');
  await writeFile(rules, text.replaceAll(/\bscram-sha-256$/gm, 'password'));
}

/** To add it anew for each test would take a dozen transactions every time. */
async function prepareCast(adminUrl: string, like: string, folder: string): Promise<PreparedCast> {
  const template = `${like}_cast`;
  await administer(adminUrl, `DROP DATABASE IF EXISTS ${template}`);
  await administer(adminUrl, `CREATE DATABASE ${template} TEMPLATE ${like}`);
  const place = join(folder, 'cast');
  await mkdir(place);
  const url = databaseUrl(adminUrl, template);
  const settings = readSettings({ TOLLGATE_DATA_DIR: place });
  const cast = await addCast(url, settings);
  await countUntilToday(url, settings);
  return { template, keyFile: join(place, 'key-encryption-key'), cast };
}

/** The first gateway would begin today's events, and look for some of all days before, which takes a quarter of its start. */
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

/** Whoever is still connected is sent away. Only a superuser may do that to an autovacuum: that one is waited for. */
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
