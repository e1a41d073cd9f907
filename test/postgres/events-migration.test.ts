// What becomes of the transactions of an installation from before there were events.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { MIGRATION_TABLE } from '../../src/postgres/migrations.sql.js';
import { administer, databaseUrl, dropDatabase } from '../../testkit/database-server.js';
import { PROJECT_ROOT } from '../../testkit/project.js';

const FOLDER = join(PROJECT_ROOT, 'migrations');
const EVENTS = '0013_events.sql';
const BEFORE = readdirSync(FOLDER).filter((name) => name.endsWith('.sql') && name < EVENTS);

const DATA = `
  INSERT INTO organisation (name) VALUES ('Ours');
  INSERT INTO merchant (organisation_id, name) VALUES (1, 'One');
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, gateway_status_code, transaction_type,
    status, currency, correlation_id, reference, acquirer, card_key_version, card_sealed, decided_at)
  VALUES (1, 1, now(), 100, 1, 0, 'purchase', 'approved', 'AUD', 'one', 'r', 'simulator', 3, '\\x0102', now()),
    (1, 2, now(), 100, 1, -99, 'purchase', 'unknown', 'AUD', 'two', 'r', 'simulator', NULL, NULL, NULL)`;

test('transactions keep what is sealed with them, and nothing is told of what they went through', async () => {
  const adminUrl = inject('adminUrl');
  const name = `tollgate_test_events_${process.pid}`;
  await administer(adminUrl, `CREATE DATABASE ${name}`);
  const client = new pg.Client({ connectionString: databaseUrl(adminUrl, name) });
  await client.connect();
  try {
    await client.query(MIGRATION_TABLE);
    for (const file of BEFORE) await client.query(readFileSync(join(FOLDER, file), 'utf8'));
    await client.query(DATA);
    // As `migrate` does it: in one transaction.
    await client.query(`BEGIN; ${readFileSync(join(FOLDER, EVENTS), 'utf8')}; COMMIT`);
    const { rows } = await client.query(`
      SELECT audit, status, version, payment_details_key_version AS key, encode(payment_details_sealed, 'hex') AS sealed
      FROM transaction ORDER BY audit`);
    expect(rows).toEqual([
      { audit: 1, status: 'approved', version: 0, key: 3, sealed: '0102' },
      { audit: 2, status: 'unknown', version: 0, key: null, sealed: null },
    ]);
    expect((await client.query('SELECT FROM event')).rows).toEqual([]);
  } finally {
    await client.end();
    await dropDatabase(adminUrl, name);
  }
});
