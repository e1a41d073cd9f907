// How a gateway's tables are filled with millions of rows in little time.
import pg from 'pg';
import type { StandaloneGateway } from '../testkit/standalone.js';

export async function withDatabase<Result>(
  gateway: StandaloneGateway,
  work: (database: pg.Client) => Promise<Result>,
): Promise<Result> {
  const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
  await database.connect();
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}

/** Indexes are made anew afterwards, which takes far less time than to keep them while so much is filled in. */
export async function withoutIndexes(
  gateway: StandaloneGateway,
  database: pg.Client,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> {
  const { rows: indexes } = await database.query<{ dropped: string; made: string }>(
    `SELECT CASE WHEN c.oid IS NULL THEN format('DROP INDEX %s', i.indexrelid::regclass)
         ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, c.conname) END AS dropped,
       CASE WHEN c.oid IS NULL THEN pg_get_indexdef(i.indexrelid)
         ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) END AS made
     FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid
     WHERE i.indrelid = ANY ($1::regclass[]) AND NOT i.indisprimary`,
    [tables],
  );
  const alterEach = async (action: string) => {
    for (const table of tables) await database.query(`ALTER TABLE ${table} ${action}`);
  };
  // It stands still meanwhile: its own looks would read everything.
  process.kill(gateway.pid, 'SIGSTOP');
  try {
    await alterEach('SET (autovacuum_enabled = false)');
    for (const { dropped } of indexes) await database.query(dropped);
    await fill();
    await database.query(`SET maintenance_work_mem = '2GB'`);
    for (const { made } of indexes) await database.query(made);
    await alterEach('RESET (autovacuum_enabled)');
  } finally {
    process.kill(gateway.pid, 'SIGCONT');
  }
}

/** What autovacuum would do sooner or later: with statistics of its own time a plan can be another. */
export async function tidyUp(database: pg.Client): Promise<void> {
  await database.query('VACUUM (ANALYZE)');
  await database.query('CHECKPOINT');
}
