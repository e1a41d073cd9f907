// The addresses of the API: operations, unknown addresses, and health.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client } from '../../testkit/client.js';
import { exchange, statusesOf } from '../../testkit/connection.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ANY_BODY, PAYMENTS } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

const SYDNEY_TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+1[01]:00$/;

describe('the transaction operations', () => {
  async function create(path: string): Promise<number> {
    const answer = await gateway.api.post(path, ANY_BODY);
    expect(answer.status).toBe(201);
    const { audit } = answer.body;
    expect(answer.headers.get('location')).toBe(`/v1/transactions/${audit}`);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(Object.keys(answer.body).toSorted()).toEqual([
      '_links',
      'audit',
      'gateway_timestamp',
      'kvps',
      'merchant',
      'status',
    ]);
    expect(answer.body.gateway_timestamp).toMatch(SYDNEY_TIMESTAMP);
    expect(answer.body.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
    return audit;
  }

  test.each(PAYMENTS)('POST /transactions/%s → 201 with Location', async (operation) => {
    await create(`/transactions/${operation}`);
  });

  test('POST /transactions/{audit}/completion, refund and void → 201 with Location', async () => {
    const held = await create('/transactions/preauthorisation');
    const completion = await create(`/transactions/${held}/completion`);
    const refund = await create(`/transactions/${completion}/refund`);
    await create(`/transactions/${refund}/void`);
  });

  test('GET /transactions/{audit} → 200 with the transaction', async () => {
    const { body } = await gateway.api.purchase();
    const answer = await gateway.api.lookUp(body.audit);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      audit: body.audit,
      merchant: { id: 1 },
      transaction: { reference: 'order-1', transaction_type: 'purchase' },
      gateway_timestamp: expect.stringMatching(SYDNEY_TIMESTAMP),
    });
    expect(answer.headers.get('location')).toBeNull();
  });

  test('GET /transactions → 200 with results', async () => {
    const answer = await gateway.api.search('unused');
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: { results: [] } });
  });

  test.each(['/transactions/1', '/transactions/2147483647', '/transactions/abc'])(
    'HEAD %s → status and headers of GET, without a body',
    async (path) => {
      const [got, head] = [await gateway.api.get(path), await gateway.api.call(path, { method: 'HEAD' })];
      expect(head.status).toBe(got.status);
      expect(head.text).toBe('');
      for (const name of ['content-type', 'content-length']) {
        expect(head.headers.get(name)).toBe(got.headers.get(name));
      }
    },
  );
});

describe('unknown addresses and methods', () => {
  test.each([
    '/',
    '/transaction',
    '/Transactions/1',
    '/transactions/1/',
    '/transactions/1/capture',
    '/transactions/1/void/2',
    '/transactions/1/refunds',
    '//transactions',
    '/transactions/../transactions/1/x',
    '/v1/transactions',
  ])('%s → 404 route_not_found, with credentials or without', async (path) => {
    for (const api of [gateway.api, client(gateway.baseUrl)]) {
      const answer = await api.get(path);
      expect({ status: answer.status, errors: answer.errors }).toEqual({
        status: 404,
        errors: ['route_not_found '],
      });
    }
  });

  test.each(['/v2/transactions/1', '/transactions/1', '/v1', '/v1/', '/favicon.ico', '/.env'])(
    '%s outside the base address → 404',
    async (path) => {
      const response = await fetch(new URL(path, gateway.baseUrl));
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ errors: [{ error_code: 'route_not_found' }] });
    },
  );

  const wrongMethods: [string, string[], string][] = [
    ['/transactions/purchase', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'], 'POST'],
    ['/transactions/preauthorisation', ['GET', 'PUT', 'PROPFIND'], 'POST'],
    ['/transactions/refund', ['GET', 'DELETE', 'PROPFIND'], 'POST'],
    ['/transactions/1/completion', ['GET', 'HEAD', 'PUT', 'PROPFIND'], 'POST'],
    ['/transactions/1/refund', ['GET', 'PATCH', 'OPTIONS'], 'POST'],
    ['/transactions/1/void', ['GET', 'DELETE', 'SEARCH'], 'POST'],
    ['/transactions/1', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'], 'GET, HEAD'],
    ['/transactions', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'], 'GET, HEAD'],
  ];
  test.each(wrongMethods)('%s with %j → 405 and Allow: %s', async (path, methods, allow) => {
    for (const method of methods) {
      const answer = await gateway.api.call(path, { method });
      expect({ method, status: answer.status, allow: answer.headers.get('allow') }).toEqual({
        method,
        status: 405,
        allow,
      });
      if (method !== 'HEAD') expect(answer.errors).toEqual(['method_not_allowed ']);
    }
  });

  test.each([
    ['broken JSON', '{"broken', 'application/json'],
    ['another media type', 'text', 'text/plain'],
    ['too much', ' '.repeat(140_000), 'application/json'],
  ])('a wrong method or an unknown route, with %s as a body → still 405 and 404', async (_, raw, type) => {
    const headers = { 'content-type': type };
    for (const [path, status] of [
      ['/transactions/1', 405],
      ['/transactions/purchase', 405],
      ['/nowhere', 404],
    ] as const) {
      expect((await gateway.api.call(path, { method: 'PUT', raw, headers })).status).toBe(status);
    }
  });

  test('TRACE → 405, and nothing of the request is returned', async () => {
    const text = await exchange(
      gateway,
      'TRACE /v1/transactions/purchase HTTP/1.1\r\nHost: gateway\r\nCookie: secret\r\nConnection: close\r\n\r\n',
    );
    expect(statusesOf(text)).toEqual([405]);
    expect(text).toMatch(/\r\nallow: POST\r\n/i);
    expect(text).not.toContain('secret');
  });

  test('CONNECT → 405 with Allow, and the connection is closed', async () => {
    const text = await exchange(
      gateway,
      'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\nX-Correlation-Id: tunnel\r\n\r\n',
    );
    expect(statusesOf(text)).toEqual([405]);
    expect(text).toMatch(/\r\nallow: .*GET/);
    expect(text).toContain('x-correlation-id: tunnel\r\n');
    expect(text).toContain('"error_code":"method_not_allowed"');
  });
});

const fetchOutside = (from: TestGateway, path: string, headers: Record<string, string> = {}) =>
  fetch(new URL(path, from.baseUrl), { headers });

describe('the front page', () => {
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

  test.each([undefined, '*/*', 'application/json', 'application/json, text/html;q=0.9', 'nonsense;;q=,'])(
    'GET / with Accept %s → JSON whose links all work',
    async (accept) => {
      const answer = await fetchOutside(gateway, '/', accept === undefined ? {} : { accept });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.get('vary')).toBe('accept');
      const { _links: links } = (await answer.json()) as { _links: Record<string, { href: string }> };
      expect(Object.values(links).map(({ href }) => href)).toEqual([
        '/',
        '/docs',
        '/v1/openapi.json',
        '/livez',
        '/readyz',
      ]);
    },
  );

  test.each([BROWSER, 'text/html', 'TEXT/HTML;level=1;q=0.7, application/json;q=0.6'])(
    'GET / with Accept %s → a page whose links all work, and that loads nothing',
    async (accept) => {
      const answer = await fetchOutside(gateway, '/', { accept });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      const page = await answer.text();
      const hrefs = [...page.matchAll(/href="([^"]*)"/g)].map(([, href]) => href as string);
      expect(hrefs).toEqual(['/docs', '/v1/openapi.json', '/livez', '/readyz']);
      for (const href of hrefs) expect((await fetchOutside(gateway, href)).status).toBe(200);
      expect(page).not.toMatch(/<script|src=/);
    },
  );

  test('HEAD / → headers without a body; POST / → 404', async () => {
    const head = await fetch(new URL('/', gateway.baseUrl), { method: 'HEAD' });
    expect({ status: head.status, text: await head.text() }).toEqual({ status: 200, text: '' });
    const post = await fetch(new URL('/', gateway.baseUrl), { method: 'POST' });
    expect(post.status).toBe(404);
  });
});

describe('health', () => {
  test('/livez and /readyz → 200 without credentials', async () => {
    const live = await fetchOutside(gateway, '/livez');
    expect({ status: live.status, body: await live.json() }).toEqual({
      status: 200,
      body: { status: 'live' },
    });
    const ready = await fetchOutside(gateway, '/readyz');
    expect({ status: ready.status, body: await ready.json() }).toEqual({
      status: 200,
      body: { status: 'ready' },
    });
  });

  test('/readyz with a schema that is not current → 503 and the reason; /livez still 200', async () => {
    const behind = await testGateway();
    const [table] = await behind.sql<{ name: string }>(
      "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname LIKE '%migration%'",
    );
    await behind.sql(`DELETE FROM ${table?.name}`);
    const ready = await fetchOutside(behind, '/readyz');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      status: 'not ready',
      reason: expect.stringContaining('schema'),
    });
    expect((await fetchOutside(behind, '/livez')).status).toBe(200);
  });
});
