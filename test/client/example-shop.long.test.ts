// The shop of examples/shop as somebody runs it: orders by card and by direct debit, webhooks, and a restart in the middle.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { signatureHeaders } from '../../src/webhooks/signature.js';
import { testGateway } from '../../testkit/gateway.js';
import { dataDirectory, eventually, freePort, start } from '../../testkit/gateway-process.js';
import { compiledProgram } from '../../testkit/project.js';
import { WEBHOOK_SETTINGS, webhooksOf } from '../../testkit/webhooks.js';

interface Line {
  readonly order: number;
  readonly correlationId: string;
  readonly state: string;
  readonly audit?: number;
  readonly event?: string;
  readonly version?: number;
}

test('the shop: killed and started again, debits returned and cleared by webhooks → every order known, charged once, each event once', async () => {
  const gateway = await testGateway({ settings: WEBHOOK_SETTINGS });
  const webhooks = webhooksOf(gateway);
  onTestFinished(() => webhooks.close());
  const books = join(await dataDirectory(), 'books.ndjson');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const { secret } = await webhooks.add(url);
  const open = () =>
    start(
      [compiledProgram('examples/shop/main')],
      {
        TOLLGATE_CLIENT_URL: gateway.baseUrl,
        TOLLGATE_CLIENT_USERNAME: gateway.owner.username,
        TOLLGATE_CLIENT_PASSWORD: gateway.owner.password,
        SHOP_BOOKS: books,
        SHOP_ORDERS: '12',
        SHOP_CONCURRENCY: '3',
        SHOP_SEED: '3',
        SHOP_DIRECT_DEBITS: 'yes',
        SHOP_TIMEOUT_SECONDS: '5',
        SHOP_WEBHOOK_PORT: String(port),
        SHOP_WEBHOOK_SECRET: secret,
      },
      { command: process.execPath },
    );
  const lines = async () =>
    (await readFile(books, 'utf8').catch(() => ''))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  const orders = async () => [...new Map((await lines()).map((line) => [line.order, line])).values()];

  const first = open();
  await eventually(async () => ((await orders()).length >= 4 ? true : undefined));
  first.kill('SIGKILL');
  await first.ended;

  const second = open();
  const isKnown = ({ state }: Line) => state !== 'begun' && state !== 'unknown';
  await eventually(async () => {
    const known = (await orders()).filter(isKnown);
    return known.length === 12 ? true : undefined;
  });
  const correlationIds = new Set((await lines()).map(({ correlationId }) => correlationId));
  expect(correlationIds.size).toBe(12);

  await gateway.advance('12d');
  const debits = async (state: string) =>
    (await orders()).filter((each) => each.order % 2 === 1 && each.state === state).map(({ order }) => order);
  await eventually(async () => ((await debits('pending')).length === 0 ? true : undefined));
  expect((await debits('returned')).sort((one, other) => one - other)).toEqual([1, 5, 9]);
  expect((await debits('paid')).sort((one, other) => one - other)).toEqual([3, 7, 11]);

  const before = await lines();
  const told = before.filter(({ event }) => event !== undefined).map(({ event }) => event as string);
  expect(new Set(told).size).toBe(told.length);
  const event = {
    id: 'evt_forged',
    type: 'transaction.approved',
    version: 99,
    data: { transaction: { reference: 'shop-3-1', transaction_type: 'purchase' } },
  };
  const body = JSON.stringify(event);
  const signed = (key: string) =>
    signatureHeaders([key], { id: event.id, timestampSeconds: Math.floor(Date.now() / 1000), body });
  const post = (headers: Record<string, string>) => fetch(url, { method: 'POST', headers, body });
  expect((await post(signed('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='))).status).toBe(400);
  expect((await post({})).status).toBe(400);
  expect(await lines()).toEqual(before);

  second.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
  const rows = await gateway.sql<{ reference: string; count: string }>(
    'SELECT reference, count(*) FROM transaction GROUP BY reference',
  );
  expect(rows.map(({ count }) => Number(count))).toEqual(Array.from({ length: 12 }, () => 1));
});
