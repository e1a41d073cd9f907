// Connections and bytes: what is no request, or not a whole one, and how it is refused.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CARD, paymentBody } from '../../testkit/client.js';
import { connect, exchange, requestText, statusesOf } from '../../testkit/connection.js';
import { gatedAcquirer } from '../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { requestLines, storedRows } from '../../testkit/requests.js';

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

const idsOf = (text: string) => [...text.matchAll(/^x-correlation-id: (\S+)/gim)].map(([, id]) => id);

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
    expect(text).toMatch(/^cache-control: no-store\r$/im);
    expect(requestLines(gateway).at(-1)).toMatchObject({ status, outcome: code, route: 'unknown' });
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
    expect(lastError(received).error_code).toBe('request_timeout');
    expect(idsOf(received)).toEqual(id === undefined ? [] : [id]);
    if (id === undefined) return;
    expect((await gateway.api.search(id)).body).toEqual({ results: [] });
    expect(requestLines(gateway).filter((line) => line.correlation_id === id)).toEqual([
      {
        level: 30,
        time: expect.any(Number),
        msg: 'request',
        method: 'POST',
        route: '/v1/transactions/purchase',
        status: 408,
        correlation_id: id,
        outcome: 'request_timeout',
      },
    ]);
  });
});

describe('a request that turns out to be unreadable → its own refusal, with its correlation ID, and one line in the log', () => {
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
    expect(lines).toMatchObject([{ status, outcome: lastError(received).error_code }]);
  });

  test('without a well-formed correlation ID, or with two → none comes back, and the line has none', async () => {
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

describe('behind two purchases that came whole, the first of them at the acquirer', () => {
  type Behind = (held: TestGateway, id: string) => string;
  const behind: Record<string, Behind> = {
    garbage: () => 'garbage\r\n\r\n',
    NULs: () => '\0'.repeat(70_000),
    'a head that cannot be read': (held, id) =>
      requestText(held, 'GET /v1/transactions/1', { 'X-Correlation-Id': id, 'Content-Length': '-1' }),
    'a body that cannot be read': (held, id) =>
      requestText(
        held,
        'POST /v1/transactions/purchase',
        { 'Content-Type': 'application/json', 'X-Correlation-Id': id, 'Transfer-Encoding': 'chunked' },
        BODY,
      ),
    CONNECT: (_, id) => `CONNECT a:1 HTTP/1.1\r\nHost: a\r\nX-Correlation-Id: ${id}\r\n\r\nmore`,
    'the last request and surplus bytes': (held, id) => `${purchaseText(held, id)}surplus`,
  };
  const KEEP = { Connection: 'keep-alive' };
  const acquirer = gatedAcquirer();
  const answers = new Map<string, Promise<string>>();
  let held: TestGateway;
  beforeAll(async () => {
    held = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' }, acquirers: [acquirer] });
    for (const [name, text] of Object.entries(behind)) {
      const { socket, closed } = await connect(held);
      const id = name.replaceAll(' ', '-');
      socket.write(purchaseText(held, `${id}-1`, KEEP));
      await vi.waitUntil(async () => (await storedRows(held)) === answers.size + 1, 20_000);
      socket.write(purchaseText(held, `${id}-2`, KEEP) + text(held, `${id}-3`));
      answers.set(name, closed);
    }
    await held.api.search('x');
    acquirer.release();
  });
  afterAll(() => held.close());

  test.each<[string, number, { itsId: boolean }]>([
    ['garbage', 400, { itsId: false }],
    ['NULs', 400, { itsId: false }],
    // In one packet with a purchase, so that nobody can be sure whose it is.
    ['a head that cannot be read', 400, { itsId: false }],
    ['a body that cannot be read', 400, { itsId: true }],
    ['CONNECT', 405, { itsId: true }],
    ['the last request and surplus bytes', 201, { itsId: true }],
  ])('%s → they are answered, then it is with %i, and nothing follows', async (name, status, { itsId }) => {
    const text = (await answers.get(name)) as string;
    const id = name.replaceAll(' ', '-');
    expect(statusesOf(text)).toEqual([201, 201, status]);
    expect(idsOf(text)).toEqual([`${id}-1`, `${id}-2`, ...(itsId ? [`${id}-3`] : [])]);
    for (const paid of [`${id}-1`, `${id}-2`]) {
      expect((await held.api.search(paid)).body.results).toHaveLength(1);
    }
  });

  test('and each refusal has its line in the log', async () => {
    await Promise.all(answers.values());
    const refused = requestLines(held).filter((line) => line.status >= 400);
    expect(refused.map((line) => [line.status, line.outcome, line.correlation_id]).toSorted()).toEqual(
      [
        [400, 'malformed_request', undefined],
        [400, 'malformed_request', undefined],
        [400, 'malformed_request', undefined],
        [400, 'malformed_request', 'a-body-that-cannot-be-read-3'],
        [405, 'method_not_allowed', 'CONNECT-3'],
      ].toSorted(),
    );
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
    expect(idsOf(text)).toEqual(['pipelined-1', 'pipelined-2', 'pipelined-3', 'pipelined-1', 'pipelined-5']);
  });

  test.each([
    ['absolute form', 'GET http://gateway/v1/transactions/2147483647', 404, 'transaction_not_found'],
    [
      'absolute form with a query',
      'GET http://a:1/v1/transactions?merchant_id=1&correlation_id_lookup=x',
      200,
      '',
    ],
    ['absolute form without a path', 'GET http://gateway', 404, 'route_not_found'],
    ['asterisk form', 'OPTIONS *', 404, 'route_not_found'],
    ['another scheme', 'GET ftp://gateway/v1/transactions/1', 404, 'route_not_found'],
    ['no form at all', 'GET v1/transactions/1', 400, 'malformed_request'],
  ])('%s of the target → %s: %i %s', async (_, line, status, code) => {
    const text = await exchange(gateway, requestText(gateway, line, { 'X-Correlation-Id': 'form' }));
    expect(statusesOf(text)).toEqual([status]);
    if (code !== '') expect(lastError(text).error_code).toBe(code);
  });

  test('Upgrade, as clients that would rather speak HTTP/2 send it → ignored', async () => {
    const upgrade = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' };
    const { socket, closed } = await connect(gateway);
    socket.write(purchaseText(gateway, 'upgraded', upgrade));
    socket.once('data', () => socket.write(requestText(gateway, 'GET /v1/transactions/2147483647')));
    expect(statusesOf(await closed)).toEqual([201, 404]);
  });

  test('two hosts → 400 malformed_request; two credentials → 401; two types → 415; two correlation IDs → 422', async () => {
    const doubled: [string, number, string[]][] = [
      ['Host: other', 400, ['header', 'Host']],
      ['host: gateway', 400, ['header', 'Host']],
      ['Authorization: Basic b3RoZXI6c2VjcmV0', 401, ['header', 'Authorization']],
      ['Content-Type: application/json', 415, []],
      ['x-correlation-id: other', 422, ['header', 'X-Correlation-Id']],
    ];
    for (const [header, status, location] of doubled) {
      const text = await exchange(
        gateway,
        purchaseText(gateway, 'doubled').replace('\r\nConnection', `\r\n${header}\r\nConnection`),
      );
      expect([header, ...statusesOf(text)]).toEqual([header, status]);
      expect(lastError(text).location).toEqual(location);
    }
    expect((await gateway.api.search('doubled')).body.results).toEqual([]);
  });

  test.each(['gzip', 'br', 'x-unknown', 'identity, gzip'])(
    'Content-Encoding: %s → 415 with its location; the connection goes on',
    async (encoding) => {
      const keep = { Connection: 'keep-alive', 'Content-Encoding': encoding };
      const plain = { 'Content-Encoding': 'identity' };
      const id = `encoded-${encoding.length}`;
      const text = await exchange(
        gateway,
        purchaseText(gateway, id, keep) + purchaseText(gateway, `${id}-plain`, plain),
      );
      expect(statusesOf(text)).toEqual([415, 201]);
      expect(text).toContain('"location":["header","Content-Encoding"]');
      expect(idsOf(text)).toEqual([id, `${id}-plain`]);
    },
  );

  test.each(['%E9', '%zz', '%', 'a%C3', '%E9%20x', '%ED%A0%80'])(
    '%s in a query → 422 with its location; in a path → 400',
    async (bad) => {
      const answers = await Promise.all([
        gateway.api.get(`/customers?name=${bad}`),
        gateway.api.get(`/customers?reference=${bad}`),
        gateway.api.get(`/transactions?merchant_id=1&correlation_id_lookup=${bad}`),
        gateway.api.get(`/customers?limit=${bad}`),
      ]);
      expect(answers.map(({ status, errors }) => [status, ...errors])).toEqual([
        [422, 'field_charset query/name'],
        [422, 'field_charset query/reference'],
        [422, 'field_charset query/correlation_id_lookup'],
        [422, expect.stringMatching(/^field_\w+ query\/limit$/)],
      ]);
      expect((await gateway.api.get(`/customers?unknown=${bad}&${bad}=1`)).status).toBe(200);
      expect((await gateway.api.get(`/transactions/${bad}`)).errors).toEqual(['malformed_request ']);
    },
  );

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
