// Where the console is called: behind a proxy by its name, over TLS, on the machine itself, and elsewhere.
import { request as httpRequest } from 'node:http';
import { describe, expect, test } from 'vitest';
import { checkOrigin, isSafe } from '../../src/console/origin.js';
import { signedIn } from '../../testkit/console.js';
import { testGateway } from '../../testkit/gateway.js';

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly cookies: readonly string[];
}

/** With whatever host. */
function call(url: string, method: string, headers: Record<string, string>, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode, text, cookies: response.headers['set-cookie'] ?? [] }),
      );
    });
    sent.on('error', reject).end(body);
  });
}

test('behind a proxy: reached by its name and from its origin only; the journal has the browser’s address', async () => {
  const gateway = await testGateway({
    settings: { CONSOLE_URL: 'https://console.example', TRUSTED_PROXIES: '127.0.0.1' },
  });
  const operator = await signedIn(gateway);
  const url = `${gateway.operatorsUrl}/console/api`;
  const proxied = {
    host: 'console.example',
    cookie: operator.cookie,
    'x-forwarded-for': '203.0.113.9',
    'content-type': 'application/json',
  };
  expect((await call(`${url}/session`, 'GET', proxied)).status).toBe(200);
  const out = (origin: string, host = 'console.example') =>
    call(`${url}/sign-out`, 'POST', { ...proxied, host, origin }, '{}');
  expect((await out('http://console.example')).status).toBe(403);
  expect((await out('https://attacker.example')).status).toBe(403);
  expect((await out('https://attacker.example', 'attacker.example')).status).toBe(421);
  const done = await out('https://console.example');
  expect([done.status, done.cookies]).toEqual([
    204,
    ['__Host-tollgate=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0'],
  ]);
  const entries = await gateway.sql(`SELECT address FROM journal WHERE action = 'operator.signed_out'`);
  expect(entries).toEqual([{ address: '203.0.113.9' }]);
});

test('outside loopback without TLS → the interface refuses everybody', async () => {
  const gateway = await testGateway({
    settings: { CONSOLE_HOST: '0.0.0.0', METRICS_TOKEN: 'a-token-of-sixteen-or-more' },
  });
  const url = `${gateway.operatorsUrl.replace('0.0.0.0', '127.0.0.1')}/console/api/sign-in`;
  const elsewhere = await call(url, 'GET', { host: 'gateway.example:8081' });
  expect([elsewhere.status, JSON.parse(elsewhere.text).error_code]).toEqual([403, 'connection_not_safe']);
  for (const host of ['', 'x y', '[', 'http://x'])
    expect((await call(url, 'GET', { host })).status, host).toBeLessThan(500);
});

describe('a browser', () => {
  test('that accepts no Secure cookie over HTTP → gets a plain one there, and only there', async () => {
    const gateway = await testGateway();
    const operator = await signedIn(gateway);
    const token = operator.cookie.split('=')[1];
    const safari =
      'Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15';
    const session = (cookie: string, agent: string) =>
      operator.get('/session', { cookie, 'user-agent': agent });
    expect((await session(`tollgate=${token}`, safari)).status).toBe(200);
    expect((await session(`tollgate=${token}`, `${safari} Chrome/147.0.0.0`)).status).toBe(401);
    const out = await operator.post('/sign-out', {}, { cookie: `tollgate=${token}`, 'user-agent': safari });
    expect(out.headers.get('set-cookie')).toBe('tollgate=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0');
  });

  test.each([
    ['https://console.example', true],
    ['http://localhost:8081', true],
    ['http://127.0.0.1:8081', true],
    ['http://[::1]:8081', true],
    ['http://console.example', false],
    ['http://localhost.attacker.example', false],
    ['http://', false],
  ])('%s → safe: %s', (origin, safe) => {
    expect(isSafe(origin)).toBe(safe);
  });

  test('that sends no origin → may read, and change nothing', () => {
    const from = (method: string, headers: Record<string, string>) => () =>
      checkOrigin({ method, headers } as Parameters<typeof checkOrigin>[0], 'http://localhost:8081');
    expect(from('GET', {})).not.toThrow();
    expect(from('POST', {})).toThrow('origin_not_allowed');
    expect(from('POST', { origin: 'http://localhost:8081' })).not.toThrow();
    expect(from('POST', { origin: 'http://localhost:8081', 'sec-fetch-site': 'cross-site' })).toThrow();
    expect(from('DELETE', { 'sec-fetch-site': 'same-origin' })).toThrow();
  });
});
