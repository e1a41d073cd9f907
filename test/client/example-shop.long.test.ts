// The shop of examples/shop as somebody runs it: customers who pay and come back, who never do, and a shop that is killed in between.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { dataDirectory, eventually, freePort, start } from '../../testkit/gateway-process.js';
import { ACCOUNT, CARD, Payer } from '../../testkit/payer.js';
import { compiledProgram } from '../../testkit/project.js';

const BY_CARD = { ...CARD, method: 'creditcard' };
const BY_DEBIT_THAT_COMES_BACK = { ...ACCOUNT, method: 'bankaccount', account_number: '900006' };

/** A card is tried at most five times in ten minutes. */
const CARDS = ['5555555555554444', '5105105105105100'].map((number) => ({ ...BY_CARD, number }));

interface Line {
  readonly id: string;
  readonly checkoutId?: string;
  readonly state: string;
}

describe('the example shop', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
  });
  afterAll(() => gateway?.close());

  /** One with orders of its own, which may be started more than once. */
  async function newShop() {
    const [folder, port] = [await dataDirectory(), await freePort()];
    const file = join(folder, 'orders.ndjson');
    const url = `http://127.0.0.1:${port}`;
    const lines = async () =>
      (await readFile(file, 'utf8').catch(() => ''))
        .split('\n')
        .slice(0, -1)
        .flatMap((line) => (JSON.parse(line) as { order?: Line }).order ?? []);
    const orders = async () => [...new Map((await lines()).map((order) => [order.id, order])).values()];
    const post = (path: string) => fetch(`${url}${path}`, { method: 'POST', redirect: 'manual' });
    return {
      url,
      orders,
      post,
      start: async () => {
        const shop = start(
          [compiledProgram('examples/shop/main')],
          {
            TOLLGATE_CLIENT_URL: gateway.baseUrl,
            TOLLGATE_CLIENT_USERNAME: gateway.owner.username,
            TOLLGATE_CLIENT_PASSWORD: gateway.owner.password,
            SHOP_ORDERS: file,
            SHOP_PORT: String(port),
          },
          { command: process.execPath },
        );
        onTestFinished(async () => {
          shop.kill('SIGKILL');
          await shop.ended;
        });
        await eventually(async () => shop.output().includes(url) || undefined);
        return shop;
      },
      /** Where a customer pays who has ordered just now. */
      order: async () => {
        const { headers } = await post('/orders');
        return new Payer(headers.get('location') ?? '');
      },
      /** What the shop has written down of its only order. */
      state: async () => (await orders())[0]?.state,
    };
  }
  const pageAt = async (url: string | undefined) => (await fetch(url ?? '')).text();

  test('pays, and comes back → the page of the order says so; before that it does not, whatever its address says', async () => {
    const shop = await newShop();
    await shop.start();
    const payer = await shop.order();
    const [order] = await shop.orders();
    const page = `${shop.url}/orders/${order?.id}`;
    expect(await pageAt(`${page}?checkout=${order?.checkoutId}`)).toContain('no payment');
    const back = (await payer.pay(BY_CARD)).location;
    expect(back).toBe(`${page}?checkout=${order?.checkoutId}`);
    expect(await pageAt(back)).toContain('you have paid');
    // To pay once more leads to the same checkout, which is paid.
    const again = new Payer((await shop.post(`/orders/${order?.id}/pay`)).headers.get('location') ?? '');
    expect(again.url).toBe(payer.url);
    expect((await again.look()).location).toBe(back);
  });

  test('pays while the shop is down, and never comes back → the shop learns it by an event; the debit returned → that, too', async () => {
    const shop = await newShop();
    const first = await shop.start();
    const payer = await shop.order();
    first.kill('SIGKILL');
    await first.ended;
    await payer.pay(BY_DEBIT_THAT_COMES_BACK);
    await shop.start();
    await expect.poll(shop.state).toBe('pending');
    await gateway.advance('12d');
    await expect.poll(shop.state).toBe('returned');
  });

  test('killed while it makes checkouts → each order has one, and can be paid once', async () => {
    const shop = await newShop();
    const first = await shop.start();
    const ordered = Array.from({ length: 8 }, () => shop.post('/orders').catch(() => undefined));
    await eventually(async () => ((await shop.orders()).length >= 3 ? true : undefined));
    first.kill('SIGKILL');
    await Promise.all([first.ended, ...ordered]);
    await shop.start();
    const orders = await shop.orders();
    for (const [at, { id }] of orders.entries()) {
      const { headers } = await shop.post(`/orders/${id}/pay`);
      await new Payer(headers.get('location') ?? '').pay(CARDS[at % 2] ?? BY_CARD);
    }
    const made = await gateway.sql<{ order: string; checkouts: number }>(
      `SELECT split_part(correlation_id, '.', 1) AS order, count(*)::integer AS checkouts FROM checkout
       WHERE split_part(correlation_id, '.', 1) = ANY ($1) GROUP BY 1`,
      [orders.map(({ id }) => id)],
    );
    expect(made.map(({ checkouts }) => checkouts)).toEqual(orders.map(() => 1));
    await expect
      .poll(async () => new Set((await shop.orders()).map(({ state }) => state)))
      .toEqual(new Set(['paid']));
  });

  test('one that has expired → the customer gets another, and pays that one', async () => {
    const shop = await newShop();
    await shop.start();
    const first = await shop.order();
    await gateway.advance('2d');
    expect((await first.look()).text).toContain('data-status="expired"');
    const [order] = await shop.orders();
    const { headers } = await shop.post(`/orders/${order?.id}/pay`);
    const second = new Payer(headers.get('location') ?? '');
    expect(second.url).not.toBe(first.url);
    await second.pay(BY_CARD);
    await expect.poll(shop.state).toBe('paid');
  });

  test('told to stop → it does, in good order; an order that there is not → 404', async () => {
    const shop = await newShop();
    const running = await shop.start();
    expect((await fetch(`${shop.url}/orders/nobody`)).status).toBe(404);
    running.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });
});
