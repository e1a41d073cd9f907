// Versions of HTTP: 1.1 and 1.0 are served, every other is refused.
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  errorOf,
  exchange,
  idsOf,
  PURCHASE_BODY,
  purchaseText,
  requestText,
  statusesOf,
} from '../../testkit/connection.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { requestLines } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

test.each(['HTTP/2.0', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/3', 'HTTP/3.0', 'HTTP/9.9', 'HTTP/1.10'])(
  // catches(connections: nothing is begun behind an answer that ends the connection)
  '%s → 505 http_version_not_supported with the correlation ID, nothing is processed, and the connection is closed',
  async (version) => {
    const id = `in-${version.replace('/', '-')}`;
    const purchase = purchaseText(gateway, id, { Connection: 'keep-alive' }).replace('HTTP/1.1', version);
    const text = await exchange(gateway, purchase + purchaseText(gateway, `${id}-behind`));
    expect(statusesOf(text)).toEqual([505]);
    expect(errorOf(text)).toMatchObject({ error_code: 'http_version_not_supported', location: [] });
    expect(idsOf(text)).toEqual([id]);
    expect((await gateway.api.search(id)).body.results).toEqual([]);
    expect((await gateway.api.search(`${id}-behind`)).body.results).toEqual([]);
    await expect
      .poll(() => requestLines(gateway).filter((line) => line.correlation_id === id))
      .toMatchObject([{ status: 505, outcome: 'http_version_not_supported' }]);
  },
);

test('a request line without a version → 505 http_version_not_supported', async () => {
  const text = await exchange(gateway, 'GET /v1/transactions/1\r\n\r\n');
  expect(statusesOf(text)).toEqual([505]);
  expect(errorOf(text).error_code).toBe('http_version_not_supported');
});

test('HTTP/1.0 → accepted; with Transfer-Encoding → 400 malformed_request, and the connection is closed', async () => {
  const keep = { Connection: 'keep-alive' };
  const chunks = `${PURCHASE_BODY.length.toString(16)}\r\n${PURCHASE_BODY}\r\n0\r\n\r\n`;
  const chunked = {
    'Content-Type': 'application/json',
    'X-Correlation-Id': 'old-chunked',
    'Transfer-Encoding': 'chunked',
    ...keep,
  };
  const old = (text: string) => text.replace('HTTP/1.1', 'HTTP/1.0');
  const text = await exchange(
    gateway,
    old(purchaseText(gateway, 'old', keep)) +
      old(requestText(gateway, 'POST /v1/transactions/purchase', chunked, chunks)) +
      purchaseText(gateway, 'behind-old-chunked'),
  );
  expect(statusesOf(text)).toEqual([201, 400]);
  expect(text).toContain('"location":["header","Transfer-Encoding"]');
  expect(idsOf(text)).toEqual(['old', 'old-chunked']);
  for (const id of ['old-chunked', 'behind-old-chunked'])
    expect((await gateway.api.search(id)).body.results).toEqual([]);
});
