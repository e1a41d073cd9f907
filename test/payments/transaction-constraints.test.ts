// Rows that the schema refuses, whatever writes them: each is sent straight to PostgreSQL.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const ALLOWED: Readonly<Record<string, unknown>> = {
  organisation_id: 1,
  created_at: '2026-01-01T00:00:00Z',
  amount_cents: 100,
  merchant_id: 1,
  gateway_status_code: 0,
  transaction_type: 'purchase',
  status: 'approved',
  currency: 'AUD',
  reference: 'order-1',
  acquirer: 'simulator',
};

let last = 1_000_000;

/** Writes a valid row with these changes. */
function insert(change: Readonly<Record<string, unknown>> = {}): Promise<object[]> {
  last += 1;
  const row = { ...ALLOWED, audit: last, correlation_id: `row-${last}`, ...change };
  const columns = Object.keys(row);
  const places = columns.map((_, index) => `$${index + 1}`);
  return gateway.sql(
    `INSERT INTO transaction (${columns.join()}) VALUES (${places.join()})`,
    Object.values(row),
  );
}

const PREAUTHORISED = { transaction_type: 'preauthorisation' };

test.each<[string, Readonly<Record<string, unknown>>]>([
  ['a purchase', {}],
  ['one in doubt', { status: 'unknown', gateway_status_code: -99 }],
  ['a purchase refunded in full', { refunded_cents: 100 }],
  ['a completion refunded in part', { transaction_type: 'completion', target_audit: 1, refunded_cents: 1 }],
  ['a completed preauthorisation', { ...PREAUTHORISED, completed_by: 7, completed_cents: 100 }],
  ['a voided purchase', { status: 'voided', voided_by: 7 }],
  ['a void', { transaction_type: 'void', target_audit: 1 }],
])('%s → stored', async (_, change) => {
  await expect(insert(change)).resolves.toEqual([]);
});

const CHECKED = '23514';

test.each<[string, Readonly<Record<string, unknown>>]>([
  // catches(schema: by the short rule an audit is positive)
  // catches(schema: an audit is positive)
  ['an audit is positive', { audit: 0 }],
  // catches(schema: by the short rule an amount is positive)
  // catches(schema: an amount is positive)
  ['an amount is positive', { amount_cents: 0 }],
  // catches(schema: a type that nobody knows)
  ['a type that nobody knows', { transaction_type: 'reverse' }],
  // catches(schema: a status that nobody knows)
  ['a status that nobody knows', { status: 'done' }],
  // catches(schema: by the short rule an answer has a status)
  // catches(schema: in doubt is -99, and nothing else is)
  ['in doubt is -99, and nothing else is', { status: 'unknown', gateway_status_code: 0 }],
  // catches(schema: by the short rule an answer has a status)
  // catches(schema: in doubt is -99, and nothing else is)
  ['in doubt is -99, and nothing else is', { status: 'approved', gateway_status_code: -99 }],
  // catches(schema: by the short rule nothing is refunded)
  // catches(schema: refunds of more than the amount)
  ['refunds of more than the amount', { refunded_cents: 101 }],
  // catches(schema: refunds of less than nothing)
  ['refunds of less than nothing', { refunded_cents: -1 }],
  // catches(schema: refunds of what cannot be refunded)
  ['refunds of what cannot be refunded', { ...PREAUTHORISED, refunded_cents: 1 }],
  // catches(schema: a completion of more than the amount)
  ['a completion of more than the amount', { ...PREAUTHORISED, completed_by: 7, completed_cents: 101 }],
  // catches(schema: a completed amount without a completion)
  ['a completed amount without a completion', { ...PREAUTHORISED, completed_cents: 1 }],
  // catches(schema: a completion without an amount)
  ['a completion without an amount', { ...PREAUTHORISED, completed_by: 7 }],
  // catches(schema: by the short rule there is no completion)
  // catches(schema: a completion of what is no preauthorisation)
  ['a completion of what is no preauthorisation', { completed_by: 7, completed_cents: 1 }],
  // catches(schema: by the short rule there is no completion)
  // catches(schema: a completion of what is no preauthorisation)
  ['a completion of what is no preauthorisation', { completed_by: 7 }],
  // catches(schema: by the short rule no amount is completed)
  ['a completed amount of what is no preauthorisation', { completed_cents: 1 }],
  // catches(schema: a void of what has refunds)
  ['a void of what has refunds', { voided_by: 7, refunded_cents: 1 }],
  // catches(schema: a void of what is completed)
  ['a void of what is completed', { ...PREAUTHORISED, voided_by: 7, completed_by: 8, completed_cents: 1 }],
  // catches(schema: a void of a void)
  ['a void of a void', { transaction_type: 'void', target_audit: 1, voided_by: 7 }],
  // catches(schema: voided without a void)
  ['voided without a void', { status: 'voided' }],
  // catches(schema: an operation without its target)
  ['an operation without its target', { transaction_type: 'refund' }],
  // catches(schema: an operation without its target)
  ['an operation without its target', { transaction_type: 'completion' }],
  // catches(schema: an operation without its target)
  ['an operation without its target', { transaction_type: 'void' }],
  // catches(schema: by the short rule there is no target)
  // catches(schema: a target where none is due)
  ['a target where none is due', { target_audit: 1 }],
])('%s: %j → refused', async (_, change) => {
  await expect(insert(change)).rejects.toMatchObject({ code: CHECKED });
});

test('a violated constraint → the error names it, and shows nothing of the row', async () => {
  const refused = insert({ refunded_cents: 101 });
  await expect(refused).rejects.toMatchObject({ constraint: 'refunds_fit', detail: undefined });
});

// catches(schema: an audit is given once)
test('an audit is assigned once → the second is refused, under any correlation ID', async () => {
  await insert({ audit: 77_777 });
  await expect(insert({ audit: 77_777 })).rejects.toMatchObject({ code: '23505' });
});

test.each([
  // catches(schema: more audits than the interface can name)
  ['more audits than the interface can name', 'UPDATE organisation SET next_audit = 2147483649', CHECKED],
  // catches(schema: the clock set back)
  ['the clock set back', 'UPDATE gateway SET advanced_ms = -1', CHECKED],
  [
    // catches(schema: a counter of STANs is not set back)
    'a counter of STANs is set back',
    `INSERT INTO stan_counter (terminal, leased) VALUES ('T9', 5); UPDATE stan_counter SET leased = 4 WHERE terminal = 'T9'`,
    CHECKED,
  ],
  // catches(schema: a grant across organisations)
  ['a grant across organisations', `INSERT INTO user_grant VALUES (2, 'owner', 4)`, '23503'],
  // catches(schema: a grant of a merchant of another organisation)
  ['a grant of a merchant of another organisation', `INSERT INTO user_grant VALUES (1, 'owner', 4)`, '23503'],
  // catches(schema: a user of a merchant of another organisation)
  ['a user of a merchant of another organisation', 'UPDATE gateway_user SET merchant_id = 4', '23503'],
  [
    // catches(schema: a surcharge of less than nothing or more than the amount)
    'a surcharge of less than nothing or more than the amount',
    `INSERT INTO surcharge_rule VALUES (1, 1, 'default', -1, NULL, NULL)`,
    CHECKED,
  ],
  [
    // catches(schema: a surcharge of less than nothing or more than the amount)
    'a surcharge of less than nothing or more than the amount',
    `INSERT INTO surcharge_rule VALUES (1, 1, 'default', 100001, NULL, NULL)`,
    CHECKED,
  ],
  [
    // catches(schema: a surcharge that ends before it begins)
    'a surcharge that ends before it begins',
    `INSERT INTO surcharge_rule VALUES (1, 1, 'default', 1000, '2026-02-02', '2026-02-01')`,
    CHECKED,
  ],
  [
    // catches(schema: two surcharges for the same thing from the same day)
    'two surcharges for the same thing from the same day',
    `INSERT INTO surcharge_rule VALUES (1, 1, 'default', 1000, NULL, NULL), (1, 1, 'default', 2000, NULL, NULL)`,
    '23505',
  ],
])('%s: %s → refused', async (_, statement, code) => {
  await expect(gateway.sql(statement)).rejects.toMatchObject({ code });
});
