// The migration that gives each terminal to one merchant, on an installation where two have the same.
import { expect, test } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { migrate } from '../../src/postgres/migrations.js';
import { beforeMigration } from '../../testkit/earlier-schema.js';

const MIGRATION = '0043_requests_and_acceptors.sql';
const MERCHANTS = `
  INSERT INTO organisation (name) VALUES ('One'), ('Two');
  INSERT INTO acquirer (name, kind, mode, host, port, dialect) VALUES ('bank', 'iso8583', 'test', 'localhost', 1, 'as2805');
  INSERT INTO merchant (organisation_id, name, mode, acquirer, acceptor_id, terminals) VALUES
    (1, 'First', 'test', 'bank', 'SHOP', '{T1,T2}'), (2, 'Second', 'test', 'simulator', 'SHOP', '{T2,T3}'),
    (2, 'Simulated', 'test', 'simulator', 'SHOP', '{T1}')`;

const migrated = (url: string): Promise<string[]> => {
  const database = new Database(url, { maxConnections: 1, patient: true });
  return migrate(database).finally(() => database.close());
};

test('two merchants with the same acceptor ID and terminal, one of them by a route → not migrated, in one line with their numbers; mended → migrated', async () => {
  const routed = `INSERT INTO route (organisation_id, merchant_id, acquirer) VALUES (2, 2, 'bank')`;
  await beforeMigration(MIGRATION, `${MERCHANTS}; ${routed}`, async ({ url, client }) => {
    await expect(migrated(url)).rejects.toThrow(
      `${MIGRATION}: merchants 1, 2 have acceptor ID SHOP with terminal T2 at bank: one acceptor ID with one terminal`,
    );
    await client.query(`UPDATE merchant SET terminals = '{T3}' WHERE id = 2`);
    expect(await migrated(url)).toContain(MIGRATION);
    const { rows } = await client.query('SELECT merchant_id, terminal FROM acquirer_terminal ORDER BY 1, 2');
    expect(rows).toEqual([
      { merchant_id: 1, terminal: 'T1' },
      { merchant_id: 1, terminal: 'T2' },
      { merchant_id: 2, terminal: 'T3' },
    ]);
  });
});
