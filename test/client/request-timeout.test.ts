// A gateway that did not get a request whole in time: certainly not processed, so that the client sends it again.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Tollgate } from '../../client/src/index.js';
import { paymentBody } from '../../testkit/bodies.js';

const TIMEOUT = { errors: [{ error_code: 'request_timeout', error_message: 'too slow', location: [] }] };
const APPROVED = {
  audit: 1,
  gateway_timestamp: '2026-11-18T19:00:00.000+11:00',
  merchant: { id: 1 },
  kvps: {},
  status: {
    gateway_status_code: 0,
    gateway_status_message: 'Processed',
    transaction_status_code: 'approved',
    acquirer: {},
  },
  _links: { self: { href: '/v1/transactions/1' } },
};

test('purchase, 408 at first → sent again under the same correlation ID', async () => {
  const ids: unknown[] = [];
  const server = createServer((request, response) => {
    ids.push(request.headers['x-correlation-id']);
    request.resume().on('end', () => {
      const [status, body] = ids.length === 1 ? [408, TIMEOUT] : [201, APPROVED];
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = new Tollgate({
    baseUrl: `http://127.0.0.1:${port}/v1`,
    username: 'shop',
    password: 'secret',
  });
  const { outcome } = await client.purchase(paymentBody({ merchant: 1 }) as never);
  expect(outcome).toBe('approved');
  expect(ids).toHaveLength(2);
  expect(ids[1]).toBe(ids[0]);
});
