// Routes: over which link a card payment goes, from the operator's setting to the host; two hosts of the testkit on the other side.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { removeRoutes, setRoute } from '../../src/organisations/routing/route-tasks.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import type { Host } from '../../testkit/iso8583-host/host.js';
import { cardAccount, vaultOf } from '../../testkit/vault-client.js';
import { heard, OPERATOR, PATIENTLY, RoutedShops } from './routed-shops.js';

const VISA = '4111111111111111';
const OTHER_VISA = '4012888888881881';
const MASTERCARD = '5555555555554444';
const AMEX = '378282246310005';

let gateway: TestGateway;
let shops: RoutedShops;
let one: Host;
let two: Host;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '1500' } });
  shops = new RoutedShops(gateway);
  [one, two] = [await shops.host('one'), await shops.host('two')];
});
afterAll(() => shops.close());

describe('which route', () => {
  const ROUTES = [
    { acquirer: 'one', card: 'visa' },
    { acquirer: 'two', currency: 'NZD' },
    { acquirer: 'two', bins: ['411111-411119'] },
    { acquirer: 'one', bins: ['41111100-41111149'], currency: 'USD' },
    { acquirer: 'one', card: 'amex', order: 2 },
    { acquirer: 'two', card: 'amex', order: 1 },
  ];

  test.each([
    ['a card type', { pan: OTHER_VISA }, 'one'],
    ['a BIN is more specific than a card type', { pan: VISA }, 'two'],
    ['a narrower range of BINs than a wider', { pan: VISA, currency: 'USD' }, 'one'],
    ['which is not for this currency', { pan: VISA, currency: 'NZD' }, 'two'],
    ['a card type than a currency', { pan: OTHER_VISA, currency: 'NZD' }, 'one'],
    ['a currency', { pan: MASTERCARD, currency: 'NZD' }, 'two'],
    ['the lowest order', { pan: AMEX }, 'two'],
    ['none: the merchant’s own link', { pan: MASTERCARD }, 'simulator'],
  ])('%s → %j over %s', async (_, payment, link) => {
    const shop = await shops.shop(ROUTES);
    const [before, after] = [one.seen.after(0).at(-1)?.number, two.seen.after(0).at(-1)?.number];
    const answer = await shop.pay(payment);
    expect([answer.status, answer.body.status.transaction_status_code]).toEqual([201, 'approved']);
    expect(await shop.linkOf(answer)).toBe(link);
    expect([heard(one, before).length, heard(two, after).length]).toEqual([
      Number(link === 'one'),
      Number(link === 'two'),
    ]);
  });

  test('a virtual PAN → by the BIN of the stored card', async () => {
    const shop = await shops.shop([{ acquirer: 'two', bins: ['555555'] }]);
    const [visa, mastercard] = [
      await vaultOf(shop.api, shop.id).newToken(),
      await vaultOf(shop.api, shop.id).newToken({ account: cardAccount({ 'CARD.PAN': MASTERCARD }) }),
    ];
    const links = [];
    for (const { virtualPan } of [visa, mastercard]) {
      const answer = await shop.pay({ pan: virtualPan });
      expect(answer.body.status.transaction_status_code).toBe('approved');
      links.push(await shop.linkOf(answer));
    }
    expect(links).toEqual(['simulator', 'two']);
  });

  test('preauthorisations and standalone refunds → like purchases; follow-up operations use the link of their target', async () => {
    const { id, api, linkOf, pay } = await shops.shop([{ acquirer: 'one' }]);
    const merchant = { merchant: id };
    const paid = await pay();
    const [held, undone] = [await api.preauthorise(merchant), await pay()];
    const credited = await api.standaloneRefund(merchant);
    await setRoute(shops.database, OPERATOR, id, { acquirer: 'two', bins: ['411111'] });
    await vi.waitUntil(async () => (await linkOf(await pay())) === 'two', PATIENTLY);
    const completed = await api.complete(held.body.audit, 50, merchant);
    const refunded = await api.refund(paid.body.audit, 50, merchant);
    const voided = await api.void(undone.body.audit, merchant);
    for (const answer of [paid, held, undone, credited, completed, refunded, voided]) {
      expect(answer.body.status.transaction_status_code).toBe('approved');
      expect(await linkOf(answer)).toBe('one');
    }
  });

  test('a share of 25 % → about a quarter of 400 payments', async () => {
    const shop = await shops.shop([
      { acquirer: 'one', share: '25' },
      { acquirer: 'simulator', share: '75' },
    ]);
    const pay = async () => (await shop.pay()).status;
    for (let round = 0; round < 20; round += 1) await Promise.all(Array.from({ length: 20 }, pay));
    const [row] = await gateway.sql<{ count: number }>(
      `SELECT count(*)::integer AS count FROM transaction WHERE organisation_id = $1 AND acquirer = 'one' AND status = 'approved'`,
      [shop.organisation],
    );
    // Six standard deviations.
    expect(Math.abs((row?.count ?? 0) - 100)).toBeLessThan(52);
  });

  test('a bank account → the bank, whatever the routes', async () => {
    const shop = await shops.shop([{ acquirer: 'one' }]);
    expect(await shop.linkOf(await shop.pay({ bankAccount: {} }))).toBe('simulated-bank');
  });

  test('no route for it, and no link of the merchant → 422 no_acquirer, and nothing is stored', async () => {
    const shop = await shops.shop([{ acquirer: 'one', card: 'amex' }], { acquirer: null });
    expect((await shop.pay({ pan: AMEX })).status).toBe(201);
    const answer = await shop.pay({ pan: VISA });
    expect([answer.status, answer.code]).toEqual([422, 'no_acquirer']);
  });

  // catches(routes: no route leads from test to live)
  test('a route to a link of the other mode, against the rules → skipped', async () => {
    await shops.unreachable('real', { test: false });
    const shop = await shops.shop([{ acquirer: 'one' }]);
    await gateway.sqlSealed(`UPDATE route SET acquirer = 'real' WHERE merchant_id = $1`, [shop.id]);
    const answer = await shop.pay();
    expect([await shop.linkOf(answer), answer.body.status.transaction_status_code]).toEqual([
      'simulator',
      'approved',
    ]);
    // It was not even stored for it.
    const rerouted = await gateway.sql(
      `SELECT FROM journal WHERE organisation_id = $1 AND action = 'transaction.rerouted'`,
      [shop.organisation],
    );
    expect(rerouted).toEqual([]);
  });
});

describe('changed routes', () => {
  test('→ applied by every running process, and undone likewise', async () => {
    const shop = await shops.shop([]);
    const second = await testGateway({ shareWith: gateway });
    const clients = [shop.api, second.as(shop.user)];
    const goesOver = async (link: string) => {
      const answers = await Promise.all(clients.map((api) => api.purchase({ merchant: shop.id })));
      const links = await Promise.all(answers.map(shop.linkOf));
      return links.every((each) => each === link);
    };
    expect(await goesOver('simulator')).toBe(true);
    await setRoute(shops.database, OPERATOR, shop.id, { acquirer: 'one' });
    await vi.waitUntil(() => goesOver('one'), PATIENTLY);
    await removeRoutes(shops.database, OPERATOR, shop.id);
    await vi.waitUntil(() => goesOver('simulator'), PATIENTLY);
    await second.close();
  });
});
