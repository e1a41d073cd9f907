// A PostgreSQL that may lose what it has committed is refused before anything is stored in it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connect } from '../../src/cli/connection.js';
import { readSettings } from '../../src/cli/settings.js';
import { administer } from '../support/database-server.js';
import { type TestDatabase, testDatabase } from '../support/gateway.js';

let database: TestDatabase;
let name: string;
beforeEach(async () => {
  database = await testDatabase();
  name = new URL(database.url).pathname.slice(1);
});
afterEach(() => database.drop());

const connecting = () => connect(readSettings({ DATABASE_URL: database.url }));

test('a server with fsync and synchronous_commit on → used', async () => {
  expect((await connecting()).url).toBe(database.url);
});

test('a server that says that it runs with fsync off → refused', async () => {
  // One that really does would have to be started for it; this one only says so.
  await administer(
    database.url,
    `CREATE FUNCTION public.current_setting(text) RETURNS text LANGUAGE sql AS
      $$ SELECT CASE $1 WHEN 'fsync' THEN 'off' ELSE pg_catalog.current_setting($1) END $$`,
  );
  await administer(database.url, `ALTER DATABASE ${name} SET search_path = public, pg_catalog`);
  await expect(connecting()).rejects.toThrow('this server runs with fsync off and may lose payments');
});

test('a database with synchronous_commit off → refused', async () => {
  await administer(database.url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
  await expect(connecting()).rejects.toThrow(
    'this server runs with synchronous_commit off and may lose payments',
  );
});
