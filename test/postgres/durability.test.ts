// A PostgreSQL that may lose what it has committed is refused before anything is stored in it.
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/gateway/database/connection.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { Database, DatabaseUnavailable } from '../../src/postgres/database.js';
import { administer } from '../../testkit/database-server.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';

let database: TestDatabase;
let name: string;
beforeEach(async () => {
  database = await testDatabase();
  name = new URL(database.url).pathname.slice(1);
});
afterEach(() => database.drop());

const connecting = () => connect(readSettings({ DATABASE_URL: database.url }));

test('a server with fsync and synchronous_commit on → used', async () => {
  expect((await connecting()).logins.serving).toBe(database.url);
});

// catches(durability: a PostgreSQL with fsync off is refused)
test('a server with fsync off → refused', async () => {
  // One that really does would have to be started for it; this one only says so.
  await administer(
    database.url,
    `CREATE FUNCTION public.current_setting(text) RETURNS text LANGUAGE sql AS
      $$ SELECT CASE $1 WHEN 'fsync' THEN 'off' ELSE pg_catalog.current_setting($1) END $$`,
  );
  await administer(database.url, `ALTER DATABASE ${name} SET search_path = public, pg_catalog`);
  await expect(connecting()).rejects.toThrow('this server runs with fsync off and may lose payments');
});

test.each(['off', 'local', 'remote_write'])(
  // catches(durability: a PostgreSQL with synchronous_commit off is refused)
  'a database with synchronous_commit %s → refused',
  async (value) => {
    await administer(database.url, `ALTER DATABASE ${name} SET synchronous_commit = ${value}`);
    await expect(connecting()).rejects.toThrow(
      `DATABASE_URL: synchronous_commit is ${value} and payments may be lost; it must be on or remote_apply`,
    );
  },
);

test('a login whose sessions do not wait for the log, found only after the start → none of its sessions is used', async () => {
  const ours = new Database(database.url, { maxConnections: 1 });
  onTestFinished(() => ours.close());
  await ours.query({ name: '', text: 'SELECT 1' });
  await administer(database.url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
  await administer(
    database.url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND application_name = 'tollgate'`,
  );
  await expect(ours.query({ name: '', text: 'SELECT 1' })).rejects.toThrow(DatabaseUnavailable);
  await expect(ours.query({ name: '', text: 'SELECT 1' })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('synchronous_commit is off') },
  });
});

test('options in the address → apply, and do not replace those of the gateway', async () => {
  const ours = new Database(`${database.url}?options=-c%20search_path%3Dpublic&connect_timeout=3`, {});
  onTestFinished(() => ours.close());
  const text = `SELECT current_setting('search_path') AS path, current_setting('plan_cache_mode') AS mode`;
  const { rows } = await ours.query({ name: '', text });
  expect(rows).toEqual([{ path: 'public', mode: 'force_custom_plan' }]);
});
