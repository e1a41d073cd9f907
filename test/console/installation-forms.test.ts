// What the forms of the console send for operators, sessions, keys, cards, the clock and banks: done by the functions of the commands, in the
// journal, and with a recent proof where money or trust is at stake.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { type ConsoleAnswer, type ConsoleClient, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
let ada: ConsoleClient;
beforeAll(async () => {
  gateway = await testGateway();
  ada = await signedIn(gateway);
});
afterAll(() => gateway.close());

async function done(answer: Promise<ConsoleAnswer>): Promise<Json> {
  const { status, body, text } = await answer;
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return body;
}

async function newest(action: string): Promise<Json> {
  return (await done(ada.get(`/journal?action=${action}&limit=1`)))[0];
}

test('another role → the operator is signed out and has it at once; the last administrator stays one', async () => {
  const bert = await signedIn(gateway, { role: 'viewer' });
  const path = `/operators/${bert.name}`;
  expect(await done(ada.post(`${path}/set`, { role: 'operator', organisation: 1 }))).toMatchObject({
    role: 'operator',
    organisation: 1,
  });
  expect((await bert.get('/session')).status).toBe(401);
  expect(await done(ada.post(`${path}/set`, { organisation: null }))).toMatchObject({
    role: 'operator',
    organisation: null,
  });
  expect(await newest('operator.changed')).toMatchObject({ actor: `operator:${ada.name}` });
  expect((await ada.post(`${path}/set`, { role: 'owner' })).status).toBe(422);
  expect((await ada.post('/operators/nobody/set', { role: 'viewer' })).status).toBe(404);
  const otto = await signedIn(gateway, { role: 'operator' });
  expect((await otto.post(`${path}/set`, { role: 'administrator' })).status).toBe(403);
});

test('sessions of another operator → listed and ended; of another organisation → 404', async () => {
  const cara = await signedIn(gateway, { role: 'viewer', organisation: 1 });
  const path = `/operators/${cara.name}`;
  expect(await done(ada.get(`${path}/sessions`))).toMatchObject([{ address: '127.0.0.1', agent: 'test' }]);
  const foreign = await signedIn(gateway, { organisation: 2 });
  expect((await foreign.get(`${path}/sessions`)).status).toBe(404);
  expect((await foreign.post(`${path}/sign-out`)).status).toBe(404);
  expect(await done(ada.post(`${path}/sign-out`))).toEqual({ name: cara.name, ended: 1 });
  expect((await cara.get('/session')).status).toBe(401);
  expect(await newest('operator.signed_out')).toMatchObject({
    detail: `${cara.name}: everywhere, 1 sessions`,
  });
});

test('bank settings of a test merchant → stored and shown', async () => {
  const settings = {
    bank: 'CBA',
    user_name: 'HARBOUR GYM',
    user_id: '301500',
    trace_bsb: '062-000',
    trace_account: '12345678',
    remitter: 'HARBOUR GYM',
    clearing_days: 3,
    simulated: true,
  };
  await done(ada.post('/directdebit/1/settings', settings));
  expect(await done(ada.get('/directdebit/1/settings'))).toMatchObject({ ...settings, dispute_days: 365 });
  expect((await ada.post('/directdebit/1/settings', { ...settings, user_id: 'no' })).status).toBe(422);
});

test('keys rewrapped, a retired version destroyed, cards reviewed → as the commands do', async () => {
  await gateway.api.purchase();
  expect((await done(ada.post('/keys/rewrap'))).data_keys).toBeGreaterThan(0);
  expect((await ada.post('/keys/destroy', { merchant: 1, version: 1 })).status).toBe(422);
  expect(await done(ada.get('/cards'))).toMatchObject({ cards: 1, overdue: 0 });
  expect(await done(ada.post('/cards/review', {}))).toMatchObject({ merchants: expect.any(Number) });
});

test('the clock → advanced and reset', async () => {
  const ahead = await done(ada.post('/clock/advance', { duration: '30s' }));
  expect(ahead.advanced_ms).toBe(30_000);
  expect(await done(ada.get('/clock'))).toMatchObject({ advanced_ms: 30_000 });
  expect((await ada.post('/clock/advance', { duration: 'soon' })).status).toBe(422);
});
