// Correlation IDs: where they are required, how they come back, and what happens when one is taken.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, CARD, client, paymentBody } from '../../testkit/client.js';
import { gatedAcquirer } from '../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ANY_BODY, bodyWith, CREATING_PATHS, storedRows } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

const HEADER = 'x-correlation-id';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let last = 0;
const freshId = () => `fresh-${++last}`;

describe('where the header is required', () => {
  test.each(CREATING_PATHS)(
    'POST %s: absent, empty, too long or ill-formed → 422 at the header',
    async (path) => {
      for (const [correlationId, code] of [
        [null, 'field_missing'],
        ['', 'field_too_short'],
        ['x'.repeat(129), 'field_too_long'],
        ['a b', 'field_charset'],
        ['a;b', 'field_charset'],
        [CARD, 'card_number_misplaced'],
      ] as const) {
        const answer = await gateway.api.post(path, ANY_BODY, correlationId);
        expect({ status: answer.status, errors: answer.errors }).toEqual({
          status: 422,
          errors: [`${code} header/X-Correlation-Id`],
        });
        expect(answer.headers.get(HEADER)).toBeNull();
      }
    },
  );

  test.each([1, 128])('purchase with %i characters → accepted and echoed', async (length) => {
    const correlationId = 'x'.repeat(length);
    const answer = await gateway.api.purchase({ correlationId });
    expect(answer.status).toBe(201);
    expect(answer.headers.get(HEADER)).toBe(correlationId);
  });

  test('purchase with two correlation IDs → 422: neither is the one', async () => {
    const headers = new Headers({ [HEADER]: 'one', 'content-type': 'application/json' });
    headers.append(HEADER, 'two');
    const { username, password } = gateway.owner;
    headers.set('authorization', `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
    const response = await fetch(`${gateway.baseUrl}/transactions/purchase`, {
      method: 'POST',
      headers,
      body: JSON.stringify(ANY_BODY),
    });
    expect(response.status).toBe(422);
    expect(response.headers.get(HEADER)).toBeNull();
  });
});

describe('where the header is optional', () => {
  test.each(['GET', 'HEAD'])('%s without it → one is made up, another each time', async (method) => {
    const { body } = await gateway.api.purchase();
    const made = new Set<string | null>();
    for (const path of [
      `/transactions/${body.audit}`,
      '/transactions/2147483647',
      '/transactions/abc',
      '/transactions?merchant_id=1&correlation_id_lookup=x',
      '/transactions?merchant_id=4&correlation_id_lookup=x',
      '/transactions/purchase',
      '/nowhere',
    ]) {
      const { headers } = await gateway.api.call(path, { method, correlationId: null });
      expect(headers.get(HEADER)).toMatch(UUID);
      made.add(headers.get(HEADER));
    }
    expect(made.size).toBe(7);
    const nobody = await client(gateway.baseUrl).call('/transactions/1', { method, correlationId: null });
    expect(nobody.status).toBe(401);
    expect(nobody.headers.get(HEADER)).toMatch(UUID);
  });

  test.each([
    ['', 'field_too_short'],
    ['x'.repeat(129), 'field_too_long'],
    ['a b', 'field_charset'],
  ])('GET with %j → 422 %s, and none is made up', async (correlationId, code) => {
    for (const path of ['/transactions/1', '/transactions?merchant_id=1&correlation_id_lookup=x']) {
      const answer = await gateway.api.call(path, { correlationId });
      expect(answer.errors).toEqual([`${code} header/X-Correlation-Id`]);
      expect(answer.headers.get(HEADER)).toBeNull();
    }
  });

  test('two lookups under one correlation ID, which a purchase holds → both answered', async () => {
    const correlationId = freshId();
    const { body } = await gateway.api.purchase({ correlationId });
    for (let time = 0; time < 2; time += 1) {
      const found = await gateway.api.call(`/transactions/${body.audit}`, { correlationId });
      expect(found.status).toBe(200);
    }
  });
});

describe('the response carries the correlation ID of the request, and may not be cached', () => {
  const post =
    (path: string, options: object = {}) =>
    (correlationId: string) =>
      gateway.api.call(path, { method: 'POST', body: ANY_BODY, ...options, correlationId });
  const get =
    (path: string, method = 'GET') =>
    (correlationId: string) =>
      gateway.api.call(path, { method, correlationId });
  test.each<[string, number, (correlationId: string) => Promise<Answer>]>([
    ['created', 201, post('/transactions/purchase')],
    ['found', 200, get('/transactions?merchant_id=1&correlation_id_lookup=x')],
    ['malformed JSON', 400, post('/transactions/purchase', { raw: '{' })],
    ['a malformed address', 400, get('/transactions/%zz')],
    [
      'no credentials',
      401,
      (correlationId) => client(gateway.baseUrl).call('/transactions/1', { correlationId }),
    ],
    ['a foreign merchant', 403, get('/transactions?merchant_id=4&correlation_id_lookup=x')],
    ['no such route', 404, get('/nowhere')],
    ['no such transaction', 404, get('/transactions/2147483647')],
    ['a wrong method', 405, get('/transactions/1', 'DELETE')],
    ['a method that nobody knows', 405, get('/transactions/purchase', 'PROPFIND')],
    ['too large a body', 413, post('/transactions/purchase', { raw: ' '.repeat(140_000) })],
    ['another media type', 415, post('/transactions/purchase', { headers: { 'content-type': 'text/xml' } })],
    ['an encoded body', 415, post('/transactions/purchase', { headers: { 'content-encoding': 'gzip' } })],
    ['an invalid body', 422, post('/transactions/purchase', { body: {} })],
    ['HEAD, found nothing', 404, get('/transactions/2147483647', 'HEAD')],
    ['OPTIONS', 405, get('/transactions/1', 'OPTIONS')],
    ['the document', 200, get('/openapi.json')],
    ['HEAD of the document', 200, get('/openapi.json', 'HEAD')],
  ])('%s (%i)', async (_, status, call) => {
    const correlationId = freshId();
    const answer = await call(correlationId);
    expect(answer.status).toBe(status);
    expect(answer.headers.get(HEADER)).toBe(correlationId);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test.each(['/docs', '/livez', '/readyz', '/favicon.ico'])('%s, GET and HEAD', async (path) => {
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(new URL(path, gateway.baseUrl), {
        method,
        headers: { [HEADER]: 'outside' },
      });
      expect(response.status).toBe(path === '/favicon.ico' ? 404 : 200);
      expect(response.headers.get(HEADER)).toBe('outside');
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('409 and an answer that never came (504)', async () => {
    const { api } = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '200' } });
    for (const status of [504, 409]) {
      const answer = await api.purchase({ pan: '4200000000000026', correlationId: 'lost' });
      expect(answer.status).toBe(status);
      expect(answer.headers.get(HEADER)).toBe('lost');
    }
  });
});

describe('a correlation ID that is taken', () => {
  /** Expects 409, a link to the holder, and that nothing came of it. */
  async function expectConflict(holder: number, repeat: () => Promise<Answer>): Promise<void> {
    const before = [await storedRows(gateway), (await gateway.ledger()).length];
    const answer = await repeat();
    expect(answer.status).toBe(409);
    expect(answer.errors).toEqual(['correlation_id_already_used header/X-Correlation-Id']);
    expect(answer.body._links).toEqual({ transaction: { href: `/v1/transactions/${holder}` } });
    expect(answer.headers.get('location')).toBeNull();
    expect([await storedRows(gateway), (await gateway.ledger()).length]).toEqual(before);
  }

  test.each<[string, (correlationId: string) => Promise<Answer>]>([
    ['the same body', (correlationId) => gateway.api.purchase({ correlationId })],
    ['another amount', (correlationId) => gateway.api.purchase({ correlationId, amount: 1 })],
    ['another card', (correlationId) => gateway.api.purchase({ correlationId, pan: '5555555555554444' })],
    ['another operation', (correlationId) => gateway.api.preauthorise({ correlationId })],
    ['a standalone refund', (correlationId) => gateway.api.standaloneRefund({ correlationId })],
    [
      'a virtual PAN of nobody',
      (correlationId) => gateway.api.purchase({ correlationId, pan: '9111111111111110' }),
    ],
    [
      'an invalid body',
      (correlationId) => gateway.api.purchase({ correlationId, amount: '0', reference: '' }),
    ],
    [
      'only a merchant',
      (correlationId) => gateway.api.post('/transactions/purchase', { merchant: { id: 1 } }, correlationId),
    ],
    [
      'a target that does not exist',
      (correlationId) => gateway.api.refund(2_147_483_647, 1, { correlationId }),
    ],
    ['an audit out of range', (correlationId) => gateway.api.refund(0, 1, { correlationId })],
  ])('repeated with %s → 409 and nothing changes', async (_, repeat) => {
    const correlationId = freshId();
    const first = await gateway.api.purchase({ correlationId });
    expect(first.status).toBe(201);
    await expectConflict(first.body.audit, () => repeat(correlationId));
  });

  test('held by a declined purchase → 409', async () => {
    const correlationId = freshId();
    const { body } = await gateway.api.purchase({ correlationId, pan: '4100000000000050' });
    expect(body.status.transaction_status_code).toBe('declined');
    await expectConflict(body.audit, () => gateway.api.purchase({ correlationId }));
  });

  test('completion, refund and void repeated, when their target no longer allows them → 409, not 422', async () => {
    const { body: held } = await gateway.api.preauthorise();
    const { body: completion } = await gateway.api.complete(held.audit, 10_000, { correlationId: 'take' });
    await expectConflict(completion.audit, () =>
      gateway.api.complete(held.audit, 10_000, { correlationId: 'take' }),
    );
    const { body: refund } = await gateway.api.refund(completion.audit, 10_000, { correlationId: 'give' });
    await expectConflict(refund.audit, () =>
      gateway.api.refund(completion.audit, 10_000, { correlationId: 'give' }),
    );
    const { body: undo } = await gateway.api.void(refund.audit, { correlationId: 'undo' });
    await expectConflict(undo.audit, () => gateway.api.void(refund.audit, { correlationId: 'undo' }));
  });

  test('twenty purchases at once under one correlation ID → one is created, nineteen point to it', async () => {
    const before = [await storedRows(gateway), (await gateway.ledger()).length] as const;
    const correlationId = freshId();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => gateway.api.purchase({ correlationId })),
    );
    const [created, ...others] = answers.filter(({ status }) => status === 201);
    expect(others).toEqual([]);
    const conflicts = answers.filter(({ status }) => status === 409);
    expect(conflicts).toHaveLength(19);
    for (const { body } of conflicts) expect(body._links.transaction).toEqual(created?.body._links.self);
    expect(await storedRows(gateway)).toBe(before[0] + 1);
    expect(await gateway.ledger()).toHaveLength(before[1] + 1);
  });

  test('while the first is still in flight → 409 at once, and the first is not disturbed', async () => {
    const acquirer = gatedAcquirer();
    const { api } = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' }, acquirers: [acquirer] });
    const first = api.purchase({ correlationId: 'slow' });
    await acquirer.reached;
    for (const repeat of [
      () => api.purchase({ correlationId: 'slow' }),
      () => api.purchase({ correlationId: 'slow', amount: 5 }),
      () => api.purchase({ correlationId: 'slow', amount: 'invalid' }),
      () => api.void(77, { correlationId: 'slow' }),
    ]) {
      const answer = await repeat();
      expect(answer.status).toBe(409);
      const { href } = answer.body._links.transaction;
      const open = await api.get(href.replace('/v1', ''));
      expect(open.body.status).toMatchObject({
        gateway_status_code: -99,
        transaction_status_code: 'unknown',
      });
    }
    acquirer.release();
    const { status, body } = await first;
    expect(status).toBe(201);
    expect(body.status.transaction_status_code).toBe('approved');
  });

  test('slow card of the simulator, repeated after it was answered → 409', async () => {
    const correlationId = freshId();
    const { body } = await gateway.api.purchase({ correlationId, pan: '4200000000000067' });
    expect(body.status.transaction_status_code).toBe('approved');
    await expectConflict(body.audit, () => gateway.api.purchase({ correlationId, pan: '4200000000000067' }));
  });
});

describe('a correlation ID that is not taken', () => {
  test.each<[string, number, (correlationId: string) => Promise<Answer>]>([
    [
      'malformed JSON',
      400,
      (correlationId) => gateway.api.call('/transactions/purchase', { raw: '{', correlationId }),
    ],
    [
      'no credentials',
      401,
      (correlationId) => client(gateway.baseUrl).post('/transactions/purchase', ANY_BODY, correlationId),
    ],
    ['a foreign merchant', 403, (correlationId) => gateway.api.purchase({ correlationId, merchant: 4 })],
    ['an unknown target', 404, (correlationId) => gateway.api.void(2_147_483_647, { correlationId })],
    ['an invalid body', 422, (correlationId) => gateway.api.purchase({ correlationId, amount: 0 })],
    [
      'a virtual PAN of nobody',
      422,
      (correlationId) => gateway.api.purchase({ correlationId, pan: '9111111111111110' }),
    ],
    [
      'a target that does not allow it',
      422,
      async (correlationId) => {
        const { body } = await gateway.api.purchase();
        return gateway.api.complete(body.audit, 1, { correlationId });
      },
    ],
  ])(
    'refused for %s (%i) → not used up: the search finds nothing and the next request wins it',
    async (_, status, refused) => {
      const correlationId = freshId();
      expect((await refused(correlationId)).status).toBe(status);
      expect((await gateway.api.search(correlationId)).body).toEqual({ results: [] });
      expect((await gateway.api.purchase({ correlationId })).status).toBe(201);
    },
  );

  test('used by another merchant, of the same organisation or not → free for this one', async () => {
    const correlationId = freshId();
    const answers = await Promise.all([
      gateway.api.purchase({ correlationId, merchant: 1 }),
      gateway.api.purchase({ correlationId, merchant: 2 }),
      gateway.as(gateway.stranger).purchase({ correlationId, merchant: 4 }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    for (const [index, merchant] of [1, 2].entries()) {
      const { body } = await gateway.api.search(correlationId, merchant);
      expect(body.results[0].audit).toBe(answers[index]?.body.audit);
    }
  });

  test('that differs only in case → another one', async () => {
    const correlationId = freshId();
    expect((await gateway.api.purchase({ correlationId })).status).toBe(201);
    expect((await gateway.api.purchase({ correlationId: correlationId.toUpperCase() })).status).toBe(201);
    expect((await gateway.api.search(correlationId.replace('f', 'F'))).body.results).toEqual([]);
  });

  test('of a body with a merchant that is no number → 422, whoever holds it', async () => {
    const correlationId = freshId();
    await gateway.api.purchase({ correlationId });
    const answer = await gateway.api.post(
      '/transactions/purchase',
      bodyWith('merchant.id', '1', paymentBody()),
      correlationId,
    );
    expect(answer.errors).toEqual(['field_type body/merchant/id']);
  });
});
