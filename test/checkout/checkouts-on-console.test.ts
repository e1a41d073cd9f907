// Checkouts on the console: links that operators make there, what has come of them, and who may do and see what.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConsoleClient, signedIn } from '../../testkit/console.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { CARD, createCheckout, DECLINED_CARD, Payer } from '../../testkit/payer.js';

let gateway: TestGateway;
let ada: ConsoleClient;
beforeAll(async () => {
  gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
  ada = await signedIn(gateway);
});
afterAll(() => gateway.close());

const LINK = { merchant: 1, reference: 'INV-1', amount: 4_990, currency: 'AUD' };

async function newLink(more: object = {}): Promise<{ id: string; url: string }> {
  const { status, body } = await ada.post('/checkouts', { ...LINK, ...more });
  expect(status).toBe(200);
  return body;
}

test('a new link → somebody declines and pays by it; the console shows the attempts, and finds their transactions', async () => {
  const { id, url } = await newLink({ description: 'Half a year', bank_account: true });
  expect(url).toBe(`${gateway.checkoutUrl}/${id}`);
  expect((await ada.get(`/checkouts/1/${id}`)).body).toMatchObject({
    id,
    url,
    organisation: 1,
    status: 'open',
    operation: 'purchase',
    payment_methods: ['creditcard', 'bankaccount'],
    description: 'Half a year',
    tried: [],
  });
  const payer = new Payer(url);
  await payer.pay({ method: 'creditcard', ...DECLINED_CARD });
  expect((await payer.pay({ method: 'creditcard', ...CARD })).text).toContain('you have paid');
  const shown = (await ada.get(`/checkouts/1/${id}`)).body;
  expect(shown).toMatchObject({
    status: 'complete',
    tried: [
      { n: 1, outcome: 'not paid', audit: expect.any(Number) },
      { n: 2, outcome: 'paid', audit: shown.audit },
    ],
  });
  const audits = shown.tried.map(({ audit }: { audit: number }) => audit).toReversed();
  const found = (await ada.get(`/transactions?checkout_id=${id}`)).body;
  expect(found.results.map(({ audit }: { audit: number }) => audit)).toEqual(audits);
  const { results } = (await gateway.api.get(`/transactions/history?checkout_id=${id}`)).body;
  expect(results.map(({ audit }: { audit: number }) => audit)).toEqual(audits);
  const declined = await gateway.api.get(`/transactions/history?checkout_id=${id}&status=declined`);
  expect(declined.body.results).toMatchObject([{ audit: audits[1] }]);
  const { kvps } = (await ada.get(`/transactions/1/${shown.audit}`)).body;
  expect(kvps).toContainEqual({ key: 'CHECKOUT', value: id });
});

test('a checkout’s transactions → nobody else’s are found; with a customer or a token as well, only those', async () => {
  const { id, url } = await newLink();
  await new Payer(url).pay({ method: 'creditcard', ...CARD });
  const found = async (client: TestGateway['api'], more = '') =>
    (await client.get(`/transactions/history?checkout_id=${id}${more}`)).body.results.length;
  expect(await found(gateway.api)).toBe(1);
  expect(await found(gateway.as(gateway.stranger))).toBe(0);
  expect(await found(gateway.api, '&customer_id=1')).toBe(0);
  expect(await found(gateway.api, '&token_id=1')).toBe(0);
  expect((await gateway.api.get('/transactions/history?checkout_id=co_x')).status).toBe(422);
});

test('the list → newest first, by state, and a page at a time', async () => {
  const merchant = 2;
  const ids: string[] = [];
  for (const reference of ['a', 'b', 'c']) ids.unshift((await newLink({ merchant, reference })).id);
  expect((await ada.post(`/checkouts/2/${ids[1]}/cancel`)).body).toMatchObject({ status: 'cancelled' });
  const listed = async (query: string) =>
    (await ada.get(`/checkouts?merchant=2${query}`)).body.map(({ id }: { id: string }) => id);
  expect(await listed('')).toEqual(ids);
  expect(await listed('&status=open')).toEqual([ids[0], ids[2]]);
  expect(await listed('&status=cancelled')).toEqual([ids[1]]);
  expect(await listed('&limit=2')).toEqual(ids.slice(0, 2));
  expect(await listed(`&limit=2&after=${ids[1]}`)).toEqual(ids.slice(2));
  expect((await ada.get('/checkouts?merchant=2&status=paid')).status).toBe(422);
});

test('withdrawn → nobody pays it, and it cannot be withdrawn again; the journal says who did it', async () => {
  const { id, url } = await newLink({ reference: 'INV-9' });
  expect((await ada.post(`/checkouts/1/${id}/cancel`)).status).toBe(200);
  expect((await new Payer(url).look()).text).toContain('nothing to pay any more');
  expect(await ada.post(`/checkouts/1/${id}/cancel`)).toMatchObject({
    status: 422,
    body: { error_code: 'checkout_not_open' },
  });
  const entries = await gateway.sql(
    `SELECT action, actor FROM journal WHERE detail LIKE '%INV-9%' ORDER BY id`,
  );
  expect(entries).toEqual([
    { action: 'checkout.added', actor: `operator:${ada.name}` },
    { action: 'checkout.cancelled', actor: `operator:${ada.name}` },
  ]);
});

test('what cannot be asked for → refused with the reason', async () => {
  await expectEach(
    [
      [{ reference: '4111111111111111' }, 'no card number'],
      [{ operation: 'preauthorisation', bank_account: true }, 'cannot be preauthorised'],
      [{ expires_ms: 60_000 }, 'must be 5m at least'],
      [{ customer: 99_999 }, 'there is no customer'],
    ] as const,
    async ([more, sentence]) => {
      const { status, body } = await ada.post('/checkouts', { ...LINK, ...more });
      expect(status).toBeGreaterThanOrEqual(404);
      expect(body.error_message.toLowerCase()).toContain(sentence);
    },
  );
});

test('one that somebody has changed in the database → listed as such, and shown to nobody', async () => {
  const { id } = await newLink();
  await gateway.sql(`UPDATE checkout SET expires_at = expires_at + interval '1 day' WHERE id = '${id}'`);
  const { body } = await ada.get('/checkouts?merchant=1&limit=1');
  expect(body).toMatchObject([{ id, status: 'changed', amount_cents: null, expires: null }]);
  expect(await ada.get(`/checkouts/1/${id}`)).toMatchObject({
    status: 422,
    body: { error_code: 'checkout_changed' },
  });
});

test('a viewer → sees, and changes nothing; an operator of another organisation → nothing is there', async () => {
  const { id } = (await createCheckout(gateway.api)).body;
  const viewer = await signedIn(gateway, { role: 'viewer' });
  expect((await viewer.get(`/checkouts/1/${id}`)).body).toMatchObject({ id, status: 'open' });
  for (const [path, body] of [
    ['/checkouts', LINK],
    [`/checkouts/1/${id}/cancel`, {}],
  ] as const)
    expect(await viewer.post(path, body)).toMatchObject({
      status: 403,
      body: { error_code: 'role_not_sufficient' },
    });
  const foreign = await signedIn(gateway, { organisation: 2 });
  const own = (await foreign.get('/merchants')).body[0].id;
  for (const answer of [
    await foreign.get('/checkouts?merchant=1'),
    await foreign.get(`/checkouts/1/${id}`),
    await foreign.get(`/checkouts/${own}/${id}`),
    await foreign.post('/checkouts', LINK),
    await foreign.post(`/checkouts/1/${id}/cancel`),
    await foreign.post(`/checkouts/${own}/${id}/cancel`),
  ])
    expect(answer.status).toBe(404);
  expect((await foreign.get(`/transactions?checkout_id=${id}`)).body.results).toEqual([]);
  expect((await ada.get(`/checkouts/1/${id}`)).body).toMatchObject({ status: 'open' });
});
