// What a settlement day comes to: which transactions count, where, and for whom.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { takeReturns } from '../../src/directdebit/returns.js';
import { STORED_OUTCOME } from '../../src/payments/pipeline/record.sql.js';
import type { StoredOutcome } from '../../src/payments/transaction.js';
import type { Audit, OrganisationId } from '../../src/values/ids.js';
import { DataKeys } from '../../src/vault/keys/keys.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { operatorOf } from '../../testkit/sealed-rows.js';
import {
  gatewayNow,
  inShort,
  openDay,
  passClose,
  settlementOf,
  untilClosed,
} from '../../testkit/settlement-days.js';
import { DECLINED_CARD, LOST_REQUEST_CARD, UNREACHABLE_CARD } from '../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const AMEX = '378282246310005';

test('one of each kind → a line for each card type and transaction type, and the net; holds and failures do not count', async () => {
  const { api } = gateway;
  const day = await openDay(gateway);
  await api.purchase({ amount: 1_000 });
  await api.purchase({ amount: 2_000 });
  await api.purchase({ amount: 500, pan: AMEX });
  const held = (await api.preauthorise({ amount: 900 })).body.audit;
  await api.complete(held, 800);
  await api.preauthorise({ amount: 700 });
  const sold = (await api.purchase({ amount: 4_000 })).body.audit;
  await api.refund(sold, 1_500);
  await api.standaloneRefund({ amount: 250 });
  for (const pan of [DECLINED_CARD, UNREACHABLE_CARD]) await api.purchase({ pan });
  const lost = await api.purchase({ pan: LOST_REQUEST_CARD });
  await api.decided(Number(lost.headers.get('location')?.split('/').at(-1)));
  const report = await settlementOf(api, day, 1);
  expect(inShort(report)).toEqual([
    'amex purchase 1 500',
    'visa completion 1 800',
    'visa purchase 3 7000',
    'visa refund 1 -1500',
    'visa standalone_refund 1 -250',
  ]);
  expect(report).toMatchObject({
    date: day,
    closed: false,
    closes: expect.stringMatching(new RegExp(`^${day}T18:00:00\\.000\\+1[01]:00$`)),
    net: [{ merchant: { id: 1 }, currency: 'AUD', total_amount: '6550' }],
    _links: { self: { href: `/v1/settlements/${day}?merchant_id=1` } },
  });
  expect(report.lines[0]).toEqual({
    merchant: { id: 1 },
    acquirer: 'simulator',
    payment_method: 'creditcard',
    card_type: 'amex',
    transaction_type: 'purchase',
    currency: 'AUD',
    count: 1,
    total_amount: '500',
  });
});

// catches(settlement: a void of a hold settles nothing)
// catches(settlement: a void takes back what has settled)
test('voided on its own day → both are listed and cancel out; a voided refund gives back its amount', async () => {
  const { api } = gateway;
  const day = await openDay(gateway);
  const change = { merchant: 2 };
  await api.void((await api.purchase({ ...change, amount: 300 })).body.audit, change);
  await api.void((await api.preauthorise({ ...change, amount: 300 })).body.audit, change);
  const sold = (await api.purchase({ ...change, amount: 1_000 })).body.audit;
  const refund = (await api.refund(sold, 400, change)).body.audit;
  await api.void(refund, change);
  const report = await settlementOf(api, day, 2);
  expect(inShort(report)).toEqual(['visa purchase 2 1300', 'visa refund 1 -400', 'visa void 2 100']);
  expect(report.net).toEqual([{ merchant: { id: 2 }, currency: 'AUD', total_amount: '1000' }]);
});

test('two currencies → separate sums', async () => {
  const day = await openDay(gateway);
  for (const currency of ['AUD', 'NZD', 'NZD'])
    await gateway.api.purchase({ merchant: 3, currency, amount: 100 });
  const { net } = await settlementOf(gateway.api, day, 3);
  expect(net).toEqual([
    { merchant: { id: 3 }, currency: 'AUD', total_amount: '100' },
    { merchant: { id: 3 }, currency: 'NZD', total_amount: '200' },
  ]);
});

test('a day with more cents than a double holds → exact to the cent', async () => {
  await gateway.sql(
    `INSERT INTO settlement_entry (organisation_id, merchant_id, audit, amount_cents, settlement_date, transaction_type,
       payment_method, card_type, currency, acquirer)
     SELECT 1, 1, n, 999999999999, '2020-01-02', 'purchase', 'creditcard', 'visa', 'AUD', 'simulator'
     FROM generate_series(1, 20001) n`,
  );
  const { lines, net } = await settlementOf(gateway.api, '2020-01-02', 1);
  expect(lines).toMatchObject([{ count: 20_001, total_amount: '20000999999979999' }]);
  expect(net).toMatchObject([{ total_amount: '20000999999979999' }]);
});

// catches(settlement: what was returned before it cleared has nothing to be taken back)
test('direct debits → on the day they clear; returned before that → not counted; a late return → on the day it came', async () => {
  const { api } = gateway;
  const before = await openDay(gateway);
  const debit = (await api.purchase({ amount: 5_000, bankAccount: {} })).body.audit;
  await api.standaloneRefund({ amount: 700, bankAccount: {} });
  const refused = (await api.purchase({ amount: 9_000, bankAccount: { account_number: '900006' } })).body
    .audit;
  const isBank = (line: string) => line.startsWith('bankaccount');
  const bankOf = async (day: string) => inShort(await settlementOf(api, day, 1)).filter(isBank);
  for (let day = 0; day < 6; day += 1) await passClose(gateway);
  const [cleared] = await gateway.sql<{ day: string }>(
    `SELECT settlement_date::text AS day FROM settlement_entry WHERE audit = $1 AND payment_method = 'bankaccount'`,
    [debit],
  );
  expect((await api.lookUp(refused)).body.status.transaction_status_code).toBe('declined');
  const entries = `SELECT FROM settlement_entry WHERE audit = $1 AND payment_method = 'bankaccount'`;
  expect(await gateway.sql(entries, [refused])).toEqual([]);
  const clearingDay = cleared?.day as string;
  expect(clearingDay > before).toBe(true);
  expect(await bankOf(before)).toEqual([]);
  expect(await bankOf(clearingDay)).toEqual([
    'bankaccount purchase 1 5000',
    'bankaccount standalone_refund 1 -700',
  ]);

  await untilClosed(gateway, clearingDay);
  const closedDay = await settlementOf(api, clearingDay);
  const { database, provider, close } = await operatorOf(gateway);
  const { rows } = await database.query<{ stored: StoredOutcome }>(STORED_OUTCOME, [1, debit]);
  const returned = {
    organisationId: 1 as OrganisationId,
    audit: debit as Audit,
    code: 6,
    transactionType: 'purchase',
    stored: (rows[0] as { stored: StoredOutcome }).stored,
  };
  const keys = new DataKeys(database, provider);
  const today = await openDay(gateway);
  const options = { actor: 'operator:test', nowMs: await gatewayNow(gateway) };
  await takeReturns(database, keys, [returned], options);
  await close();
  expect(await bankOf(today)).toEqual(['bankaccount return 1 -5000']);
  expect(await settlementOf(api, clearingDay)).toEqual(closedDay);
  expect(closedDay.closed).toBe(true);
});

describe('permissions', () => {
  // catches(settlement: a merchant sees its own day only)
  test('without a merchant → every merchant of the user, and no other', async () => {
    const day = await openDay(gateway);
    const merchantsOf = async (api: TestGateway['api']) =>
      (await settlementOf(api, day)).net.map(({ merchant }: { merchant: { id: number } }) => merchant.id);
    for (const merchant of [1, 2]) await gateway.api.purchase({ merchant });
    await gateway.as(gateway.stranger).purchase({ merchant: 4 });
    expect(await merchantsOf(gateway.api)).toEqual([1, 2]);
    expect(await merchantsOf(gateway.as(gateway.colleague))).toEqual([2]);
    expect(await merchantsOf(gateway.as(gateway.stranger))).toEqual([4]);
  });

  test('a merchant that the user may not use → 403, whether it exists or not', async () => {
    for (const merchant of [1, 3, 4, 99]) {
      const answer = await gateway
        .as(gateway.colleague)
        .get(`/settlements/2026-11-16?merchant_id=${merchant}`);
      expect([answer.status, answer.errors]).toEqual([403, ['merchant_not_permitted query/merchant_id']]);
    }
  });
});

test.each([
  ['2026-02-30', 'field_format path/date'],
  ['2026-13-01', 'field_format path/date'],
  ['2026-1-1', 'field_format path/date'],
  ['today', 'field_format path/date'],
  ['99999-01-01', 'field_format path/date'],
  ['2026-11-16T00:00:00Z', 'field_format path/date'],
  ['2026-11-16?merchant_id=one', 'field_type query/merchant_id'],
  ['2026-11-16?merchant_id=0', 'field_out_of_range query/merchant_id'],
])('GET /settlements/%s → 422 %s', async (path, error) => {
  const { status, errors } = await gateway.api.get(`/settlements/${path}`);
  expect([status, errors]).toEqual([422, [error]]);
});

test.each(['1000-01-01', '2999-12-31', '2026-11-15'])(
  'a day without settlement (%s) → empty, with the time of its close',
  async (day) => {
    const report = await settlementOf(gateway.api, day);
    expect([report.lines, report.net]).toEqual([[], []]);
    expect(report.closed).toBe(day < '2999');
  },
);
