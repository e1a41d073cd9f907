// Connections and bytes: how invalid and incomplete requests are refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CARD } from '../../testkit/client.js';
import {
  connect,
  errorOf,
  exchange,
  idsOf,
  purchaseText,
  requestText,
  statusesOf,
} from '../../testkit/connection.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { requestLines, storedRows } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' } });
});
afterAll(() => gateway.close());

describe('bytes that are not a request', () => {
  const HEAD = 'GET /v1/transactions/1 HTTP/1.1\r\nHost: gateway\r\n';
  test.each<[string, string | Uint8Array, number, string]>([
    ['garbage', 'garbage\r\n\r\n', 400, 'malformed_request'],
    ['NULs', Buffer.alloc(64), 400, 'malformed_request'],
    ['random bytes', Buffer.from('8d3fa1c0fe007711aa55deadbeef0d0a0d0a', 'hex'), 400, 'malformed_request'],
    ['the beginning of TLS', Buffer.from('16030100c8010000c40303', 'hex'), 400, 'malformed_request'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, 'http_version_not_supported'],
    [
      'a method that is none',
      'BUY /v1/transactions HTTP/1.1\r\nHost: gateway\r\n\r\n',
      400,
      'malformed_request',
    ],
    [
      'a version that is none',
      'GET /v1/transactions HTTP/9.9\r\nHost: gateway\r\n\r\n',
      505,
      'http_version_not_supported',
    ],
    ['a header without a colon', `${HEAD}nonsense\r\n\r\n`, 400, 'malformed_request'],
    ['a NUL in a header', `${HEAD}X-Correlation-Id: a\0b\r\n\r\n`, 400, 'malformed_request'],
    [
      'a control character in a header',
      `${HEAD}X-Correlation-Id: a\u0001b\r\n\r\n`,
      400,
      'malformed_request',
    ],
    ['a length that is not a number', `${HEAD}Content-Length: five\r\n\r\n`, 400, 'malformed_request'],
    ['a negative length', `${HEAD}Content-Length: -1\r\n\r\n`, 400, 'malformed_request'],
    [
      'two different lengths',
      `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
      400,
      'malformed_request',
    ],
    [
      'a length and chunks',
      `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'malformed_request',
    ],
    ['a header of 20 kB', `${HEAD}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    [
      'a correlation ID of 20 kB',
      `${HEAD}X-Correlation-Id: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'an address of 20 kB',
      `GET /v1/transactions/${'1'.repeat(20_000)} HTTP/1.1\r\nHost: gateway\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      '1,000 headers',
      `${HEAD}${Array.from({ length: 1_000 }, (_, index) => `X-${index}: ${'x'.repeat(20)}\r\n`).join('')}\r\n`,
      431,
      'headers_too_large',
    ],
  ])('%s → an error, and the connection is closed', async (_, bytes, status, code) => {
    const before = await storedRows(gateway);
    const text = await exchange(gateway, bytes);
    expect(statusesOf(text)).toEqual([status]);
    expect(errorOf(text)).toMatchObject({ error_code: code, location: [] });
    expect(text).not.toContain('xxxx');
    expect(text).toMatch(/^cache-control: no-store\r$/im);
    expect(requestLines(gateway).at(-1)).toMatchObject({ status, outcome: code, route: 'unknown' });
    expect(await storedRows(gateway)).toBe(before);
    expect((await gateway.api.search('x')).status).toBe(200);
  });

  test('an incomplete body → no transaction, and the gateway goes on', async () => {
    const before = await storedRows(gateway);
    const { socket, closed } = await connect(gateway);
    socket.write(purchaseText(gateway, 'broken-off').slice(0, -20));
    socket.end();
    await closed;
    expect(await storedRows(gateway)).toBe(before);
    expect((await gateway.api.search('broken-off')).body).toEqual({ results: [] });
    expect(gateway.logged()).not.toContain('internal error');
  });

  test('a refused connection that the client keeps open → closed by the gateway', async () => {
    const { socket, closed } = await connect(gateway, { allowHalfOpen: true });
    socket.write('garbage\r\n\r\n');
    // Writing is what tells a half-closed connection from one that is gone.
    const writing = setInterval(() => socket.write('more'), 50);
    expect(statusesOf(await closed)).toEqual([400]);
    clearInterval(writing);
  });
});

describe('incomplete requests → 408, and the connection is closed', () => {
  test.concurrent.each<[string, string | undefined, (from: TestGateway) => string]>([
    ['no byte at all', undefined, () => ''],
    ['half of the headers', undefined, (from) => requestText(from, 'GET /v1/transactions/1').slice(0, 60)],
    ['half of a body', 'half', (from) => purchaseText(from, 'half').slice(0, -10)],
    [
      'no end of chunks',
      'chunks',
      (from) =>
        requestText(
          from,
          'POST /v1/transactions/purchase',
          {
            'Content-Type': 'application/json',
            'X-Correlation-Id': 'chunks',
            'Transfer-Encoding': 'chunked',
          },
          `5\r\n{"mer\r\n`,
        ),
    ],
    [
      'half of a body whose correlation ID is a card number',
      undefined,
      (from) => purchaseText(from, CARD).slice(0, -10),
    ],
  ])('%s', async (_, id, text) => {
    const received = await exchange(gateway, text(gateway));
    expect(statusesOf(received)).toEqual([408]);
    expect(errorOf(received).error_code).toBe('request_timeout');
    expect(idsOf(received)).toEqual(id === undefined ? [] : [id]);
    if (id === undefined) return;
    expect((await gateway.api.search(id)).body).toEqual({ results: [] });
    expect(requestLines(gateway).filter((line) => line.correlation_id === id)).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        msg: 'request',
        method: 'POST',
        route: '/v1/transactions/purchase',
        status: 408,
        address: '127.0.0.1',
        correlation_id: id,
        outcome: 'request_timeout',
      },
    ]);
  });
});

describe('an unreadable request → its own refusal, with its correlation ID, and one line in the log', () => {
  const chunked = (id: string, body: string) =>
    requestText(
      gateway,
      'POST /v1/transactions/purchase',
      { 'Content-Type': 'application/json', 'X-Correlation-Id': id, 'Transfer-Encoding': 'chunked' },
      body,
    );
  const withHeader = (id: string, header: string) =>
    requestText(gateway, 'GET /v1/transactions/1', { 'x-correlation-id': id }).replace(
      /\r\n\r\n$/,
      `\r\n${header}\r\n\r\n`,
    );
  test.each<[string, string, number, (id: string) => string]>([
    ['a chunk without a length', 'bad-chunk', 400, (id) => chunked(id, 'zz\r\n{}\r\n0\r\n\r\n')],
    ['a chunk with a wrong length', 'cut-chunk', 400, (id) => chunked(id, '2\r\n{"a":1}\r\n0\r\n\r\n')],
    ['a header without a colon', 'no-colon', 400, (id) => withHeader(id, 'nonsense')],
    [
      'a length and chunks',
      'smuggled',
      400,
      (id) => chunked(id, '').replace('Host', 'Content-Length: 5\r\nHost'),
    ],
    ['two lengths', 'lengths', 400, (id) => withHeader(id, 'Content-Length: 1\r\nContent-Length: 1')],
    ['too long a header', 'long', 431, (id) => withHeader(id, `X-Long: ${'x'.repeat(20_000)}`)],
  ])('%s', async (_, id, status, text) => {
    const received = await exchange(gateway, text(id));
    expect(statusesOf(received)).toEqual([status]);
    expect(idsOf(received)).toEqual([id]);
    expect(received).toMatch(/^cache-control: no-store\r$/im);
    const lines = requestLines(gateway).filter((line) => line.correlation_id === id);
    expect(lines).toMatchObject([{ status, outcome: errorOf(received).error_code }]);
  });

  test('without a valid correlation ID, or with two → none is returned, and the log line has none', async () => {
    const before = requestLines(gateway).length;
    for (const header of [`X-Correlation-Id: ${CARD}`, 'X-Correlation-Id: a b', 'X-Correlation-Id: other']) {
      const received = await exchange(gateway, withHeader('one-of-two', `${header}\r\nnonsense`));
      expect(statusesOf(received)).toEqual([400]);
      expect(idsOf(received)).toEqual([]);
    }
    const lines = requestLines(gateway).slice(before);
    expect(lines.map(({ status, route, correlation_id }) => [status, route, correlation_id])).toEqual(
      Array.from({ length: 3 }, () => [400, 'unknown', undefined]),
    );
  });

  test('a client that closes its side in the middle of the body → 400 with its correlation ID, and nothing is processed', async () => {
    const { socket, closed } = await connect(gateway, { allowHalfOpen: true });
    socket.end(purchaseText(gateway, 'half-body').slice(0, -20));
    const received = await closed;
    expect(statusesOf(received)).toEqual([400]);
    expect(idsOf(received)).toEqual(['half-body']);
    expect((await gateway.api.search('half-body')).body).toEqual({ results: [] });
  });
});
