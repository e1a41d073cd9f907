// Requests in other forms, and those that stand behind others on their connection.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CARD } from '../../testkit/client.js';
import {
  connect,
  errorOf,
  exchange,
  idsOf,
  PURCHASE_BODY,
  purchaseText,
  requestText,
  statusesOf,
} from '../../testkit/connection.js';
import { gatedAcquirer } from '../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { requestLines, storedRows } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' } });
});
afterAll(() => gateway.close());

describe('after two complete purchases, the first of them at the acquirer', () => {
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
        PURCHASE_BODY,
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
  ])(
    '%s → they are answered, then it is refused with %i, and nothing follows',
    async (name, status, { itsId }) => {
      const text = (await answers.get(name)) as string;
      const id = name.replaceAll(' ', '-');
      expect(statusesOf(text)).toEqual([201, 201, status]);
      expect(idsOf(text)).toEqual([`${id}-1`, `${id}-2`, ...(itsId ? [`${id}-3`] : [])]);
      for (const paid of [`${id}-1`, `${id}-2`]) {
        expect((await held.api.search(paid)).body.results).toHaveLength(1);
      }
    },
  );

  test('each refusal has its line in the log', async () => {
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

describe('unusual requests', () => {
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
    expect(statusesOf(await send('chunked', PURCHASE_BODY.padEnd(131_072)))).toEqual([201]);
    expect(statusesOf(await send('chunked-large', PURCHASE_BODY.padEnd(131_073)))).toEqual([413]);
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
    await expect.poll(received).toContain('100 Continue');
    socket.write(body as string);
    expect(statusesOf(await closed)).toEqual([100, 201]);
  });

  test('Expect: 100-continue with a length of more than 128 KiB → 413 at once, never continued, and the connection is closed', async () => {
    const large = { Expect: '100-continue', 'Content-Length': '131073', Connection: 'keep-alive' };
    const text = await exchange(gateway, purchaseText(gateway, 'expects-too-much', large, ''));
    expect(statusesOf(text)).toEqual([413]);
    expect(errorOf(text).error_code).toBe('body_too_large');
    expect(idsOf(text)).toEqual(['expects-too-much']);
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
    ['absolute form without a path', 'GET http://gateway', 200, ''],
    ['absolute form that leads nowhere', 'GET http://gateway/nowhere', 404, 'route_not_found'],
    ['asterisk form', 'OPTIONS *', 404, 'route_not_found'],
    ['another scheme', 'GET ftp://gateway/v1/transactions/1', 404, 'route_not_found'],
    ['no form at all', 'GET v1/transactions/1', 400, 'malformed_request'],
  ])('%s of the target → %s: %i %s', async (_, line, status, code) => {
    const text = await exchange(gateway, requestText(gateway, line, { 'X-Correlation-Id': 'form' }));
    expect(statusesOf(text)).toEqual([status]);
    if (code !== '') expect(errorOf(text).error_code).toBe(code);
  });

  test('Upgrade, as clients that prefer HTTP/2 send it → ignored', async () => {
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
      expect(errorOf(text).location).toEqual(location);
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

  test('purchase whose client disconnects → finished, found and logged like any other', async () => {
    const acquirer = gatedAcquirer();
    const held = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '60000' }, acquirers: [acquirer] });
    const { socket, closed } = await connect(held);
    socket.write(purchaseText(held, 'hung-up'));
    await acquirer.reached;
    socket.destroy();
    await closed;
    // It came later than the end of that one, so that the gateway has seen both.
    await held.api.get('/customers');
    acquirer.release();
    const [found] = (await held.api.search('hung-up')).body.results;
    expect((await held.api.decided(found.audit)).status.transaction_status_code).toBe('approved');
    await expect
      .poll(() => requestLines(held).filter((line) => line.correlation_id === 'hung-up'))
      .toMatchObject([{ status: 201, audit: found.audit, outcome: 'approved' }]);
  });

  test('afterwards → no card number and no secret in the log', () => {
    for (const secret of [CARD, gateway.owner.password]) expect(gateway.logged()).not.toContain(secret);
    expect(gateway.logged()).not.toContain('internal error');
  });
});
