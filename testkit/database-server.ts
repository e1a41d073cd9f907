// One PostgreSQL for the whole test run (the one of DATABASE_URL, or one of the gateway's own), with a template
// database that every test file clones.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { openEmbeddedPostgres } from '../src/embedded-postgres/server.js';
import { Database } from '../src/postgres/database.js';
import { migrate } from '../src/postgres/migrations.js';
import { CITUS_URL } from './citus.js';
import { copyPreparedCluster, prepareCluster } from './prepared-cluster.js';

const INSUFFICIENT_PRIVILEGE = '42501';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of a database on the server, for making and dropping others. */
    adminUrl: string;
    template: string;
    /** Where the server keeps its files; undefined for the server of DATABASE_URL, whose files are not ours to see. */
    serverFiles: string | undefined;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = CITUS_URL ?? process.env.DATABASE_URL;
  const prepared = given ? undefined : await prepareCluster();
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-test-'));
  if (!given) await copyPreparedCluster(dataDir);
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

  project.provide('adminUrl', adminUrl);
  project.provide('template', template);
  project.provide('serverFiles', given ? undefined : dataDir);
  return async () => {
    await dropDatabase(adminUrl, template);
    await embedded?.stop();
    await rm(dataDir, { recursive: true, force: true });
    await prepared?.remove();
  };
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
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await administer(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
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
