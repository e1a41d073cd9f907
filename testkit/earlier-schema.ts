// An installation of an earlier version, for tests of what a migration makes of its data.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { MIGRATION_TABLE, RECORD_MIGRATION } from '../src/postgres/migrations.sql.js';
import { administer, databaseUrl, dropDatabase } from './database-server.js';
import { PROJECT_ROOT } from './project.js';

const FOLDER = join(PROJECT_ROOT, 'migrations');

export interface EarlierSchema {
  readonly url: string;
  readonly client: pg.Client;
  /** The text of the migration. */
  readonly text: string;
  /** Applies it as `migrate` does: in one transaction. */
  migrate(): Promise<void>;
}

/** A database as it was before a migration, with some data, for as long as the work takes. */
export async function beforeMigration<Result>(
  migration: string,
  data: string,
  work: (schema: EarlierSchema) => Promise<Result>,
): Promise<Result> {
  const adminUrl = inject('adminUrl');
  const name = `tollgate_test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await administer(adminUrl, `CREATE DATABASE ${name}`);
  const url = databaseUrl(adminUrl, name);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(MIGRATION_TABLE);
    const before = readdirSync(FOLDER).filter((file) => file.endsWith('.sql') && file < migration);
    for (const file of before) {
      const applied = readFileSync(join(FOLDER, file), 'utf8');
      await client.query(applied);
      const checksum = createHash('sha256').update(applied).digest('hex');
      await client.query(RECORD_MIGRATION.text, [Number(file.slice(0, 4)), file, checksum]);
    }
    await client.query(data);
    const text = readFileSync(join(FOLDER, migration), 'utf8');
    const migrate = async () => void (await client.query(`BEGIN; ${text}; COMMIT`));
    return await work({ url, client, text, migrate });
  } finally {
    await client.end();
    await dropDatabase(adminUrl, name);
  }
}
