// What the TypeScript client makes of answers that do not come: every order is paid once, and its outcome becomes known.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NothingSent, OutcomeUnknown, Refused } from '../../client/src/index.js';
import { paymentBody, targetedBody } from '../../testkit/bodies.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { eventually } from '../../testkit/gateway-process.js';
import { meddledClient, REQUEST_TIMEOUT_MS } from '../../testkit/meddled-client.js';
import type { Fate } from '../../testkit/meddling-proxy.js';
import { cardAnsweredWith, cardWithFault } from '../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

/** How often the acquirer was asked for a payment of this reference, by the gateway's rows. */
async function paymentsOf(reference: string): Promise<string[]> {
  const rows = await gateway.sql<{ status: string }>(
    'SELECT status FROM transaction WHERE reference = $1 ORDER BY audit',
    [reference],
  );
  return rows.map(({ status }) => status);
}

const POST = 'POST /transactions/purchase';
const SEARCH = 'GET /transactions';

describe('purchase', () => {
  const answered: readonly [string, Fate, { recovered: boolean }][] = [
    ['nothing is wrong', { kind: 'pass' }, { recovered: false }],
    ['the answer is late, but in time', { kind: 'delay_answer', ms: 50 }, { recovered: false }],
    ['the answer is lost', { kind: 'lose_answer' }, { recovered: true }],
    ['the answer is cut', { kind: 'cut_answer' }, { recovered: true }],
    ['a proxy answers 502', { kind: 'answer_otherwise', status: 502 }, { recovered: true }],
    ['a proxy answers 404', { kind: 'answer_otherwise', status: 404 }, { recovered: true }],
    ['a proxy answers 200', { kind: 'answer_otherwise', status: 200 }, { recovered: true }],
    ['a proxy redirects', { kind: 'answer_otherwise', status: 307 }, { recovered: true }],
  ];
  test.each(answered)('%s → approved, sent once', async (_name, fate, { recovered }) => {
    const { client, fates, requests } = await meddledClient(gateway, { requestTimeoutMs: 15_000 });
    fates.push(fate);
    const reference = randomUUID();
    const created = await client.purchase(paymentBody({ reference, amount: 1_995 }));
    expect(created).toMatchObject({ outcome: 'approved', recovered });
    expect(requests.filter((request) => request === POST)).toHaveLength(1);
    expect(await paymentsOf(reference)).toEqual(['approved']);
  });

  const given: readonly [string, Fate][] = [
    ['the answer is swallowed', { kind: 'swallow_answer' }],
    ['the answer comes after the time-out', { kind: 'delay_answer', ms: REQUEST_TIMEOUT_MS * 2 }],
    ['the request is lost', { kind: 'lose_request' }],
    ['the request arrives twice', { kind: 'duplicate' }],
  ];
  test.each(given)('%s → approved, once', async (_name, fate) => {
    const { client, fates } = await meddledClient(gateway);
    fates.push(fate);
    const reference = randomUUID();
    expect((await client.purchase(paymentBody({ reference }))).outcome).toBe('approved');
    expect(await paymentsOf(reference)).toEqual(['approved']);
  });

  test('delayed longer than the timeout → sent again under the same ID; the late one is not a second charge', async () => {
    const { client, fates, proxy, requests } = await meddledClient(gateway);
    fates.push({ kind: 'hold_request', ms: REQUEST_TIMEOUT_MS * 2 });
    const reference = randomUUID();
    const created = await client.purchase(paymentBody({ reference }));
    expect(created.outcome).toBe('approved');
    expect(requests.filter((request) => request === POST).length).toBeGreaterThan(1);
    await proxy.allArrived();
    expect(await paymentsOf(reference)).toEqual(['approved']);
  });

  test('delayed less than the timeout, and searched for before it arrives → approved once, by it or by the next', async () => {
    const { client, fates, proxy } = await meddledClient(gateway);
    fates.push({ kind: 'hold_request', ms: 300 });
    const reference = randomUUID();
    const created = await client.purchase(paymentBody({ reference }));
    expect(created.outcome).toBe('approved');
    await proxy.allArrived();
    expect(await paymentsOf(reference)).toEqual(['approved']);
  });

  test('payments and searches lost repeatedly → approved, once', async () => {
    const { client, fates, fatesOfLookups } = await meddledClient(gateway);
    fates.push({ kind: 'lose_request' }, { kind: 'hold_request', ms: 200 }, { kind: 'cut_answer' });
    fatesOfLookups.push(
      { kind: 'lose_request' },
      { kind: 'cut_answer' },
      { kind: 'answer_otherwise', status: 404 },
      { kind: 'answer_otherwise', status: 200 },
      { kind: 'lose_answer' },
    );
    const reference = randomUUID();
    const created = await client.purchase(paymentBody({ reference }));
    expect(created.outcome).toBe('approved');
    expect(await paymentsOf(reference)).toEqual(['approved']);
  });

  test('refused after an earlier try was lost → Refused, but only once that try can no longer arrive', async () => {
    const { client, fates, requests } = await meddledClient(gateway);
    fates.push({ kind: 'lose_request' });
    const body = paymentBody({ reference: randomUUID(), currency: 'XXA' });
    await expect(client.purchase(body)).rejects.toMatchObject({ name: 'Refused', status: 422 });
    expect(requests.at(-1)).toBe(SEARCH);
  });

  test('a decline whose answer was lost → an outcome', async () => {
    const { client, fates } = await meddledClient(gateway);
    fates.push({ kind: 'lose_answer' });
    const created = await client.purchase(paymentBody({ pan: cardAnsweredWith('51') }));
    expect(created).toMatchObject({ outcome: 'declined', recovered: true });
    expect(created.status.acquirer.response_code).toBe('51');
  });

  test.each([
    ['the acquirer never saw it', '02', 'error', 2],
    ['approved, and the acquirer’s answer lost', '03', 'approved', 0],
    ['approved, and the acquirer’s answer unreadable', '05', 'approved', 0],
    ['the acquirer cannot be reached', '01', 'error', 1],
  ])('%s → looked up until it is decided', async (_name, fault, outcome, gatewayStatus) => {
    const { client } = await meddledClient(gateway, { requestTimeoutMs: 15_000 });
    const reference = randomUUID();
    const created = await client.purchase(paymentBody({ reference, pan: cardWithFault(fault) }));
    expect(created).toMatchObject({ outcome, gatewayStatus });
    expect(await paymentsOf(reference)).toEqual([outcome]);
  });
});

describe('409', () => {
  test('the same operation again under the same ID → the outcome of the first', async () => {
    const { client } = await meddledClient(gateway);
    const correlationId = randomUUID();
    const body = paymentBody({ reference: randomUUID() });
    const first = await client.purchase(body, { correlationId });
    const again = await client.purchase(body, { correlationId });
    expect(again).toMatchObject({ audit: first.audit, outcome: 'approved', recovered: true });
  });

  test('with a surcharge → recognised by the requested amount', async () => {
    const { client } = await meddledClient(gateway);
    const correlationId = randomUUID();
    const kvps = { 'SURCHARGE.ORIGINAL_AMOUNT': '10000' };
    const first = await client.purchase(paymentBody({ amount: 10_150, kvps }), { correlationId });
    const again = await client.purchase(paymentBody({ amount: 10_000 }), { correlationId });
    expect(again.audit).toBe(first.audit);
  });

  test.each([
    ['another amount', { amount: 1 }],
    ['another reference', { reference: 'another' }],
    ['another currency', { currency: 'NZD' }],
  ])('%s under an ID that is taken → Refused, with the transaction that holds it', async (_name, change) => {
    const { client } = await meddledClient(gateway);
    const correlationId = randomUUID();
    const first = await client.purchase(paymentBody(), { correlationId });
    const other = client.purchase(paymentBody(change), { correlationId });
    await expect(other).rejects.toMatchObject({ status: 409, holder: first.audit, correlationId });
    await expect(client.void(first.audit, targetedBody({}), { correlationId })).rejects.toBeInstanceOf(
      Refused,
    );
  });

  test('an ID that another call is using → refused by the client, before anything is sent', async () => {
    const { client, requests } = await meddledClient(gateway);
    const correlationId = randomUUID();
    const first = client.purchase(paymentBody(), { correlationId });
    await expect(client.purchase(paymentBody(), { correlationId })).rejects.toBeInstanceOf(TypeError);
    await first;
    expect(requests.filter((request) => request === POST)).toHaveLength(1);
  });
});

describe('every creating operation, its answer lost', () => {
  test('→ found, and done once', async () => {
    const { client, fates } = await meddledClient(gateway);
    const lost = <Result>(send: () => Promise<Result>) => {
      fates.push({ kind: 'lose_answer' });
      return send();
    };
    const held = await lost(() => client.preauthorisation(paymentBody({ amount: 9_000 })));
    const taken = await lost(() => client.completion(held.audit, targetedBody({ amount: 7_000 })));
    const back = await lost(() => client.refund(taken.audit, targetedBody({ amount: 1_000 })));
    const undone = await lost(() => client.void(back.audit, targetedBody({})));
    const paidOut = await lost(() => client.standaloneRefund(paymentBody({ amount: 500 })));
    const debit = await lost(() => client.purchase(paymentBody({ bankAccount: {} })));
    for (const each of [held, taken, back, undone, paidOut, debit]) expect(each.recovered).toBe(true);
    expect([held, taken, back, undone, paidOut].map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 5 }, () => 'approved'),
    );
    expect(debit.outcome).toBe('pending');
    expect((await client.transaction(taken.audit)).kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT']).toBe(
      '7000',
    );
    expect(undone.transaction).toMatchObject({ transaction_type: 'void', target_audit: back.audit });
  });
});

describe('the end of a call', () => {
  test('4XX → Refused with every problem, and the correlation ID is free', async () => {
    const { client, requests } = await meddledClient(gateway);
    const correlationId = randomUUID();
    const wrong = { ...paymentBody({ amount: '0', currency: 'XXA' }) };
    const refusal = await client.purchase(wrong, { correlationId }).catch((error) => error);
    expect(refusal).toBeInstanceOf(Refused);
    expect(refusal).toMatchObject({ status: 422, correlationId });
    expect(refusal.problems.map(({ error_code }: { error_code: string }) => error_code).sort()).toEqual([
      'currency_unknown',
      'field_format',
    ]);
    expect(requests).toEqual([POST]);
    expect((await client.purchase(paymentBody(), { correlationId })).outcome).toBe('approved');
  });

  test('wrong credentials → Refused', async () => {
    const { another } = await meddledClient(gateway);
    const refusal = another({ password: 'wrong' }).purchase(paymentBody());
    await expect(refusal).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
  });

  test('timeout → OutcomeUnknown with the correlation ID; later the same ID returns the outcome', async () => {
    const { client, fates, fatesOfLookups } = await meddledClient(gateway);
    fates.push({ kind: 'lose_answer' });
    fatesOfLookups.push(...Array.from({ length: 1_000 }, (): Fate => ({ kind: 'lose_request' })));
    const correlationId = randomUUID();
    const body = paymentBody({ reference: randomUUID() });
    const unknown = await client
      .purchase(body, { correlationId, outcomeTimeoutMs: 3_000 })
      .catch((error) => error);
    expect(unknown).toBeInstanceOf(OutcomeUnknown);
    expect(unknown).not.toBeInstanceOf(NothingSent);
    expect(unknown).toMatchObject({ correlationId, reason: 'time_is_up', cause: expect.any(Error) });
    fatesOfLookups.length = 0;
    expect(await client.purchase(body, { correlationId })).toMatchObject({
      outcome: 'approved',
      recovered: true,
    });
    expect(await paymentsOf(body.transaction.reference)).toEqual(['approved']);
  });

  test('cancelled before it is sent → nothing is sent; cancelled afterwards → OutcomeUnknown', async () => {
    const { client, fates, requests } = await meddledClient(gateway);
    await expect(client.purchase(paymentBody(), { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(requests).toEqual([]);
    const controller = new AbortController();
    fates.push({ kind: 'swallow_answer' });
    const correlationId = randomUUID();
    const body = paymentBody({ reference: randomUUID() });
    const sent = client.purchase(body, { correlationId, signal: controller.signal });
    const ended = expect(sent).rejects.toMatchObject({
      name: 'OutcomeUnknown',
      reason: 'cancelled',
      correlationId,
      cause: expect.any(Error),
    });
    await eventually(async () => (await paymentsOf(body.transaction.reference))[0]);
    controller.abort();
    await ended;
    expect((await client.purchase(body, { correlationId })).outcome).toBe('approved');
  });
});
