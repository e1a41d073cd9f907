// Correlation IDs: where they are required, what they may hold, and that each response carries them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, CARD, client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ANY_BODY, CREATING_PATHS } from '../../testkit/requests.js';

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

  test('purchase with two correlation IDs → 422', async () => {
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
  test.each(['GET', 'HEAD'])(
    '%s without it → one is generated, a different one each time',
    async (method) => {
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
    },
  );

  test.each([
    ['', 'field_too_short'],
    ['x'.repeat(129), 'field_too_long'],
    ['a b', 'field_charset'],
  ])('GET with %j → 422 %s, and none is generated', async (correlationId, code) => {
    for (const path of ['/transactions/1', '/transactions?merchant_id=1&correlation_id_lookup=x']) {
      const answer = await gateway.api.call(path, { correlationId });
      expect(answer.errors).toEqual([`${code} header/X-Correlation-Id`]);
      expect(answer.headers.get(HEADER)).toBeNull();
    }
  });

  test('two lookups under a correlation ID that a purchase used → both answered', async () => {
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

  test.each(['/', '/docs', '/livez', '/readyz', '/favicon.ico'])('%s, GET and HEAD', async (path) => {
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
