// Requests that are sent ahead on one connection: begun one after the other, so that no packet can stop the gateway.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CARD } from '../../testkit/client.js';
import { connect, exchange, idsOf, purchaseText, requestText, statusesOf } from '../../testkit/connection.js';
import { gatedAcquirer } from '../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { requestLines, storedRows } from '../../testkit/requests.js';

const KEEP = { Connection: 'keep-alive' };

const purchase = (to: TestGateway, id: string, headers: Record<string, string> = KEEP) =>
  purchaseText(to, id, headers);

const gated = async () => {
  const acquirer = gatedAcquirer();
  const settings = { ACQUIRER_DEADLINE_MS: '60000' };
  return { acquirer, gateway: await testGateway({ settings, acquirers: [acquirer] }) };
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

test('a second purchase on the same connection → begun only after the first was answered', async () => {
  const { acquirer, gateway: own } = await gated();
  const { socket, closed } = await connect(own);
  socket.write(purchase(own, 'first') + purchase(own, 'second', { Connection: 'close' }));
  await acquirer.reached;
  // Others are served meanwhile, and there is the first one only.
  expect((await own.api.search('first')).body.results).toHaveLength(1);
  expect(await storedRows(own)).toBe(1);
  acquirer.release();
  expect(statusesOf(await closed)).toEqual([201, 201]);
  expect(await storedRows(own)).toBe(2);
});

test('a client that resets the connection → its pipelined requests are never begun', async () => {
  const { acquirer, gateway: own } = await gated();
  const { socket, closed } = await connect(own);
  socket.write(purchase(own, 'begun') + purchase(own, 'ahead'));
  await acquirer.reached;
  socket.resetAndDestroy();
  await closed;
  acquirer.release();
  const [found] = (await own.api.search('begun')).body.results;
  await own.api.decided(found.audit);
  await expect
    .poll(() => requestLines(own).filter((line) => line.correlation_id === 'begun'))
    .toHaveLength(1);
  expect(await storedRows(own)).toBe(1);
  expect(own.logged()).not.toContain('"ahead"');
});

test('after a request that ends the connection → nothing is begun', async () => {
  await exchange(gateway, purchase(gateway, 'last', { Connection: 'close' }) + purchase(gateway, 'behind'));
  expect((await gateway.api.search('behind')).body.results).toEqual([]);
  expect(gateway.logged()).not.toContain('"behind"');
});

test('40 pipelined requests → all answered, in order', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `ahead-${index}`);
  const requests = ids.map((id, index) =>
    purchase(gateway, id, index === 39 ? { Connection: 'close' } : KEEP),
  );
  const text = await exchange(gateway, requests.join(''));
  expect(idsOf(text)).toEqual(ids);
  expect(new Set(statusesOf(text))).toEqual(new Set([201]));
});

test('200 pipelined purchases, more than one read holds → all answered, in order, and each is found', async () => {
  const before = await storedRows(gateway);
  const ids = Array.from({ length: 200 }, (_, index) => `many-${index}`);
  const { socket, closed } = await connect(gateway, { allowHalfOpen: true });
  socket.end(ids.map((id) => purchase(gateway, id)).join(''));
  const text = await closed;
  expect(idsOf(text)).toEqual(ids);
  expect(new Set(statusesOf(text))).toEqual(new Set([201]));
  expect(await storedRows(gateway)).toBe(before + 200);
});

test('2,000 pipelined requests, thousands in one read → all answered, in order, and others are served meanwhile', async () => {
  const text = (index: number) => `GET /v1/nowhere HTTP/1.1\r\nHost: a\r\nX-Correlation-Id: ${index}\r\n\r\n`;
  const { socket, received, closed } = await connect(gateway, { allowHalfOpen: true });
  socket.end(Array.from({ length: 2_000 }, (_, index) => text(index)).join(''));
  expect((await gateway.api.search('x')).status).toBe(200);
  expect(statusesOf(received()).length).toBeLessThan(2_000);
  expect(idsOf(await closed)).toEqual(Array.from({ length: 2_000 }, (_, index) => String(index)));
});

test('a client that has sent everything and closes its side → still gets its answers, then the end', async () => {
  const { acquirer, gateway: own } = await gated();
  const { socket, closed } = await connect(own, { allowHalfOpen: true });
  socket.end(purchase(own, 'half-1') + purchase(own, 'half-2'));
  await acquirer.reached;
  acquirer.release();
  const text = await closed;
  expect(statusesOf(text)).toEqual([201, 201]);
  expect(idsOf(text)).toEqual(['half-1', 'half-2']);
});

const wrongBody = () =>
  requestText(
    gateway,
    'POST /v1/transactions/purchase',
    { ...KEEP, 'Content-Type': 'application/json', 'Content-Length': '3', 'X-Correlation-Id': 'wrong' },
    '{]}',
  );

test('a client that closes its side after a wrong body → 400, then the end', async () => {
  const { socket, closed } = await connect(gateway, { allowHalfOpen: true });
  socket.end(wrongBody());
  expect(statusesOf(await closed)).toEqual([400]);
});

test('a wrong body in the middle → later requests are answered too', async () => {
  const wrong = wrongBody();
  const text = await exchange(gateway, wrong + purchase(gateway, 'right', { Connection: 'close' }));
  expect(statusesOf(text)).toEqual([400, 201]);
  expect(idsOf(text)).toEqual(['wrong', 'right']);
});

test('no host → 400 malformed_request as documented; HTTP/1.0 does not need one', async () => {
  const before = await storedRows(gateway);
  const withoutHost = (text: string) => text.replace('Host: gateway\r\n', '');
  const text = await exchange(gateway, withoutHost(purchase(gateway, 'no-host', { Connection: 'close' })));
  expect(statusesOf(text)).toEqual([400]);
  expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).errors).toMatchObject([
    { error_code: 'malformed_request', location: ['header', 'Host'] },
  ]);
  expect(text).not.toContain(CARD);
  expect(await storedRows(gateway)).toBe(before);
  const old = withoutHost(requestText(gateway, 'GET /v1/transactions/999999')).replace(
    'HTTP/1.1',
    'HTTP/1.0',
  );
  expect(statusesOf(await exchange(gateway, old))).toEqual([404]);
});

test('an unknown expectation → ignored', async () => {
  const text = await exchange(
    gateway,
    purchase(gateway, 'expects', { Expect: 'the best', Connection: 'close' }),
  );
  expect(statusesOf(text)).toEqual([201]);
});
