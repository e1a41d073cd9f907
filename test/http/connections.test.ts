import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CARD, paymentBody } from '../support/client.js';
import { type TestGateway, testGateway } from '../support/gateway.js';
import { connect, exchange, requestText, statusesOf } from './connection.js';
import { gatedAcquirer } from './gated-acquirer.js';
import { requestLines, storedRows } from './requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' } });
});
afterAll(() => gateway.close());

const BODY = JSON.stringify(paymentBody());
const JSON_HEADERS = { 'Content-Type': 'application/json', 'Content-Length': String(BODY.length) };

const purchaseText = (
  from: TestGateway,
  correlationId: string,
  headers: Record<string, string> = {},
  body = BODY,
) =>
  requestText(
    from,
    'POST /v1/transactions/purchase',
    { ...JSON_HEADERS, 'X-Correlation-Id': correlationId, ...headers },
    body,
  );

/** The last response in the text, if its body is whole. */
function lastError(text: string): { error_code: string; location: string[] } {
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).errors[0];
}

describe('bytes that are no request', () => {
  const HEAD = 'GET /v1/transactions/1 HTTP/1.1\r\nHost: gateway\r\n';
  test.each<[string, string | Uint8Array, number, string]>([
    ['garbage', 'garbage\r\n\r\n', 400, 'malformed_request'],
    ['NULs', Buffer.alloc(64), 400, 'malformed_request'],
    ['random bytes', Buffer.from('8d3fa1c0fe007711aa55deadbeef0d0a0d0a', 'hex'), 400, 'malformed_request'],
    ['the beginning of TLS', Buffer.from('16030100c8010000c40303', 'hex'), 400, 'malformed_request'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'malformed_request'],
    [
      'a method that is none',
      'BUY /v1/transactions HTTP/1.1\r\nHost: gateway\r\n\r\n',
      400,
      'malformed_request',
    ],
    [
      'a version that is none',
      'GET /v1/transactions HTTP/9.9\r\nHost: gateway\r\n\r\n',
      400,
      'malformed_request',
    ],
    ['a header without a colon', `${HEAD}nonsense\r\n\r\n`, 400, 'malformed_request'],
    ['a NUL in a header', `${HEAD}X-Correlation-Id: a\0b\r\n\r\n`, 400, 'malformed_request'],
    [
      'a control character in a header',
      `${HEAD}X-Correlation-Id: a\u0001b\r\n\r\n`,
      400,
      'malformed_request',
    ],
    ['a length that is no number', `${HEAD}Content-Length: five\r\n\r\n`, 400, 'malformed_request'],
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
  ])('%s → an error and the end of the connection', async (_, bytes, status, code) => {
    const before = await storedRows(gateway);
    const text = await exchange(gateway, bytes);
    expect(statusesOf(text)).toEqual([status]);
    expect(lastError(text)).toMatchObject({ error_code: code, location: [] });
    expect(text).not.toContain('xxxx');
    expect(await storedRows(gateway)).toBe(before);
    expect((await gateway.api.search('x')).status).toBe(200);
  });

  test('a body that breaks off → no transaction, and the gateway goes on', async () => {
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

describe('requests that never arrive whole → 408 and the end of the connection', () => {
  test.concurrent.each<[string, (from: TestGateway) => string]>([
    ['half of the headers', (from) => requestText(from, 'GET /v1/transactions/1').slice(0, 60)],
    ['half of a body', (from) => purchaseText(from, 'half').slice(0, -10)],
    [
      'no end of chunks',
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
  ])('%s', async (_, text) => {
    const received = await exchange(gateway, text(gateway));
    expect(statusesOf(received)).toEqual([408]);
    expect(lastError(received).error_code).toBe('request_timeout');
    for (const id of ['half', 'chunks']) {
      expect((await gateway.api.search(id)).body).toEqual({ results: [] });
    }
  });
});

describe('requests in other forms', () => {
  test('chunks → accepted; more than 128 KiB of them → 413', async () => {
    const headers = {
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
    };
    const send = (correlationId: string, body: string) => {
      const chunks = body.match(/.{1,4096}/g)?.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
      const text = `${chunks?.join('')}0\r\n\r\n`;
      const line = 'POST /v1/transactions/purchase';
      return exchange(
        gateway,
        requestText(gateway, line, { ...headers, 'X-Correlation-Id': correlationId }, text),
      );
    };
    expect(statusesOf(await send('chunked', BODY.padEnd(131_072)))).toEqual([201]);
    expect(statusesOf(await send('chunked-large', BODY.padEnd(131_073)))).toEqual([413]);
    expect((await gateway.api.search('chunked')).body.results).toHaveLength(1);
    expect((await gateway.api.search('chunked-large')).body.results).toEqual([]);
  });

  test('one byte at a time → accepted', async () => {
    const { socket, closed } = await connect(gateway);
    socket.setNoDelay(true);
    for (const character of purchaseText(gateway, 'trickle')) socket.write(character);
    expect(statusesOf(await closed)).toEqual([201]);
  });

  test('Expect: 100-continue → continued and accepted', async () => {
    const { socket, closed, received } = await connect(gateway);
    const [head, body] = purchaseText(gateway, 'expects', { Expect: '100-continue' }).split('\r\n\r\n');
    socket.write(`${head}\r\n\r\n`);
    await expect.poll(received, { timeout: 20_000 }).toContain('100 Continue');
    socket.write(body as string);
    expect(statusesOf(await closed)).toEqual([100, 201]);
  });

  test('several requests sent at once → answered in order, each with its correlation ID', async () => {
    const keep = { Connection: 'keep-alive' };
    const text = await exchange(
      gateway,
      purchaseText(gateway, 'pipelined-1', keep) +
        requestText(gateway, 'GET /v1/transactions/abc', { ...keep, 'X-Correlation-Id': 'pipelined-2' }) +
        purchaseText(gateway, 'pipelined-3', keep) +
        purchaseText(gateway, 'pipelined-1', keep) +
        requestText(gateway, 'GET /v1/nowhere', { 'X-Correlation-Id': 'pipelined-5' }),
    );
    // Begun one after the other: of the two under one ID the first wins.
    expect(statusesOf(text)).toEqual([201, 422, 201, 409, 404]);
    expect([...text.matchAll(/x-correlation-id: (\S+)/gi)].map(([, id]) => id)).toEqual([
      'pipelined-1',
      'pipelined-2',
      'pipelined-3',
      'pipelined-1',
      'pipelined-5',
    ]);
  });

  test('purchase in flight with garbage behind it → never an answer that it was refused, and it is found', async () => {
    const acquirer = gatedAcquirer();
    const held = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' }, acquirers: [acquirer] });
    const { socket, closed } = await connect(held);
    socket.write(purchaseText(held, 'in-flight', { Connection: 'keep-alive' }));
    await acquirer.reached;
    socket.write('garbage\r\n\r\n');
    expect(await closed).toBe('');
    acquirer.release();
    const [found] = (await held.api.search('in-flight')).body.results;
    expect((await held.api.decided(found.audit)).status.transaction_status_code).toBe('approved');
  });

  test('purchase whose client hangs up → finished, found and logged like any other', async () => {
    const acquirer = gatedAcquirer();
    const held = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' }, acquirers: [acquirer] });
    const { socket, closed } = await connect(held);
    socket.write(purchaseText(held, 'hung-up'));
    await acquirer.reached;
    socket.destroy();
    await closed;
    await sleep(50);
    acquirer.release();
    const [found] = (await held.api.search('hung-up')).body.results;
    expect((await held.api.decided(found.audit)).status.transaction_status_code).toBe('approved');
    await expect
      .poll(() => requestLines(held).filter((line) => line.correlation_id === 'hung-up'), { timeout: 20_000 })
      .toMatchObject([{ status: 201, audit: found.audit, outcome: 'approved' }]);
  });

  test('afterwards → no card number and no secret in the log', () => {
    for (const secret of [CARD, gateway.owner.password]) expect(gateway.logged()).not.toContain(secret);
    expect(gateway.logged()).not.toContain('internal error');
  });
});
