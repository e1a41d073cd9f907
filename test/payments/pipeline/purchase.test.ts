// Purchases, preauthorisations and standalone refunds: the answer, the stored row and the look-up.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { luhnDigit } from '../../../src/values/card.js';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import { type Answer, CARD, type PaymentChange, paymentBody, TEST_MODE } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { withoutChance } from '../../../testkit/requests.js';
import { DECLINED_CARD } from '../../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const SYDNEY_TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+1[01]:00$/;
const CREATING_MEMBERS = ['_links', 'audit', 'gateway_timestamp', 'kvps', 'merchant', 'status'];

function members(object: object): string[] {
  return Object.keys(object).sort();
}

const KINDS: {
  type: string;
  path: string;
  pay: (change?: PaymentChange) => Promise<Answer>;
  acquirer: string[];
  links: string[];
}[] = [
  {
    type: 'purchase',
    path: '/transactions/purchase',
    pay: (change) => gateway.api.purchase(change),
    acquirer: ['authorisation_code', 'response_code', 'response_message', 'settlement_date'],
    links: ['refund', 'self', 'void'],
  },
  {
    type: 'preauthorisation',
    path: '/transactions/preauthorisation',
    pay: (change) => gateway.api.preauthorise(change),
    acquirer: [
      'authorisation_code',
      'preauthorisation_code',
      'response_code',
      'response_message',
      'settlement_date',
    ],
    links: ['completion', 'self', 'void'],
  },
  {
    type: 'standalone_refund',
    path: '/transactions/refund',
    pay: (change) => gateway.api.standaloneRefund(change),
    acquirer: ['authorisation_code', 'response_code', 'response_message', 'settlement_date'],
    links: ['self', 'void'],
  },
];

describe.each(KINDS)('$type', ({ type, path, pay, acquirer, links }) => {
  test('any ordinary card → 201, Location, approved, and exactly the members of a creating response', async () => {
    const { status, headers, body } = await pay({ amount: 1995, kvps: { colour: 'red' } });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/transactions/${body.audit}`);
    expect(members(body)).toEqual(CREATING_MEMBERS);
    expect(Number.isInteger(body.audit) && body.audit >= 1).toBe(true);
    expect(body.gateway_timestamp).toMatch(SYDNEY_TIMESTAMP);
    expect(body.merchant).toEqual({ id: 1 });
    expect(body.kvps).toEqual({ ...TEST_MODE, 'GATEWAY.REQUEST.KVP.colour': 'red' });
    expect(members(body.status)).toEqual([
      'acquirer',
      'gateway_status_code',
      'gateway_status_message',
      'transaction_status_code',
    ]);
    expect(body.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
    expect(members(body.status.acquirer)).toEqual(acquirer);
    expect(body.status.acquirer.response_code).toBe('00');
    expect(members(body._links)).toEqual(links);
    expect(body._links.self).toEqual({ href: `/v1/transactions/${body.audit}` });
  });

  test('looked up and searched for → the same transaction, with its `transaction` object', async () => {
    const correlationId = `shape-${type}`;
    const created = await pay({ amount: 4321, currency: 'NZD', reference: 'order 7', correlationId });
    const { status, body } = await gateway.api.lookUp(created.body.audit);
    expect(status).toBe(200);
    expect(members(body)).toEqual([...CREATING_MEMBERS, 'transaction'].sort());
    expect(body.transaction).toEqual({
      reference: 'order 7',
      transaction_type: type,
      amount_details: { total_amount: '4321', currency: 'NZD' },
      payment_method: { creditcard: { pan: '411111******1111', type: 'visa' } },
    });
    const { transaction: _, kvps: __, ...common } = body;
    const { kvps: ___, ...answered } = created.body;
    expect(common).toEqual(answered);
    const found = await gateway.api.search(correlationId);
    expect(found.status).toBe(200);
    expect(found.body).toEqual({ results: [body] });
  });

  test('declined → 201, declined, and no member that a declined payment does not have', async () => {
    const { status, headers, body } = await pay({ pan: DECLINED_CARD });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/transactions/${body.audit}`);
    expect(body.status).toEqual({
      gateway_status_code: 0,
      gateway_status_message: expect.any(String),
      transaction_status_code: 'declined',
      acquirer: { response_code: '05', response_message: expect.any(String) },
    });
    expect(members(body._links)).toEqual(['self']);
    expect((await gateway.api.lookUp(body.audit)).body.status).toEqual(body.status);
  });

  test('a minimal body without KVPs and CVV → approved, and no KVPs returned', async () => {
    const sent = paymentBody();
    delete sent.transaction.payment_method.creditcard.cvv;
    const { status, body } = await gateway.api.post(path, sent);
    expect(status).toBe(201);
    expect(body.kvps).toEqual(TEST_MODE);
    expect(body.status.transaction_status_code).toBe('approved');
  });

  test('each purchase has its own audit', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => pay({ amount: 1 })));
    expect(new Set(answers.map(({ body }) => body.audit)).size).toBe(40);
  });

  test('the smallest and the largest amount → approved and kept to the cent', async () => {
    for (const amount of ['1', '999999999999']) {
      const { body } = await pay({ amount });
      const found = await gateway.api.lookUp(body.audit);
      expect(found.body.transaction.amount_details.total_amount).toBe(amount);
    }
  });
});

test('preauthorisation, approved → a preauthorisation code of at most 12 characters', async () => {
  const { body } = await gateway.api.preauthorise();
  expect(body.status.acquirer.preauthorisation_code).toMatch(/^[\x21-\x7e]{1,12}$/);
  expect(body.status.acquirer.authorisation_code).toMatch(/^[0-9]{6}$/);
});

test('preauthorisation, declined → no preauthorisation code', async () => {
  const { body } = await gateway.api.preauthorise({ pan: DECLINED_CARD });
  expect(body.status.acquirer).not.toHaveProperty('preauthorisation_code');
  expect(body.status.acquirer).not.toHaveProperty('authorisation_code');
});

test('purchase, its time → gateway_timestamp in Sydney time, to the millisecond', async () => {
  const beforeMs = Date.now();
  const { body } = await gateway.api.purchase();
  const afterMs = Date.now();
  const { gateway_timestamp } = (await gateway.api.lookUp(body.audit)).body;
  expect(gateway_timestamp).toMatch(SYDNEY_TIMESTAMP);
  expect(Date.parse(gateway_timestamp)).toBeGreaterThanOrEqual(beforeMs);
  expect(Date.parse(gateway_timestamp)).toBeLessThanOrEqual(afterMs);
  const offset = new Intl.DateTimeFormat('en-AU', {
    timeZone: 'Australia/Sydney',
    timeZoneName: 'longOffset',
  })
    .formatToParts(beforeMs)
    .find(({ type }) => type === 'timeZoneName')?.value;
  expect(`GMT${gateway_timestamp.slice(-6)}`).toBe(offset);
});

const ISSUED: [type: string, length: number, prefix: string][] = [
  ['visa', 16, '401288'],
  ['visa', 13, '422222'],
  ['visa', 19, '400000'],
  ['mastercard', 16, '555555'],
  ['mastercard', 16, '222300'],
  ['amex', 15, '378282'],
  ['diners', 14, '305693'],
  ['discover', 16, '601111'],
  ['jcb', 16, '353011'],
  ['unionpay', 16, '620000'],
  ['eftpos', 16, '560279'],
  ['', 12, '500000'],
];

test.each(ISSUED)(
  'purchase, a card of type "%s" with %i digits → that type, masked to its length',
  async (type, length, prefix) => {
    const withoutCheck = prefix.padEnd(length - 1, '31');
    const pan = withoutCheck + luhnDigit(withoutCheck);
    const { body } = await gateway.api.purchase({ pan });
    expect(body.status.transaction_status_code).toBe('approved');
    const { creditcard } = (await gateway.api.lookUp(body.audit)).body.transaction.payment_method;
    expect(creditcard).toEqual({
      pan: pan.slice(0, 6) + '*'.repeat(length - 10) + pan.slice(-4),
      type,
    });
  },
);

test('purchase, any response → never the card number, the expiry date or the CVV', async () => {
  const correlationId = 'never-in-clear';
  const created = await gateway.api.purchase({ expiry: '0938', cvv: '8462', correlationId });
  const lookedUp = await gateway.api.lookUp(created.body.audit);
  const searched = await gateway.api.search(correlationId);
  for (const { text } of [created, lookedUp, searched]) {
    expect(text).not.toContain(CARD);
    expect(text).not.toContain('"0938"');
    expect(withoutChance(text)).not.toContain('8462');
  }
});

test('lookup, an unknown audit → 404 transaction_not_found', async () => {
  const { status, errors } = await gateway.api.lookUp(2_147_483_647);
  expect(status).toBe(404);
  expect(errors).toEqual(['transaction_not_found path/audit']);
});

test('search, an unused correlation ID → 200 and an empty array', async () => {
  const { status, body } = await gateway.api.search('nobody-used-this');
  expect(status).toBe(200);
  expect(body).toEqual({ results: [] });
});

test('purchases, preauthorisations and standalone refunds → the acquirer has the same books', () =>
  expectBooksToAgree(gateway));
