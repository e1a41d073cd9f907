// What operators change on the console, seen through the interface and by the commands' own lists; and what an operator of another
// organisation cannot.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, type Json } from '../../testkit/client.js';
import { type ConsoleAnswer, type ConsoleClient, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { eventually } from '../../testkit/gateway-process.js';
import { vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let ada: ConsoleClient;
let foreign: ConsoleClient;

beforeAll(async () => {
  gateway = await testGateway();
  ada = await signedIn(gateway);
  foreign = await signedIn(gateway, { organisation: 2 });
});
afterAll(() => gateway.close());

async function done(answer: Promise<ConsoleAnswer>): Promise<Json> {
  const { status, body, text } = await answer;
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return body;
}
const NOT_THERE = { status: 404 };

test('organisation, merchant and user → the interface accepts them; suspended and revoked → it refuses', async () => {
  const { id: organisation } = await done(ada.post('/organisations', { name: 'New' }));
  const { id: merchant } = await done(ada.post('/merchants', { organisation, name: 'Shop', vault: true }));
  const user = await done(
    ada.post('/users', { username: 'new-shop', merchant, allow: ['read', 'payments'] }),
  );
  const api = client(gateway.baseUrl, { username: 'new-shop', password: user.password });
  expect((await api.purchase({ merchant })).status).toBe(201);
  expect(await done(ada.post(`/merchants/${merchant}`, { name: 'Renamed', card_days: 30 }))).toMatchObject({
    name: 'Renamed',
    card_days: 30,
    vault: true,
  });
  await done(ada.post(`/merchants/${merchant}/suspend`));
  await eventually(async () => (await api.purchase({ merchant })).status === 403 || undefined);
  await done(ada.post(`/merchants/${merchant}/resume`));
  await eventually(async () => (await api.purchase({ merchant })).status === 201 || undefined);
  expect(await done(ada.post('/users/new-shop', { allow: ['read'] }))).toMatchObject({ allow: ['read'] });
  const rotated = await done(ada.post('/users/new-shop/rotate'));
  const anew = client(gateway.baseUrl, { username: 'new-shop', password: rotated.password });
  await eventually(async () => (await anew.get('/transactions/history')).status === 200 || undefined);
  await done(ada.post('/users/new-shop/revoke'));
  await eventually(async () => (await anew.get('/transactions/history')).status === 401 || undefined);
});

test('a body that names something else than the path → the path counts', async () => {
  const { id: organisation } = await done(ada.post('/organisations', { name: 'Two shops' }));
  const add = async (name: string) => (await done(ada.post('/merchants', { organisation, name }))).id;
  const [named, other] = [await add('Named'), await add('Other')];
  const suspended = await done(ada.post(`/merchants/${named}/suspend`, { merchant: other }));
  expect(suspended).toMatchObject({ id: named, suspended_at: expect.any(String) });
  const listed = (await ada.get('/merchants')).body.find(({ id }: Json) => id === other);
  expect(listed).not.toHaveProperty('suspended_at');
});

test('grants → added and removed', async () => {
  expect(await done(ada.post('/users/colleague/grant', { merchant: 3 }))).toMatchObject({ grants: [3] });
  expect(await done(ada.post('/users/colleague/ungrant', { merchant: 3 }))).toMatchObject({ grants: [] });
});

test('surcharge and route → applied to payments', async () => {
  const rules = [{ scope: 'default', percent: '2' }];
  expect(await done(ada.post('/surcharges/2/set', { rules }))).toMatchObject([
    { scope: 'default', percent: '2' },
  ]);
  await eventually(async () => {
    const { body } = await gateway.api.purchase({ merchant: 2, amount: 1_000 });
    const { transaction } = (await gateway.api.get(`/transactions/${body.audit}`)).body;
    return transaction.amount_details.total_amount === '1020' || undefined;
  });
  expect(await done(ada.post('/surcharges/2/off'))).toEqual([]);
  expect(
    await ada.post('/surcharges/2/set', { rules: [{ scope: 'default', percent: '101' }] }),
  ).toMatchObject({
    status: 422,
    body: { error_code: 'field_format', location: ['body', 'rules', '0', 'percent'] },
  });
  expect(
    await done(ada.post('/routes/1/set', { acquirer: 'simulator', card: 'visa', order: 2 })),
  ).toMatchObject([{ acquirer: 'simulator', card: 'visa', order: 2 }]);
  expect(await done(ada.post('/routes/1/off', {}))).toEqual([]);
});

test('limits → in force for payments, and what they have caught is listed', async () => {
  const limit = { per: 'card', attempts: 1, within_ms: 3_600_000, mode: 'block' };
  expect(await done(ada.post('/limits/3/set', limit))).toContainEqual({
    of: 'the merchant',
    per: 'card',
    attempts: 1,
    declines: null,
    within: '1h',
    mode: 'block',
  });
  const refused = () => gateway.api.purchase({ merchant: 3 });
  await eventually(async () => ((await refused()).code === 'limit_reached' ? true : undefined));
  expect(await done(ada.get('/limits/reached?merchant=3'))).toMatchObject([
    { mode: 'block', per: 'card', what: '411111******1111' },
  ]);
  expect(await ada.post('/limits/3/set', { ...limit, within_ms: 1_000 })).toMatchObject({ status: 422 });
  expect(await done(ada.post('/limits/3/off', {}))).toMatchObject([
    { of: 'checkouts', per: 'card' },
    { of: 'checkouts', per: 'address' },
  ]);
});

test('customer and tokens → the interface shows the changes', async () => {
  const vault = vaultOf(gateway.api);
  const { id, customerId, virtualPan } = await vault.newToken();
  await done(ada.post(`/tokens/1/${id}/deactivate`));
  expect((await gateway.api.purchase({ pan: virtualPan })).status).toBe(422);
  await done(ada.post(`/tokens/1/${id}/activate`));
  expect((await gateway.api.purchase({ pan: virtualPan })).status).toBe(201);
  await done(ada.post(`/tokens/1/${id}/delete`));
  expect((await vault.lookUpToken(customerId, id)).status).toBe(404);
  await done(ada.post(`/customers/1/${customerId}/delete`));
  expect((await vault.lookUpCustomer(customerId)).status).toBe(404);
});

test('webhooks and links → added, switched on and off, tested and removed', async () => {
  const { id, secret } = await done(ada.post('/webhooks', { url: 'https://example.com/hook', merchant: 1 }));
  expect(secret).toMatch(/^whsec_/);
  expect(await done(ada.post(`/webhooks/${id}/disable`))).toMatchObject({ state: 'disabled' });
  expect((await done(ada.post(`/webhooks/${id}/rotate`))).secret).not.toBe(secret);
  expect(await ada.post(`/webhooks/${id}/replay`, { from: 'evt_none' })).toMatchObject({ status: 404 });
  expect(await ada.post(`/webhooks/${id}/resend`, { event: 'evt_none' })).toMatchObject({ status: 404 });
  await done(ada.post(`/webhooks/${id}/enable`));
  await done(ada.post(`/webhooks/${id}/remove`));
  const link = { name: 'bank', address: '127.0.0.1:1', test: true };
  expect(await done(ada.post('/acquirers', link))).toMatchObject({ name: 'bank', mode: 'test' });
  expect(await done(ada.post('/acquirers/bank', { deadline_ms: 500 }))).toMatchObject({ deadline_ms: 500 });
  expect(await ada.post('/acquirers/bank/test')).toMatchObject({
    status: 422,
    body: { error_code: 'acquirer_does_not_answer' },
  });
  await done(ada.post('/acquirers/bank/remove'));
});

test('direct debit: exported, downloaded again and again, and returns imported', async () => {
  const bankAccount = { account_number: '123456789' };
  const { audit } = (await gateway.api.purchase({ amount: 700, bankAccount })).body;
  const exported = await done(ada.post('/directdebit/1/export'));
  expect(exported).toMatchObject({ merchant: 1, items: 1, debit_cents: 700, left: 0 });
  const fetched = await ada.get(`/directdebit/1/files/${exported.file}`);
  expect(fetched.status).toBe(200);
  expect(fetched.headers.get('content-disposition')).toMatch(/attachment/);
  expect(fetched.text).toContain('123456789');
  expect((await ada.get(`/directdebit/1/files/${exported.file}`)).text).toBe(fetched.text);
  expect(await done(ada.get('/directdebit/1/files'))).toMatchObject([
    { file: exported.file, items: 1, debit_cents: 700, clears: expect.any(String) },
  ]);
  expect((await gateway.api.void(audit)).status).toBe(422);
  expect(await ada.post('/directdebit/returns', new TextEncoder().encode('no such file\r\n'))).toMatchObject({
    status: 422,
    body: { error_code: expect.stringMatching(/^returns_/) },
  });
  expect(await done(ada.post('/directdebit/1/export'))).toMatchObject({ file: null, items: 0 });
});

test('settlement: its lines as a file, and an acquirer’s file reconciled', async () => {
  await gateway.api.purchase({ amount: 1_234 });
  const [{ day } = { day: '' }] = await gateway.sql<{ day: string }>(
    'SELECT max(settlement_date)::text AS day FROM settlement_entry',
  );
  const csv = await ada.get(`/settlement.csv?date=${day}&merchant=1`);
  expect([csv.status, csv.text]).toEqual([200, expect.stringContaining('1234')]);
  // Without a merchant it is of one mode: what is in it is not to be taken for the other.
  const ofMode = (mode: string) => ada.get(`/settlement.csv?date=${day}${mode}`);
  const [header, ...test] = (await ofMode('&mode=test')).text.trimEnd().split('\n');
  expect(header).toContain(',mode,');
  expect(test.join('\n')).toContain('1234');
  expect(test.filter((line) => !line.includes(',test,'))).toEqual([]);
  expect((await ofMode('&mode=live')).text.trimEnd()).toBe(header);
  expect([(await ofMode('')).status, (await ofMode('&mode=both')).status]).toEqual([422, 422]);
  const file = new TextEncoder().encode(
    'reference,transaction_type,amount_cents,currency\nnone,purchase,5,AUD\n',
  );
  const held = await done(ada.post(`/settlement/reconcile?date=${day}&acquirer=simulator`, file));
  expect(held).toMatchObject({ lines: 1, matched: 0, missing_here: 1 });
  expect(held.missing_there_transactions.length).toBeGreaterThan(0);
  expect((await ada.post('/settlement/reconcile?date=x&acquirer=simulator', file)).status).toBe(422);
});

test('keys: rotated while the page shows progress; cards, clock and journal', async () => {
  await gateway.api.purchase();
  expect(await done(ada.post('/keys/rotate', { merchant: 1 }))).toMatchObject({ running: true, merchant: 1 });
  const ended = await eventually(async () => {
    const state = await done(ada.get('/keys/rotation'));
    return state.running ? undefined : state;
  });
  expect(ended).toMatchObject({ merchant: 1, broken: 0, begun_by: `operator:${ada.name}` });
  expect(ended.rows).toBeGreaterThan(0);
  expect(await done(ada.post('/keys/verify', { merchant: 1 }))).toMatchObject({ problems: [] });
  expect(await ada.post('/keys/destroy', { merchant: 1, version: 99 })).toMatchObject({ status: 422 });
  expect((await done(ada.get('/cards?merchant=1'))).cards).toBeGreaterThan(0);
  expect(await done(ada.post('/cards/review', { merchant: 1 }))).toEqual({ merchants: 1 });
  expect(await done(ada.post('/clock/advance', { duration: '1h' }))).toMatchObject({
    advanced_ms: 3_600_000,
  });
  expect(await done(ada.get('/clock'))).toMatchObject({ advanced_ms: 3_600_000 });
  expect(await ada.post('/clock/advance', { duration: 'soon' })).toMatchObject({ status: 422 });
  const verified = await done(ada.post('/journal/verify'));
  expect(verified.problems ?? []).toEqual([]);
});

test('operators: added with a link, another link, removed', async () => {
  const added = await done(ada.post('/operators', { name: 'vera', role: 'viewer' }));
  expect(added.link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sign-in#vera:/);
  expect((await done(ada.post('/operators/vera/link'))).link).not.toBe(added.link);
  expect(await done(ada.post('/operators/vera/remove'))).toMatchObject({ removed: true });
});

describe('an administrator of another organisation', () => {
  test.each([
    ['/users/owner', { allow: ['read'] }],
    ['/users/owner/grant', { merchant: 4 }],
    ['/users/owner/ungrant', { merchant: 2 }],
    ['/users/owner/rotate', {}],
    ['/users/owner/revoke', {}],
    ['/users', { username: 'spy', merchant: 4, grants: [1] }],
    ['/users', { username: 'spy', merchant: 1 }],
    ['/merchants', { organisation: 1, name: 'Theirs' }],
    ['/keys/rotate', { merchant: 1 }],
    ['/keys/destroy', { merchant: 1, version: 1 }],
    ['/cards/review', { merchant: 1 }],
    ['/operators', { name: 'spy', role: 'administrator', organisation: 1 }],
    ['/operators/first/remove', {}],
    ['/operators/first/link', {}],
    ['/webhooks', { url: 'https://example.com', merchant: 1 }],
  ])('%s %o → 404, and nothing happens', async (path, body) => {
    expect(await foreign.post(path, body)).toMatchObject(NOT_THERE);
  });

  test.each([
    ['/operators', { name: 'spy', role: 'administrator' }],
    ['/organisations', { name: 'Mine' }],
    ['/keys/rotate', {}],
    ['/cards/review', {}],
    ['/clock/advance', { duration: '1h' }],
    ['/acquirers', { name: 'mine', address: '127.0.0.1:1' }],
  ])('%s %o, which concerns the whole installation → 403', async (path, body) => {
    expect(await foreign.post(path, body)).toMatchObject({ status: 403 });
  });

  // catches(console: what is named otherwise than by its merchant lies inside the fence, too)
  test('an endpoint of another organisation → 404', async () => {
    const { id } = await done(ada.post('/webhooks', { url: 'https://example.com/hook', merchant: 1 }));
    for (const name of ['disable', 'enable', 'remove', 'rotate', 'test'])
      expect(await foreign.post(`/webhooks/${id}/${name}`)).toMatchObject(NOT_THERE);
    expect(await foreign.post(`/webhooks/${id}/replay`, { from: 'evt_1' })).toMatchObject(NOT_THERE);
    expect(await foreign.post(`/webhooks/${id}/resend`, { event: 'evt_1' })).toMatchObject(NOT_THERE);
    expect((await gateway.sql('SELECT FROM webhook_endpoint WHERE id = $1', [id])).length).toBe(1);
  });

  test('its own organisation → works as for any operator', async () => {
    expect(await done(foreign.post('/merchants/4', { card_days: 20 }))).toMatchObject({ card_days: 20 });
    const added = await done(foreign.post('/users', { username: 'theirs', merchant: 4 }));
    expect(added.password).toMatch(/./);
    const operator = { name: 'their-own', role: 'viewer', organisation: 2 };
    expect((await done(foreign.post('/operators', operator))).link).toMatch(/their-own/);
  });
});
