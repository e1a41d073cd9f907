// What operators do with money on the console: seen through the interface, once however often it is sent, by whom the role and the
// organisation allow, and by two of them above the limit.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../../testkit/client.js';
import {
  type ConsoleAnswer,
  type ConsoleClient,
  moneyNeedsApproval,
  signedIn,
} from '../../../testkit/console.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { cardAnsweredLaterWith, cardWithFaultLater } from '../../../testkit/test-cards.js';

let gateway: TestGateway;
let olga: ConsoleClient;
let otto: ConsoleClient;
let foreign: ConsoleClient;

beforeAll(async () => {
  gateway = await testGateway();
  await moneyNeedsApproval(gateway, 5_000);
  olga = await signedIn(gateway, { role: 'operator' });
  otto = await signedIn(gateway, { role: 'operator', organisation: 1 });
  foreign = await signedIn(gateway, { role: 'administrator', organisation: 2 });
});
afterAll(() => gateway.close());

async function purchase(change: Readonly<Record<string, unknown>> = {}): Promise<number> {
  const { status, body } = await gateway.api.purchase(change);
  expect(status).toBe(201);
  return body.audit;
}

const lookedUp = async (audit: number): Promise<Json> =>
  (await gateway.api.get(`/transactions/${audit}`)).body;
const leftOf = async (audit: number): Promise<string | undefined> =>
  (await lookedUp(audit)).kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT'];
const asked = (more: object = {}) => ({ reason: 'because', key: randomUUID(), ...more });
const refund = (by: ConsoleClient, audit: number, more: object = {}): Promise<ConsoleAnswer> =>
  by.post(`/transactions/1/${audit}/refund`, asked(more));

test('refund of a part → the interface shows it, with the operator and the reason in the journal', async () => {
  const target = await purchase({ amount: 2_000 });
  const { status, body } = await refund(olga, target, { amount_cents: 500 });
  expect(status).toBe(200);
  expect(body).toMatchObject({ operation: 'refund', state: 'done', status: 'approved', amount_cents: 500 });
  expect((await lookedUp(body.audit)).transaction).toMatchObject({
    transaction_type: 'refund',
    target_audit: target,
  });
  expect(await leftOf(target)).toBe('1500');
  const entries = await gateway.sql('SELECT actor, address, detail FROM journal WHERE audit = $1', [
    body.audit,
  ]);
  expect(entries).toEqual([
    {
      actor: `operator:${olga.name}`,
      address: '127.0.0.1',
      detail: `refund of ${target}, 5.00 AUD: because`,
    },
  ]);
});

test('void and completion → as in the interface; where not allowed → refused', async () => {
  const paid = await purchase({ amount: 2_000 });
  expect((await otto.post(`/transactions/1/${paid}/void`, asked())).body).toMatchObject({
    status: 'approved',
  });
  expect((await lookedUp(paid)).status.transaction_status_code).toBe('voided');
  expect(await otto.post(`/transactions/1/${paid}/void`, asked())).toMatchObject({
    status: 422,
    body: {
      error_code: 'transaction_not_voidable',
      error_message: expect.stringMatching(/^Transaction \d+ cannot/),
    },
  });
  const held = (await gateway.api.preauthorise({ amount: 900 })).body.audit;
  const completed = await otto.post(`/transactions/1/${held}/completion`, asked({ amount_cents: 300 }));
  expect(completed.body).toMatchObject({ operation: 'completion', amount_cents: 300, status: 'approved' });
});

test('declined, and in doubt → shown as such; in doubt → the acquirer can be asked', async () => {
  const declining = await purchase({ amount: 300, pan: cardAnsweredLaterWith('05') });
  expect((await refund(olga, declining)).body).toMatchObject({ status: 'declined', response_code: '05' });
  const doubtful = await purchase({ amount: 300, pan: cardWithFaultLater('03') });
  const { body } = await refund(olga, doubtful);
  expect(body).toMatchObject({ state: 'done', audit: expect.any(Number) });
  const ask = await olga.post(`/transactions/1/${body.audit}/ask`);
  expect([200, 422]).toContain(ask.status);
  expect((await gateway.api.decided(body.audit)).status.transaction_status_code).toBe('approved');
  expect(await olga.post(`/transactions/1/${body.audit}/ask`)).toMatchObject({
    status: 422,
    body: { error_code: 'transaction_decided' },
  });
});

describe('the same form', () => {
  // catches(operator: the same key is the same correlation ID)
  test('by a double click, in two tabs and after a reload → one refund, the same answer', async () => {
    const target = await purchase({ amount: 2_000 });
    const form = asked({ amount_cents: 200 });
    const path = `/transactions/1/${target}/refund`;
    const answers = await Promise.all([olga.post(path, form), olga.post(path, form), olga.post(path, form)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const again = await olga.post(path, form);
    expect(new Set([...answers, again].map(({ body }) => body.audit)).size).toBe(1);
    expect(again.body).toMatchObject({ state: 'done', status: 'approved' });
    expect(await leftOf(target)).toBe('1800');
  });

  test('sent again to another process, after the first was killed before it answered → the same refund', async () => {
    const target = await purchase({ amount: 2_000 });
    const form = asked();
    const path = `/transactions/1/${target}/refund`;
    const first = await olga.post(path, form);
    const restarted = await testGateway({ shareWith: gateway });
    const there = await signedIn(restarted, { role: 'operator' });
    expect((await there.post(path, form)).body).toEqual(first.body);
    await restarted.close();
    expect(await leftOf(target)).toBeUndefined();
  });

  // catches(operator: a key stands for one thing)
  test('for another operation → refused, nothing happens', async () => {
    const target = await purchase({ amount: 2_000 });
    const form = asked({ amount_cents: 100 });
    await olga.post(`/transactions/1/${target}/refund`, form);
    const other = await olga.post(`/transactions/1/${target}/refund`, { ...form, amount_cents: 200 });
    expect(other).toMatchObject({ status: 422, body: { error_code: 'request_key_used' } });
    expect(await leftOf(target)).toBe('1900');
  });
});

test('by an operator of another organisation → 404; without a reason or with a card number in it → refused', async () => {
  const target = await purchase({ amount: 2_000 });
  expect((await refund(foreign, target)).status).toBe(404);
  expect((await foreign.post(`/transactions/2/${target}/refund`, asked())).status).toBe(404);
  expect((await foreign.post(`/transactions/1/${target}/ask`)).status).toBe(404);
  for (const reason of ['', ' ', '4111 1111 1111 1111', 'x\u0007'])
    expect(await refund(olga, target, { reason })).toMatchObject({
      status: 422,
      body: { error_code: 'reason_not_allowed' },
    });
  expect(await olga.post(`/transactions/1/${target}/refund`, { reason: 'x' })).toMatchObject({ status: 422 });
  expect(await leftOf(target)).toBe('2000');
});

test('stored text such as <script> → shown as text', async () => {
  const reason = '<script>alert(1)</script> & "quoted"';
  const target = await purchase({ amount: 2_000 });
  const { headers, body } = await refund(olga, target, { reason });
  expect([headers.get('content-type'), body.reason]).toEqual([
    expect.stringMatching(/^application\/json/),
    reason,
  ]);
});

describe('four eyes', () => {
  test('above the limit → waits; approved by another operator of the organisation → done', async () => {
    const target = await purchase({ amount: 9_000 });
    const { body } = await refund(olga, target);
    expect(body).toMatchObject({ state: 'waiting', audit: null, amount_cents: 9_000 });
    expect(await leftOf(target)).toBe('9000');
    const waiting = await otto.get('/approvals');
    expect(waiting.body.map(({ request }: Json) => request)).toContain(body.request);
    expect(await olga.post(`/approvals/${body.request}/approve`)).toMatchObject({
      status: 422,
      body: { error_code: 'request_of_same_operator' },
    });
    const approved = await otto.post(`/approvals/${body.request}/approve`, { reason: 'seen' });
    expect(approved).toMatchObject({
      status: 200,
      body: { state: 'done', decided_by: `operator:${otto.name}` },
    });
    expect(await leftOf(target)).toBeUndefined();
    expect((await olga.post(`/approvals/${body.request}/approve`)).body.audit).toBe(approved.body.audit);
  });

  // catches(four eyes: a request of another organisation is not there)
  test('by an operator of another organisation → 404', async () => {
    const target = await purchase({ amount: 9_000 });
    const { body } = await refund(olga, target);
    for (const verdict of ['approve', 'refuse'])
      expect(await foreign.post(`/approvals/${body.request}/${verdict}`)).toMatchObject({
        status: 404,
        body: { error_code: 'request_not_found' },
      });
    expect((await foreign.get('/approvals?all=true')).body).toEqual([]);
    expect((await otto.post(`/approvals/${body.request}/refuse`)).body).toMatchObject({ state: 'refused' });
    expect((await olga.get(`/approvals?audit=${target}`)).body).toEqual([]);
    expect((await olga.get(`/approvals?audit=${target}&all=true`)).body).toMatchObject([
      { state: 'refused' },
    ]);
    expect(await leftOf(target)).toBe('9000');
  });

  test('two operators at once → it is done once', async () => {
    const ada = await signedIn(gateway);
    const target = await purchase({ amount: 9_000 });
    const { body } = await refund(olga, target, { amount_cents: 6_000 });
    const both = await Promise.all([ada, otto].map((by) => by.post(`/approvals/${body.request}/approve`)));
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(both[0]?.body.audit).toBe(both[1]?.body.audit);
    expect(await leftOf(target)).toBe('3000');
  });
});
