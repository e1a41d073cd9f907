// Routes: over which link a card payment goes, from the operator's setting to the host; two hosts of the testkit on the other side.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { removeRoutes, setRoute } from '../../src/admin/routes.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import type { Host } from '../../testkit/iso8583-host/host.js';
import { ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { cardAnsweredWith, cardWithFault } from '../../testkit/test-cards.js';
import { cardAccount, vaultOf } from '../../testkit/vault-client.js';
import { auditOf, heard, OPERATOR, PATIENTLY, RoutedShops, type Shop } from './routed-shops.js';

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
  // With two connections one is there while the other is mended.
  [one, two] = [await shops.host('one', { connections: 2 }), await shops.host('two')];
});
afterAll(() => shops.close());

describe('which route', () => {
  const ROUTES = [
    { acquirer: 'one', card: 'visa' },
    { acquirer: 'two', currency: 'NZD' },
    { acquirer: 'two', bins: ['411111-411119'] },
    { acquirer: 'one', bins: ['41111100-41111149'], currency: 'USD' },
    { acquirer: 'one', card: 'amex', order: '2' },
    { acquirer: 'two', card: 'amex', order: '1' },
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

  test('a virtual PAN → by the BIN of the card that was stored', async () => {
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

  test('preauthorisations and standalone refunds → as purchases; what goes back to one goes where that went', async () => {
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

  test('no route for it, and no link of the merchant’s own → 422 no_acquirer, and nothing is stored', async () => {
    const shop = await shops.shop([{ acquirer: 'one', card: 'amex' }], { acquirer: null });
    expect((await shop.pay({ pan: AMEX })).status).toBe(201);
    const answer = await shop.pay({ pan: VISA });
    expect([answer.status, answer.code]).toEqual([422, 'no_acquirer']);
  });

  test('a route to a link of the other mode, against every rule → passed over', async () => {
    await shops.unreachable('real', { test: false });
    const shop = await shops.shop([{ acquirer: 'one' }]);
    await gateway.sql(`UPDATE route SET acquirer = 'real' WHERE merchant_id = $1`, [shop.id]);
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
  test('→ taken up by every running process, and taken back likewise', async () => {
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

describe('not sent', () => {
  const WAYS = [
    { acquirer: 'lost', order: '1' },
    { acquirer: 'two', order: '2' },
  ];
  let lost: Host;
  beforeAll(async () => {
    lost = await shops.host('lost');
    await shops.unreachable('never');
    await lost.stopListening();
  });

  const approved = async (shop: Shop) => {
    const answer = await shop.pay();
    expect([answer.status, answer.body.status.transaction_status_code]).toEqual([201, 'approved']);
    return answer;
  };

  test.each([
    ['a link whose connections are lost', 'lost'],
    ['a link that could never be opened', 'never'],
  ])('over %s → over the next, stored so, and journalled', async (_, acquirer) => {
    const shop = await shops.shop([
      { acquirer, order: '1' },
      { acquirer: 'two', order: '2' },
    ]);
    const answer = await approved(shop);
    const [row] = await gateway.sql(
      `SELECT acquirer, prepared->>'terminal' AS terminal FROM transaction WHERE organisation_id = $1`,
      [shop.organisation],
    );
    expect(row).toEqual({ acquirer: 'two', terminal: expect.stringMatching(/^T\d+$/) });
    const journalled = await gateway.sql(
      `SELECT actor, audit, detail FROM journal WHERE organisation_id = $1 AND action = 'transaction.rerouted'`,
      [shop.organisation],
    );
    expect(journalled).toEqual([
      {
        actor: 'gateway:routes',
        audit: auditOf(answer),
        detail: `not sent over ${acquirer}, moved to two`,
      },
    ]);
    expect((await shop.api.refund(answer.body.audit, 50, { merchant: shop.id })).status).toBe(201);
    expect(heard(lost)).toEqual([]);
  });

  test('the CVV → goes with it to the link that is asked', async () => {
    const shop = await shops.shop(WAYS);
    const before = two.seen.after(0).at(-1)?.number;
    await shop.pay({ pan: VISA, cvv: '123' });
    expect(two.seen.after(before ?? 0).at(-1)?.fields[47]).toBe('CCV***\\');
  });

  test('over all of them → error with 1, and nothing came to any host', async () => {
    const shop = await shops.shop(
      [
        { acquirer: 'lost', order: '1' },
        { acquirer: 'never', order: '2' },
      ],
      {
        acquirer: null,
      },
    );
    const { status, body } = await shop.pay();
    expect([status, body.status]).toEqual([
      201,
      expect.objectContaining({ gateway_status_code: 1, transaction_status_code: 'error' }),
    ]);
    expect(heard(lost)).toEqual([]);
  });

  test('a target that another link took over → its refund goes there, though the first link is back', async () => {
    const shop = await shops.shop(WAYS);
    const paid = await approved(shop);
    await lost.listen();
    await vi.waitUntil(() => [...lost.connections].some(({ signedOn }) => signedOn), PATIENTLY);
    const refund = await shop.api.refund(paid.body.audit, 50, { merchant: shop.id });
    expect([refund.status, await shop.linkOf(refund)]).toEqual([201, 'two']);
    expect(heard(lost)).toEqual([]);
    await lost.stopListening();
  });
});

test('not sent, and taken over by a resolver meanwhile → no other link is asked, and it stays with its own', async () => {
  const first = new ScriptedAcquirer();
  const alone = await testGateway({
    acquirers: [first],
    settings: { ACQUIRER_DEADLINE_MS: '30000', RESOLVER_INTERVAL_MS: '60000' },
  });
  await alone.sql(`INSERT INTO route (organisation_id, merchant_id, acquirer) VALUES (1, 1, 'scripted')`);
  await alone.sql('UPDATE merchant SET routes_version = 1 WHERE id = 1');
  const held = first.holdNextAnswer();
  const paying = alone.api.purchase();
  await held.asked;
  await alone.sql(`UPDATE transaction SET resolve_attempts = 1, resolve_at = now() + interval '1 hour'`);
  held.answer({ kind: 'not_sent' });
  const answer = await paying;
  expect([answer.status, answer.code]).toEqual([504, 'acquirer_timeout']);
  expect(await alone.sql('SELECT acquirer, status FROM transaction')).toEqual([
    { acquirer: 'scripted', status: 'unknown' },
  ]);
  expect(await alone.ledger()).toEqual([]);
  // Left in peace it would have gone over the merchant's own link.
  first.nextAnswers(() => ({ kind: 'not_sent' }));
  expect((await alone.api.purchase()).body.status.transaction_status_code).toBe('approved');
  expect(await alone.ledger()).toHaveLength(1);
});

describe('perhaps sent', () => {
  const WAYS = [
    { acquirer: 'one', order: '1' },
    { acquirer: 'two', order: '2' },
  ];

  test.each([
    ['takes the bytes and closes', cardWithFault('01'), 502],
    ['loses the request', cardWithFault('02'), 504],
    ['loses its answer', cardWithFault('03'), 504],
    ['answers unreadably', cardWithFault('05'), 502],
  ])(
    'a host that %s → in doubt, no other link is asked, and it is reversed where it was sent',
    async (_, pan, status) => {
      const shop = await shops.shop(WAYS);
      const [first, second] = [one.seen.after(0).at(-1)?.number, two.seen.after(0).at(-1)?.number];
      const answer = await shop.pay({ pan });
      expect(answer.status).toBe(status);
      expect((await shop.api.decided(auditOf(answer))).status).toMatchObject({ gateway_status_code: 2 });
      expect(await shop.linkOf(answer)).toBe('one');
      expect(heard(one, first).map((message) => message.slice(0, 4))).toContain('0420');
      expect(heard(two, second)).toEqual([]);
    },
  );

  test('declined → declined, and no other link is asked', async () => {
    const shop = await shops.shop(WAYS);
    const second = two.seen.after(0).at(-1)?.number;
    const { body } = await shop.pay({ pan: cardAnsweredWith('05') });
    expect(body.status.transaction_status_code).toBe('declined');
    expect(heard(two, second)).toEqual([]);
  });
});
