// What becomes of the transactions of an installation from before there were events.
import { expect, test } from 'vitest';
import { beforeMigration } from '../../testkit/earlier-schema.js';

const EVENTS = '0013_events.sql';

const DATA = `
  INSERT INTO organisation (name) VALUES ('Ours');
  INSERT INTO merchant (organisation_id, name) VALUES (1, 'One');
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, gateway_status_code, transaction_type,
    status, currency, correlation_id, reference, acquirer, card_key_version, card_sealed, decided_at)
  VALUES (1, 1, now(), 100, 1, 0, 'purchase', 'approved', 'AUD', 'one', 'r', 'simulator', 3, '\\x0102', now()),
    (1, 2, now(), 100, 1, -99, 'purchase', 'unknown', 'AUD', 'two', 'r', 'simulator', NULL, NULL, NULL)`;

test('transactions keep what is sealed with them, and nothing is told of what they went through', async () => {
  await beforeMigration(EVENTS, DATA, async ({ client, migrate }) => {
    await migrate();
    const { rows } = await client.query(`
      SELECT audit, status, version, payment_details_key_version AS key, encode(payment_details_sealed, 'hex') AS sealed
      FROM transaction ORDER BY audit`);
    expect(rows).toEqual([
      { audit: 1, status: 'approved', version: 0, key: 3, sealed: '0102' },
      { audit: 2, status: 'unknown', version: 0, key: null, sealed: null },
    ]);
    expect((await client.query('SELECT FROM event')).rows).toEqual([]);
  });
});
