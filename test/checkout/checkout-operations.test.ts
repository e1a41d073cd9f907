// Checkouts in the interface: made once, found again, cancelled, and nobody else's.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { CARD, checkoutBody, createCheckout, DECLINED_CARD, Payer } from '../../testkit/payer.js';
import { vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;

beforeAll(async () => {
  gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
  api = gateway.api;
});
afterAll(() => gateway.close());

describe('creating', () => {
  test('201 with the address of the page; a look-up and a search show the same', async () => {
    const correlationId = randomUUID();
    const details = { description: 'Two tickets', return_url: 'https://shop.example/paid?order=7' };
    const made = await api.post('/checkouts', checkoutBody(details), correlationId);
    expect(made.status, made.text).toBe(201);
    const { id } = made.body;
    expect(id).toMatch(/^co_[b-z]{28}$/);
    const self = `/v1/checkouts/${id}`;
    expect(made.body).toEqual({
      id,
      url: `${gateway.checkoutUrl}/${id}`,
      status: 'open',
      created: expect.any(String),
      expires: expect.any(String),
      merchant: { id: 1 },
      checkout: {
        reference: 'order-1',
        amount_details: { total_amount: '1995', currency: 'AUD' },
        operation: 'purchase',
        payment_methods: ['creditcard'],
        attempts: 5,
        ...details,
      },
      attempts: [],
      _links: { self: { href: self }, page: { href: made.body.url }, cancel: { href: `${self}/cancel` } },
    });
    expect(Date.parse(made.body.expires) - Date.parse(made.body.created)).toBe(86_400_000);
    expect(made.headers.get('location')).toBe(self);
    expect((await api.get(`/checkouts/${id}`)).body).toEqual(made.body);
    const found = await api.get(`/checkouts?merchant_id=1&correlation_id_lookup=${correlationId}`);
    expect(found.body).toEqual({ results: [made.body] });
    const none = await api.get(`/checkouts?merchant_id=1&correlation_id_lookup=${randomUUID()}`);
    expect(none.body).toEqual({ results: [] });
  });

  // catches(checkout: a correlation ID makes one)
  test('the same correlation ID again, also at the same moment → 409 with a link to the first', async () => {
    const correlationId = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => api.post('/checkouts', checkoutBody(), correlationId)),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    const link = { checkout: { href: `/v1/checkouts/${made[0]?.body.id}` } };
    for (const refused of answers.filter((answer) => answer !== made[0])) {
      expect([refused.status, refused.code]).toEqual([409, 'correlation_id_already_used']);
      expect(refused.body._links).toEqual(link);
    }
    // What was made is decided by the first.
    const other = await api.post('/checkouts', checkoutBody({ reference: 'another' }), correlationId);
    expect(other.body._links).toEqual(link);
  });

  test('every wrong field is named', async () => {
    const wrong = await api.post('/checkouts', {
      merchant: { id: 1 },
      checkout: {
        reference: '',
        operation: 'refund',
        payment_methods: ['cash'],
        description: 'x'.repeat(121),
        expires_in: 299,
        attempts: 11,
        return_url: 'shop.example',
        cancel_url: 'https://user:word@shop.example/',
        frame_origins: ['https://shop.example/path'],
      },
    });
    expect(wrong.status).toBe(422);
    expect(new Set(wrong.errors.map((error) => error.split('/').slice(2).join('/')))).toEqual(
      new Set([
        'reference',
        'operation',
        'payment_methods/0',
        'description',
        'expires_in',
        'attempts',
        'return_url',
        'cancel_url',
        'frame_origins/0',
        'amount_details',
      ]),
    );
  });

  const cases: readonly [string, object, string][] = [
    ['tokenise with an amount', { operation: 'tokenise' }, 'amount_details'],
    [
      'a bank account without a customer',
      { operation: 'tokenise', amount_details: undefined, payment_methods: ['bankaccount'] },
      'customer_id',
    ],
    [
      'a bank account to preauthorise',
      { operation: 'preauthorisation', payment_methods: ['creditcard', 'bankaccount'] },
      'payment_methods',
    ],
    [
      'a debit in another currency',
      { payment_methods: ['bankaccount'], amount_details: { total_amount: '5', currency: 'USD' } },
      'amount_details/currency',
    ],
    ['an address without TLS', { return_url: 'http://shop.example/' }, 'return_url'],
    ['an origin without TLS', { frame_origins: ['http://shop.example'] }, 'frame_origins/0'],
    ['an address with a card number', { return_url: 'https://shop.example/4111111111111111' }, 'return_url'],
    ['a customer who is not there', { customer_id: 2_000_000 }, 'customer_id'],
  ];
  // catches(checkout: a payer of a live merchant returns over TLS)
  test.each(cases)('%s → refused, and the field is named', async (_, details, field) => {
    const refused = await createCheckout(api, details);
    expect(refused.errors.join(), refused.text).toContain(`body/checkout/${field}`);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.status).toBeLessThan(500);
  });

  test('http:// leads test merchants back to their own machine', async () => {
    expect((await createCheckout(api, { return_url: 'http://localhost:3000/paid' })).status).toBe(201);
  });

  test('a customer without the vault product → refused', async () => {
    const customer = await vaultOf(api).newCustomer();
    const refused = await createCheckout(api, { customer_id: customer }, 3);
    expect([refused.status, refused.code]).toEqual([403, 'vault_not_enabled']);
  });
});

describe('somebody else’s', () => {
  // catches(checkout: a merchant sees its own)
  test('an unknown and a foreign one → the same 404 for every operation', async () => {
    const { id } = (await createCheckout(api)).body;
    const stranger = gateway.as(gateway.stranger);
    const colleague = gateway.as(gateway.colleague);
    for (const [client, one] of [
      [stranger, id],
      [colleague, id],
      [api, 'co_unknown'],
    ] as const) {
      for (const answer of [
        await client.get(`/checkouts/${one}`),
        await client.call(`/checkouts/${one}/cancel`, { method: 'POST' }),
      ])
        expect([answer.status, answer.code]).toEqual([404, 'checkout_not_found']);
    }
    const search = await colleague.get('/checkouts?merchant_id=1&correlation_id_lookup=x');
    expect(search.code).toBe('merchant_not_permitted');
    expect((await createCheckout(colleague)).code).toBe('merchant_not_permitted');
  });
});

describe('ending', () => {
  test('cancelled → nobody pays it, and it is cancelled once', async () => {
    const { id, url } = (await createCheckout(api)).body;
    const payer = new Payer(url);
    const page = await payer.look();
    const cancelled = await api.call(`/checkouts/${id}/cancel`, { method: 'POST' });
    expect([cancelled.status, cancelled.body.status, cancelled.body._links.cancel]).toEqual([
      200,
      'cancelled',
      undefined,
    ]);
    const again = await api.call(`/checkouts/${id}/cancel`, { method: 'POST' });
    expect([again.status, again.code]).toEqual([422, 'checkout_not_open']);
    const shown = await payer.pay(CARD, page);
    expect(shown.text).toContain('There is nothing to pay any more');
    expect((await api.get(`/checkouts/${id}`)).body).toMatchObject({ status: 'cancelled', attempts: [] });
  });

  test('events tell of a paid, a cancelled and an expired one; the attempts are there', async () => {
    const paid = (await createCheckout(api, { reference: 'told' })).body;
    await new Payer(paid.url).pay(DECLINED_CARD);
    await new Payer(paid.url).pay(CARD);
    const cancelled = (await createCheckout(api)).body;
    await api.call(`/checkouts/${cancelled.id}/cancel`, { method: 'POST' });
    const used = (await createCheckout(api, { attempts: 1 })).body;
    await new Payer(used.url).pay(DECLINED_CARD);
    const shown = (await api.get(`/checkouts/${paid.id}`)).body;
    expect(shown).toMatchObject({ status: 'complete', result: { audit: expect.any(Number) } });
    expect(
      shown.attempts.map((attempt: { transaction_status_code: string }) => attempt.transaction_status_code),
    ).toEqual(['declined', 'approved']);
    expect(shown._links.transaction.href).toBe(`/v1/transactions/${shown.result.audit}`);
    expect((await api.get(`/checkouts/${used.id}`)).body.status).toBe('expired');
    const told: Record<string, object> = {};
    for (let next = '/events?limit=100'; ; ) {
      const { results, _links } = (await api.get(next)).body;
      for (const { type, data } of results)
        if (type.startsWith('checkout.')) told[`${type} ${data.checkout_id}`] = data;
      if (results.length === 0) break;
      next = _links.next.href.replace('/v1', '');
    }
    const self = (id: string) => ({ self: { href: `/v1/checkouts/${id}` } });
    expect(told[`checkout.complete ${paid.id}`]).toEqual({
      checkout_id: paid.id,
      audit: shown.result.audit,
      _links: { ...self(paid.id), transaction: shown._links.transaction },
    });
    expect(told[`checkout.cancelled ${cancelled.id}`]).toEqual({
      checkout_id: cancelled.id,
      _links: self(cancelled.id),
    });
    expect(told[`checkout.expired ${used.id}`]).toEqual({ checkout_id: used.id, _links: self(used.id) });
  });
});

test('without pages there are no checkouts', async () => {
  const without = await testGateway();
  expect((await createCheckout(without.api)).code).toBe('route_not_found');
});
