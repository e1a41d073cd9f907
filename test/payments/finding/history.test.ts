// Lists of transactions: every filter, alone and with others, finds what a look-up of every transaction would have found.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client, Json } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { pagesFrom } from '../../../testkit/vault-client.js';
import { type Traded, type Trading, trade } from '../traded.js';

let gateway: TestGateway;
let api: Client;
let trading: Trading;

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  trading = await trade(gateway);
});
afterAll(() => gateway.close());

type Query = Readonly<Record<string, string | number>>;

const addressOf = (query: Query) => {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return `/transactions/history?${new URLSearchParams(parameters)}`;
};
const list = (query: Query = {}, as: Client = api) => as.get(addressOf(query));

/** What each filter means. */
const MEANINGS: Readonly<Record<string, (value: string | number, traded: Traded) => boolean>> = {
  merchant_id: (value, { shown }) => shown.merchant.id === value,
  status: (value, { shown }) => shown.status.transaction_status_code === value,
  transaction_type: (value, { shown }) => shown.transaction.transaction_type === value,
  payment_method: (value, { shown }) => value in shown.transaction.payment_method,
  card_type: (value, { shown }) => shown.transaction.payment_method.creditcard?.type === value,
  last_four: (value, { shown }) => shown.transaction.payment_method.creditcard?.pan.endsWith(value) === true,
  reference: (value, { shown }) => shown.transaction.reference.startsWith(value),
  amount: (value, { shown }) => shown.transaction.amount_details.total_amount === String(value),
  settlement_date: (value, { shown }) => shown.status.acquirer.settlement_date === value,
  customer_id: (value, { customerId }) => customerId === value,
  token_id: (value, { tokenId }) => tokenId === value,
  target_audit: (value, { shown }) => shown.transaction.target_audit === value,
  from: (value, { shown }) => timeOf(shown) >= Date.parse(String(value)),
  until: (value, { shown }) => timeOf(shown) <= Date.parse(String(value)),
};

const timeOf = (shown: Json) => Date.parse(shown.gateway_timestamp);

function expected(query: Query): Json[] {
  return trading.all
    .filter((traded) =>
      Object.entries(query).every(([name, value]) => MEANINGS[name]?.(value, traded) === true),
    )
    .map(({ shown }) => shown);
}

/** Two values of each filter at least, one of which nothing has. */
function values(): Record<string, readonly (string | number)[]> {
  const days = trading.all.map(({ shown }) => shown.status.acquirer.settlement_date).filter(Boolean);
  const times = trading.all.map(({ shown }) => shown.gateway_timestamp);
  return {
    merchant_id: [1, 2, 3],
    status: ['approved', 'declined', 'error', 'pending', 'voided', 'unknown'],
    transaction_type: ['purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void'],
    payment_method: ['creditcard', 'bankaccount'],
    card_type: ['visa', 'mastercard', 'amex', 'jcb', ''],
    last_four: ['1111', '4444', '0000'],
    reference: ['order', 'order-1', 'order-10', 'Order', 'order_', 'order%', 'room 1', 'nothing', '~'],
    amount: [1_995, 5_000, 1],
    settlement_date: [...new Set(days), '1999-12-31'],
    customer_id: [trading.customerId, 2_147_483_647],
    token_id: [trading.tokenId, 2_147_483_647],
    target_audit: [trading.refunded, 2_147_483_647],
    from: [times[5], times.at(-1), new Date(Date.parse(times[10])).toISOString(), '2999-01-01T00:00Z'],
    until: [times[5], times[0], new Date(Date.parse(times[10])).toISOString(), '1999-01-01T00:00Z'],
  };
}

describe('filters', () => {
  test('no filter → every transaction of every merchant that the user may use, as a look-up shows it', async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(body).toEqual({ _links: { first: { href: '/v1/transactions/history' } }, results: expected({}) });
    expect(body.results.length).toBeGreaterThan(30);
  });

  test.each(Object.keys(MEANINGS))('%s alone → exactly the matching ones, newest first', async (name) => {
    let found = 0;
    for (const value of values()[name] ?? []) {
      const { status, body } = await list({ [name]: value });
      expect([status, value, body.results]).toEqual([200, value, expected({ [name]: value })]);
      found += body.results.length;
    }
    expect(found).toBeGreaterThan(0);
  });

  test('any two filters, each value of both → exactly those that match both', async () => {
    const names = Object.keys(MEANINGS);
    const samples = values();
    let found = 0;
    for (const one of names) {
      for (const other of names.filter((name) => name > one)) {
        // Not every pair of values: those that are found by something, each with one of the other filter.
        for (const [index, value] of (samples[one] ?? []).slice(0, 3).entries()) {
          const others = samples[other] ?? [];
          const query = { [one]: value, [other]: others[index % others.length] as string };
          const { body } = await list(query);
          expect([query, body.results]).toEqual([query, expected(query)]);
          found += body.results.length;
        }
      }
    }
    expect(found).toBeGreaterThan(100);
  });

  test('a day in Sydney as from and until → all of that day, whatever the offset', async () => {
    const day = trading.all[0]?.shown.gateway_timestamp.slice(0, 10);
    const ofDay = trading.all.filter(({ shown }) => shown.gateway_timestamp.startsWith(day));
    const { body } = await list({ from: day, until: day });
    expect(body.results).toEqual(ofDay.map(({ shown }) => shown));
    expect(ofDay.length).toBeLessThan(trading.all.length);
  });

  test('an instant with an unescaped plus sign, as it stands in gateway_timestamp → read as intended', async () => {
    const at = trading.all[5]?.shown.gateway_timestamp;
    const { body } = await api.get(`/transactions/history?from=${at}`);
    expect(body.results).toEqual(expected({ from: at }));
  });

  test('a refund of a completion of a payment by token → is found by that token and its customer, even after both are deleted', async () => {
    const byCustomer = (await list({ customer_id: trading.customerId })).body.results;
    expect(byCustomer.map(({ transaction }: Json) => transaction.transaction_type)).toEqual(
      expect.arrayContaining(['preauthorisation', 'completion', 'refund', 'purchase']),
    );
  });
});

describe('pages', () => {
  test.each([
    {},
    { merchant_id: 1 },
    { status: 'approved', transaction_type: 'purchase' },
    { reference: 'many' },
  ])(
    '%j, pages of any size, following next → everything exactly once, in order, and it ends',
    async (query) => {
      const all = expected(query);
      for (const limit of [1, 4, all.length - 1, all.length, 100]) {
        const pages = await pagesFrom(api, await list({ ...query, limit }));
        expect(pages.flatMap(({ body }) => body.results)).toEqual(all);
        expect(pages).toHaveLength(Math.ceil(all.length / limit));
      }
    },
  );

  test('first and next → keep the filters; a purchase made meanwhile is on no later page', async () => {
    const query = { from: '2020-01-01T00:00:00+10:00', reference: 'many-', limit: 5 };
    const first = await list(query);
    expect(first.body._links.first.href).toBe(`/v1${addressOf(query)}`);
    expect((await api.purchase({ reference: 'many-more' })).status).toBe(201);
    const pages = await pagesFrom(api, first);
    expect(pages.flatMap(({ body }) => body.results)).toEqual(expected({ reference: 'many-' }));
    expect((await list({ reference: 'many-more' })).body.results).toHaveLength(1);
  });

  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  test.each([
    '',
    'AAAA',
    'not+base64',
    encoded(['ada', 1]),
    encoded(['1e5', 1]),
    encoded(['9'.repeat(17), 1]),
    encoded(['-1', 1]),
    encoded(['1', -1]),
    encoded(['', 1]),
  ])('a cursor that was tampered with (%s) → 422', async (after) => {
    expect((await list({ after })).errors).toEqual(['field_format query/after']);
  });

  test('a cursor from outside the requested period → nothing outside of the period', async () => {
    const until = trading.all[5]?.shown.gateway_timestamp;
    const after = encoded(['9999999999999999', 2_147_483_647]);
    expect((await list({ until, after })).body.results).toEqual(expected({ until }));
  });
});

describe('refusals', () => {
  test('every field wrong → each is named', async () => {
    const wrong = {
      merchant_id: 'x',
      from: 'yesterday',
      until: '2026-02-30',
      status: 'lost',
      transaction_type: 'reverse',
      payment_method: 'cash',
      card_type: 'Visa',
      last_four: '123',
      reference: '"',
      amount: '0',
      settlement_date: '2026-13-01',
      customer_id: '0',
      token_id: '2147483648',
      target_audit: '-1',
      limit: '101',
      after: '=',
    };
    const { status, body } = await list(wrong);
    expect(status).toBe(422);
    expect(body.errors.map(({ location }: Json) => location.join('/')).sort()).toEqual(
      Object.keys(wrong)
        .map((name) => `query/${name}`)
        .sort(),
    );
  });

  test.each([
    ['from', '2026-11-15T11:07:18'],
    ['from', '2026-11-15T25:00Z'],
    ['from', '0000-01-01'],
    ['until', '2026-11-15T11:07:18+99:00'],
    ['settlement_date', '2026-11-15T00:00Z'],
    ['amount', '19.95'],
    ['limit', '0'],
    ['reference', ''],
    ['card_type', 'x'],
  ])('%s %s → 422 at that parameter', async (name, value) => {
    const { status, body } = await list({ [name]: value });
    expect(status).toBe(422);
    expect(body.errors[0].location).toEqual(['query', name]);
  });

  test('a repeated filter, or a card number as the reference → 422, and the number is not repeated', async () => {
    expect((await api.get('/transactions/history?status=approved&status=error')).errors).toEqual([
      'field_format query/status',
    ]);
    const misplaced = await list({ reference: '4111111111111111' });
    expect(misplaced.errors).toEqual(['card_number_misplaced query/reference']);
    expect(misplaced.text).not.toContain('4111');
  });

  test('POST, and an audit named history → 405; a merchant that is not permitted → 403', async () => {
    expect((await api.call('/transactions/history', { method: 'POST', body: {} })).status).toBe(405);
    for (const merchant_id of [4, 2_147_483_647])
      expect((await list({ merchant_id })).errors).toEqual(['merchant_not_permitted query/merchant_id']);
  });
});

test('a user of one merchant only → sees that one, with any query', async () => {
  const colleague = gateway.as(gateway.colleague);
  expect((await list({}, colleague)).body.results).toEqual(expected({ merchant_id: 2 }));
  for (const query of [
    { customer_id: trading.customerId },
    { token_id: trading.tokenId },
    { target_audit: trading.refunded },
    { reference: 'room' },
  ])
    expect((await list(query, colleague)).body.results).toEqual([]);
});
