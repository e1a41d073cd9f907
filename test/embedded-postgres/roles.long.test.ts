// Whom the embedded PostgreSQL lets in: three logins, none of them a superuser, each with its own rights.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import { Database } from '../../src/postgres/database.js';
import { migrate } from '../../src/postgres/schema.js';
import { query, removeUsedDirectory, removeWhatWasMade, usedDirectory } from './data-directories.js';

afterEach(removeWhatWasMade);
afterEach(removeUsedDirectory);

const REFUSED = { code: '42501' };

async function migrated(url: string): Promise<void> {
  const database = new Database(url, { maxConnections: 1, patient: true });
  await migrate(database).finally(() => database.close());
}

describe('the logins', () => {
  // catches(roles: no login of the embedded PostgreSQL is a superuser)
  test('none is a superuser, reads a file, runs a program, or can become another role', async () => {
    const dataDir = await usedDirectory();
    const { logins, url, stop } = await openEmbeddedPostgres({ dataDir });
    await writeFile(join(dataDir, 'key-encryption-key'), 'a key');
    await migrated(logins.migrating);
    expect(new Set([url, ...Object.values(logins)].map((each) => new URL(each).password)).size).toBe(4);
    for (const login of Object.values(logins)) {
      const [found] = await query(
        login,
        'SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = session_user',
      );
      expect(Object.values(found as object)).toEqual([false, false, false, false, false]);
      for (const statement of [
        `SELECT pg_read_file('${join(dataDir, 'key-encryption-key')}')`,
        `SELECT pg_ls_dir('/')`,
        `COPY (SELECT 1) TO PROGRAM 'true'`,
        `COPY journal FROM '/etc/passwd'`,
        `SELECT lo_import('/etc/passwd')`,
        'SET ROLE tollgate',
        'SET SESSION AUTHORIZATION tollgate',
        `ALTER ROLE tollgate PASSWORD 'mine'`,
        'CREATE ROLE mine SUPERUSER LOGIN',
        `ALTER SYSTEM SET archive_command = 'true'`,
      ]) {
        await expect(query(login, statement), statement).rejects.toMatchObject(REFUSED);
      }
    }
    await stop();
  });

  // catches(roles: operators remove no token)
  // catches(roles: operators do not change the journal)
  // catches(roles: who serves lets nobody in, and sends no money elsewhere)
  // catches(roles: who serves does not say how a merchant looks to payers)
  test('the serving role cannot add users, redirect money or change history; the operators’ role can do the first two', async () => {
    const { logins, stop } = await openEmbeddedPostgres({ dataDir: await usedDirectory() });
    await migrated(logins.migrating);
    const settings = [
      `INSERT INTO organisation (name) VALUES ('Mine')`,
      `UPDATE merchant SET acquirer = 'mine'`,
      `UPDATE acquirer SET host = 'mine'`,
      'DELETE FROM route',
      `UPDATE direct_entry SET trace_account = '1'`,
      'DELETE FROM surcharge_rule',
      `UPDATE merchant_brand SET display_name = 'Mine'`,
    ];
    const never = [
      `UPDATE journal SET actor = 'nobody'`,
      'DELETE FROM journal',
      'TRUNCATE journal',
      'DELETE FROM token',
      'DELETE FROM schema_migration',
      'ALTER TABLE token DISABLE TRIGGER ALL',
      'DROP TRIGGER token_is_kept ON token',
      'SET session_replication_role = replica',
      'CREATE TABLE mine (id integer)',
      'SET ROLE tollgate_owner',
    ];
    for (const statement of [...settings, ...never])
      await expect(query(logins.serving, statement), statement).rejects.toMatchObject(REFUSED);
    for (const statement of settings) await query(logins.operating, statement);
    for (const statement of never)
      await expect(query(logins.operating, statement), statement).rejects.toMatchObject(REFUSED);
    // What failovers are noticed by needs no more rights than these.
    expect(await query(logins.serving, 'SELECT database_lineage() <> $$$$ AS known')).toEqual([
      { known: true },
    ]);
    // A login that may only read can find that there is nothing to migrate.
    await migrated(logins.serving);
    await stop();
  });
});
