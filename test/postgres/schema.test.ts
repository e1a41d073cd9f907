// The schema: made whole for a new database, and reached by migrations from one that is there. Both ways lead to the same.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { describe, expect, inject, test } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { migrate } from '../../src/postgres/schema.js';
import { administer, databaseUrl, dropDatabase } from '../../testkit/database-server.js';
import { databaseName } from '../../testkit/gateway.js';

/** What migrations lead on from: the schema of version 45, as 42 files had left it that are gone. It is never changed. */
const FIRST = gunzipSync(readFileSync(new URL('schema-45.sql.gz', import.meta.url))).toString();

/** All that PostgreSQL knows of it, a line for each thing. */
const DESCRIBE = `
  WITH relation AS (
    SELECT c.* FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
  )
  SELECT format('%s %s %s %s %s', relkind, relname, reloptions, pg_get_expr(relpartbound, oid), relacl) AS line FROM relation
  UNION ALL
  SELECT format('column %s %s %s %s %s %s %s %s %s %s', c.relname, count(*) OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
    format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attgenerated, a.attidentity,
    a.attcollation::regcollation, a.attacl)
  FROM relation c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  UNION ALL
  SELECT format('constraint %s %s %s %s', c.relname, k.conname, k.convalidated, pg_get_constraintdef(k.oid))
  FROM relation c JOIN pg_constraint k ON k.conrelid = c.oid
  UNION ALL SELECT pg_get_indexdef(oid) FROM relation WHERE relkind IN ('i', 'I')
  UNION ALL SELECT pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
  UNION ALL
  SELECT format('%s %s', t.tgenabled, pg_get_triggerdef(t.oid)) FROM relation c JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
  UNION ALL
  SELECT format('sequence %s %s %s %s %s %s', c.relname, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmax, s.seqcache)
  FROM relation c JOIN pg_sequence s ON s.seqrelid = c.oid
  UNION ALL
  SELECT format('%s %s', pg_get_functiondef(p.oid), p.proacl) FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  UNION ALL SELECT format('comment %s %s %s', o.objoid::regclass, o.objsubid, o.description) FROM pg_description o
    JOIN relation c ON c.oid = o.objoid AND o.classoid = 'pg_class'::regclass
  UNION ALL SELECT format('default rights %s %s', defaclobjtype, defaclacl) FROM pg_default_acl
  UNION ALL SELECT format('extension %s', extname) FROM pg_extension
  UNION ALL SELECT format('row of gateway %s', to_jsonb(g) - '{installation,sweep_at}'::text[]) FROM gateway g
  UNION ALL SELECT format('row of event_sequencer %s', to_jsonb(e) - 'cursor_key') FROM event_sequencer e
  UNION ALL SELECT format('row of journal_chain %s', to_jsonb(j)) FROM journal_chain j
  UNION ALL SELECT format('row of figures_progress %s', to_jsonb(f)) FROM figures_progress f
  ORDER BY line`;

const CHANGES = [
  'ALTER TABLE transaction ADD forgotten integer',
  'ALTER TABLE route ALTER place SET DEFAULT 2',
  'ALTER TABLE token ALTER version DROP NOT NULL',
  'ALTER TABLE transaction DROP CONSTRAINT sound',
  'ALTER TABLE event SET (fillfactor = 50)',
  'ALTER TABLE journal DISABLE TRIGGER journal_append_only',
  'DROP INDEX transaction_by_time',
  'ALTER SEQUENCE event_id CACHE 64',
  'ALTER FUNCTION event_day() VOLATILE',
  'DROP FUNCTION lease_stans',
  'CREATE VIEW another AS SELECT FROM token',
  'REVOKE UPDATE (created_at) ON merchant FROM tollgate_application',
  'GRANT DELETE ON token TO tollgate_application',
  'ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE SELECT ON TABLES FROM tollgate_operator',
  'UPDATE gateway SET newest_absence = 1',
];

let count = 0;

/** With this in it, for as long as the work takes. */
async function withDatabase<Result>(
  text: string,
  work: (database: Database, url: string) => Promise<Result>,
): Promise<Result> {
  const adminUrl = inject('adminUrl');
  count += 1;
  const name = databaseName(`schema_${count}`);
  await administer(adminUrl, `CREATE DATABASE ${name}`);
  const url = databaseUrl(adminUrl, name);
  const database = new Database(url, { maxConnections: 1, patient: true });
  try {
    await administer(url, text);
    return await work(database, url);
  } finally {
    await database.close();
    await dropDatabase(adminUrl, name);
  }
}

const linesOf = async (database: Database, text: string) =>
  (await database.query<{ line: string }>({ name: '', text })).rows.map(({ line }) => line);

const upToDate = (text: string) =>
  withDatabase(text, async (database) => {
    const { applied } = await migrate(database);
    return { applied, schema: await linesOf(database, DESCRIBE) };
  });

describe('a new database and a migrated one', () => {
  test('→ have the same tables, constraints, indexes, functions, triggers, rights and first rows', async () => {
    const [made, migrated] = await Promise.all([upToDate(''), upToDate(FIRST)]);
    expect(made.applied).toEqual(['schema']);
    expect(migrated.applied[0]).toBe('0046_nothing_earlier.sql');
    expect(migrated.schema).toEqual(made.schema);
    expect(made.schema.length).toBeGreaterThan(1_500);
  });

  test('with any difference → reported', async () => {
    const unnoticed = await withDatabase('', async (database, url) => {
      await migrate(database);
      const before = await linesOf(database, DESCRIBE);
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const found: string[] = [];
      for (const change of CHANGES) {
        await client.query(`BEGIN; ${change}`);
        const { rows } = await client.query<{ line: string }>(DESCRIBE);
        if (rows.map(({ line }) => line).join() === before.join()) found.push(change);
        await client.query('ROLLBACK');
      }
      await client.end();
      return found;
    });
    expect(unnoticed).toEqual([]);
  });
});

describe('an existing database', () => {
  const refused = (text: string) =>
    withDatabase(text, async (database) => {
      const tables = `SELECT string_agg(relname, ' ' ORDER BY relname) AS line FROM pg_class WHERE relkind = 'r'`;
      const before = await linesOf(database, tables);
      const error = await migrate(database).catch((thrown: Error) => thrown);
      expect(await linesOf(database, tables)).toEqual(before);
      return (error as Error).message;
    });

  test('from before the first release → refused in one line, and nothing is changed', async () => {
    const before = 'the database has schema version 44 from before the first release';
    expect(await refused(`${FIRST}; DELETE FROM schema_migration WHERE version = 45`)).toBe(
      `${before}: only an unchanged version 45 can be migrated`,
    );
  });

  test('with unknown migrations → refused in one line, and nothing is changed', async () => {
    const other = `UPDATE schema_migration SET checksum = 'another' WHERE version = 7`;
    expect(await refused(`${FIRST}; ${other}`)).toContain('only an unchanged version 45 can be migrated');
  });

  test('made by a later release, or with a migration that was changed since → refused in one line', async () => {
    const whole = (version: number) =>
      `${FIRST}; DELETE FROM schema_migration; INSERT INTO schema_migration VALUES (${version}, 'schema', '')`;
    expect(await refused(whole(9_999))).toBe(
      'the database has schema version 9999, which this release does not know',
    );
    const changed = `INSERT INTO schema_migration VALUES (46, '0046_nothing_earlier.sql', 'another')`;
    expect(await refused(`${whole(45)}; ${changed}`)).toBe(
      'migration 0046_nothing_earlier.sql was changed after it was applied',
    );
  });

  test.each([
    [
      'seals',
      `INSERT INTO organisation (name) VALUES ('One'); INSERT INTO merchant (organisation_id, name) VALUES (1, 'One');
       INSERT INTO data_key (organisation_id, merchant_id, version, key_encryption_key, wrapped, form) VALUES (1, 1, 1, '', '', 1)`,
      'seals of merchants 1 are those of a time before the first release',
    ],
    [
      'a journal',
      'UPDATE journal_chain SET earlier_up_to = 7',
      'the journal has entries of a time before the first release',
    ],
  ])('with %s from before the first release → refused in one line', async (_what, data, expected) => {
    expect(await refused(`${FIRST}; ${data}`)).toMatch(`0046_nothing_earlier.sql: ${expected}`);
  });

  test('migrated by several processes at once → one does it, and the others find it done', async () => {
    const applied = await withDatabase(FIRST, async (database, url) => {
      const others = [1, 2, 3].map(() => new Database(url, { maxConnections: 1, patient: true }));
      const done = await Promise.all([database, ...others].map((each) => migrate(each)));
      await Promise.all(others.map((each) => each.close()));
      return done.map((each) => each.applied.length > 0);
    });
    expect(applied.filter(Boolean)).toHaveLength(1);
  });
});
