// What becomes of an installation from before there were modes.
import { expect, test } from 'vitest';
import { beforeMigration } from '../../testkit/earlier-schema.js';

const MODES = '0011_modes.sql';

/** Merchant 1 has no bank, 2 got a real one today, and 3 tries its settings with the simulated one. */
const DATA = `
  INSERT INTO organisation (name) VALUES ('Ours');
  INSERT INTO merchant (organisation_id, name) VALUES (1, 'One'), (1, 'Two'), (1, 'Three');
  INSERT INTO direct_entry SELECT 1, merchant, 'CBA', 'OURS', '301500', 'RENT', '062-111', '87654321', 'OURS', 2, 365, merchant = 3
    FROM generate_series(2, 3) merchant;
  INSERT INTO journal (organisation_id, merchant_id, actor, action, detail)
    VALUES (1, 2, 'operator:test', 'directdebit.set', 'CBA'), (1, 3, 'operator:test', 'directdebit.set', 'CBA, simulated');
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, gateway_status_code, transaction_type,
    status, currency, correlation_id, reference, acquirer, voidable_until)
  SELECT 1, audit, now() + days * interval '1 day', 100, merchant, 0, 'purchase', 'pending', 'AUD', audit::text, 'r', 'directdebit', now()
  FROM (VALUES (1, 1, 0), (2, 2, -3), (3, 2, 1), (4, 3, 1), (5, 2, -2), (6, 2, 1)) AS made(audit, merchant, days);
  INSERT INTO directdebit_file (organisation_id, merchant_id, number, made_at, processing_day, settings, items, debit_cents,
    credit_cents, written_at, taken_at)
  SELECT 1, 2, number, now(), now(), '{}', 1, 100, 0, now(), now() FROM generate_series(1, 2) number;
  -- What waited when the bank was set was handed to it.
  INSERT INTO directdebit_item (organisation_id, audit, merchant_id, account_audit, next_at, state, file_number, line)
  SELECT 1, audit, merchant_id, audit, CASE WHEN merchant_id <> 2 THEN voidable_until END,
    CASE WHEN audit > 4 THEN 'filed' ELSE 'waiting' END, CASE WHEN audit > 4 THEN audit - 4 END, CASE WHEN audit > 4 THEN 1 END
  FROM transaction`;

function migrated(advancedMs: number): Promise<{ merchants: unknown[]; items: unknown[] }> {
  return beforeMigration(MODES, DATA, async ({ client, migrate }) => {
    await client.query('UPDATE gateway SET advanced_ms = $1', [advancedMs]);
    await migrate();
    const { rows: merchants } = await client.query('SELECT id, mode, acquirer FROM merchant ORDER BY id');
    const { rows: items } = await client.query(`
      SELECT i.audit, i.simulated, t.acquirer, i.next_at IS NOT NULL AS timed FROM directdebit_item i
      JOIN transaction t USING (organisation_id, audit) ORDER BY i.audit`);
    return { merchants, items };
  });
}

test('merchants are test, those with a real bank live; what came before the bank stays with the simulated one', async () => {
  const { merchants, items } = await migrated(0);
  expect(merchants).toEqual([
    { id: 1, mode: 'test', acquirer: 'simulator' },
    { id: 2, mode: 'live', acquirer: null },
    { id: 3, mode: 'test', acquirer: 'simulator' },
  ]);
  const [simulated, own] = ['simulated-bank', 'directdebit'];
  expect(items).toEqual([
    { audit: 1, simulated: true, acquirer: simulated, timed: true },
    { audit: 2, simulated: true, acquirer: simulated, timed: true },
    { audit: 3, simulated: false, acquirer: own, timed: false },
    { audit: 4, simulated: true, acquirer: simulated, timed: true },
    { audit: 5, simulated: true, acquirer: simulated, timed: false },
    { audit: 6, simulated: false, acquirer: own, timed: false },
  ]);
});

test('the clock is ahead → every merchant is test', async () => {
  const { merchants } = await migrated(1_000);
  expect(merchants.map((merchant) => (merchant as { mode: string }).mode)).toEqual(['test', 'test', 'test']);
});
