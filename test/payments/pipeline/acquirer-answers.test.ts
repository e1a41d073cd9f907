// Answers that the simulated acquirer does not give: declined voids, refunds and completions, and pending answers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer as AcquirerAnswer } from '../../../src/acquirers/contract.js';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import { type Json, TEST_MODE } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { answered, ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';
import { storedAs } from '../../../testkit/sealed-transactions.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer], settings: { ACQUIRER_DEADLINE_MS: '30000' } });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id IN (1, 2)`);
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'nowhere' WHERE id = 3`);
});
afterAll(() => gateway.close());

const KVP = 'GATEWAY.RESPONSE.KVP.';

async function purchased(): Promise<number> {
  return (await gateway.api.purchase({ amount: 100 })).body.audit;
}

async function preauthorised(): Promise<number> {
  return (await gateway.api.preauthorise({ amount: 100 })).body.audit;
}

async function lookedUp(audit: number): Promise<Json> {
  return (await gateway.api.lookUp(audit)).body;
}

const WITHOUT_EFFECT: [string, AcquirerAnswer, Json][] = [
  [
    'declined',
    answered('51'),
    { gateway_status_code: 0, transaction_status_code: 'declined', acquirer: { response_code: '51' } },
  ],
  [
    'answered with a fault',
    answered('96'),
    { gateway_status_code: 3, transaction_status_code: 'error', acquirer: { response_code: '96' } },
  ],
  [
    'not sent',
    { kind: 'not_sent' },
    { gateway_status_code: 1, transaction_status_code: 'error', acquirer: {} },
  ],
];

describe.each(WITHOUT_EFFECT)('%s', (_, answer, status) => {
  // catches(record: a void that did not happen frees its target)
  test('void → 201 with that status, and the target stays as it was', async () => {
    const audit = await purchased();
    const before = await lookedUp(audit);
    acquirer.nextAnswers(() => answer);
    const voiding = await gateway.api.void(audit);
    expect(voiding.status).toBe(201);
    expect(voiding.body.status).toMatchObject(status);
    expect(Object.keys(voiding.body._links)).toEqual(['self', 'target']);
    expect(await lookedUp(audit)).toEqual(before);
    expect((await gateway.api.void(audit)).body.status.transaction_status_code).toBe('approved');
  });

  // catches(record: a refund that did not happen gives its amount back)
  // catches(record: what did not happen gives back what it had reserved)
  test('refund → 201 with that status, and its amount is not counted', async () => {
    const audit = await purchased();
    await gateway.api.refund(audit, 40);
    const before = await lookedUp(audit);
    acquirer.nextAnswers(() => answer);
    const refund = await gateway.api.refund(audit, 60);
    expect(refund.status).toBe(201);
    expect(refund.body.status).toMatchObject(status);
    expect(Object.keys(refund.body._links)).toEqual(['self', 'target']);
    expect(await lookedUp(audit)).toEqual(before);
    expect((await gateway.api.refund(audit, 60)).body.status.transaction_status_code).toBe('approved');
  });

  // catches(record: a completion that did not happen frees the preauthorisation)
  test('completion → 201 with that status, and the preauthorisation can be completed in full', async () => {
    const audit = await preauthorised();
    const before = await lookedUp(audit);
    acquirer.nextAnswers(() => answer);
    const completion = await gateway.api.complete(audit, 60);
    expect(completion.status).toBe(201);
    expect(completion.body.status).toMatchObject(status);
    expect(await lookedUp(audit)).toEqual(before);
    expect((await gateway.api.complete(audit, 100)).body.status.transaction_status_code).toBe('approved');
  });

  // catches(record: a void that did not happen gives nothing back)
  test('void of a refund or a completion → the amount stays used', async () => {
    const purchase = await purchased();
    const refund = (await gateway.api.refund(purchase, 100)).body.audit;
    const preauthorisation = await preauthorised();
    const completion = (await gateway.api.complete(preauthorisation, 100)).body.audit;
    acquirer.nextAnswers(
      () => answer,
      () => answer,
    );
    await gateway.api.void(refund);
    await gateway.api.void(completion);
    expect((await gateway.api.refund(purchase, 1)).code).toBe('refund_exceeds_original');
    expect((await gateway.api.complete(preauthorisation, 1)).code).toBe('target_not_completable');
  });
});

describe('while the acquirer has not answered yet', () => {
  test('purchase → lookup and search show it as unknown, without any links', async () => {
    const held = acquirer.holdNextAnswer();
    const answering = gateway.api.purchase({ correlationId: 'in-flight' });
    await held.asked;
    const { results } = (await gateway.api.search('in-flight')).body;
    expect(results).toHaveLength(1);
    const [found] = results;
    expect(found.status).toEqual({
      gateway_status_code: -99,
      gateway_status_message: expect.any(String),
      transaction_status_code: 'unknown',
      acquirer: {},
    });
    expect(found._links).toEqual({ self: { href: `/v1/transactions/${found.audit}` } });
    expect(found.kvps).toEqual(TEST_MODE);
    expect(await lookedUp(found.audit)).toEqual(found);
    expect((await gateway.api.refund(found.audit, 1)).code).toBe('target_not_refundable');
    expect((await gateway.api.void(found.audit)).code).toBe('target_not_voidable');
    held.answer(answered('00'));
    expect((await answering).body.audit).toBe(found.audit);
    expect((await gateway.api.void(found.audit)).status).toBe(201);
  });

  test('preauthorisation → cannot be completed', async () => {
    const held = acquirer.holdNextAnswer();
    const answering = gateway.api.preauthorise({ correlationId: 'preauthorising', amount: 100 });
    await held.asked;
    const { audit } = (await gateway.api.search('preauthorising')).body.results[0];
    expect((await gateway.api.complete(audit, 1)).code).toBe('target_not_completable');
    held.answer(answered('00'));
    await answering;
    expect((await gateway.api.complete(audit, 100)).status).toBe(201);
  });

  // catches(refund: its amount is reserved while it is in doubt) slow
  test('refund → its amount is reserved; declined → released', async () => {
    const audit = await purchased();
    const held = acquirer.holdNextAnswer();
    const answering = gateway.api.refund(audit, 60);
    await held.asked;
    expect((await lookedUp(audit)).kvps).toEqual({ ...TEST_MODE, [`${KVP}REFUNDABLE_AMOUNT`]: '40' });
    expect((await lookedUp(audit))._links).not.toHaveProperty('void');
    expect((await gateway.api.refund(audit, 41)).code).toBe('refund_exceeds_original');
    expect((await gateway.api.refund(audit, 40)).status).toBe(201);
    expect((await gateway.api.void(audit)).code).toBe('target_not_voidable');
    held.answer(answered('05'));
    expect((await answering).body.status.transaction_status_code).toBe('declined');
    expect((await gateway.api.refund(audit, 61)).code).toBe('refund_exceeds_original');
    expect((await gateway.api.refund(audit, 60)).status).toBe(201);
  });

  test('completion → no second one and no void of the preauthorisation; declined → both possible again', async () => {
    const audit = await preauthorised();
    const held = acquirer.holdNextAnswer();
    const answering = gateway.api.complete(audit, 10);
    await held.asked;
    expect(Object.keys((await lookedUp(audit))._links)).toEqual(['self']);
    expect((await gateway.api.complete(audit, 90)).code).toBe('target_not_completable');
    expect((await gateway.api.void(audit)).code).toBe('target_not_voidable');
    held.answer(answered('05'));
    await answering;
    expect(Object.keys((await lookedUp(audit))._links)).toEqual(['self', 'completion', 'void']);
    expect((await gateway.api.void(audit)).status).toBe(201);
  });

  // catches(target: no void of it under way) slow
  test('void → the target is still approved, but nothing else is accepted; declined → accepted again', async () => {
    const audit = await purchased();
    const before = await lookedUp(audit);
    const held = acquirer.holdNextAnswer();
    const answering = gateway.api.void(audit);
    await held.asked;
    const meanwhile = await lookedUp(audit);
    expect(meanwhile.status).toEqual(before.status);
    expect(Object.keys(meanwhile._links)).toEqual(['self']);
    expect((await gateway.api.refund(audit, 1)).code).toBe('target_not_refundable');
    expect((await gateway.api.void(audit)).code).toBe('target_not_voidable');
    held.answer(answered('12'));
    await answering;
    expect(await lookedUp(audit)).toEqual(before);
    expect((await gateway.api.refund(audit, 100)).status).toBe(201);
  });
});

// catches(card number and CVV: erased once the acquirer was asked)
test('acquirer → asked once, with its own reference, the amount, and the card only where one was given', async () => {
  const { requests } = acquirer;
  const from = requests.length;
  const pan = '5555555555554444';
  let asked: unknown;
  acquirer.nextAnswers((order) => {
    if (!('method' in order) || order.method.kind !== 'card') return answered('00');
    const { number, cvv } = order.method.card;
    asked = { pan: number.reveal(), cvv: cvv?.reveal() };
    return answered('00');
  });
  const purchase = await gateway.api.purchase({
    amount: 1234,
    currency: 'NZD',
    pan,
    expiry: '1138',
    cvv: '987',
  });
  await gateway.api.refund(purchase.body.audit, 234, { currency: 'NZD' });
  const [purchasing, refunding, ...others] = requests.slice(from);
  expect(others).toEqual([]);
  expect(purchasing).toMatchObject({ operation: 'purchase', amountCents: 1234, currency: 'NZD' });
  const method = purchasing !== undefined && 'method' in purchasing ? purchasing.method : undefined;
  if (method?.kind !== 'card') throw new Error('the purchase came without a card');
  expect(asked).toEqual({ pan, cvv: '987' });
  expect(method.card.expiry).toEqual({ month: 11, year: 2038 });
  // After the request the digits are overwritten.
  expect([method.card.number.erased, method.card.cvv?.erased]).toEqual([true, true]);
  expect(() => method.card.number.reveal()).toThrow('the card number was erased');
  expect(() => method.card.cvv?.reveal()).toThrow('the CVV was erased');
  expect(purchasing).not.toHaveProperty('target');
  expect(refunding).toMatchObject({
    operation: 'refund',
    amountCents: 234,
    currency: 'NZD',
    target: { reference: purchasing?.reference },
  });
  expect(refunding).not.toHaveProperty('method');
  expect(new Set(requests.map(({ reference }) => reference)).size).toBe(requests.length);
});

test('acquirer, gives a settlement date → that date, and voidable until it closes', async () => {
  acquirer.nextAnswers(() => ({ ...answered('00'), settlementDate: '2038-01-15' }));
  const { body } = await gateway.api.purchase();
  expect(body.status.acquirer.settlement_date).toBe('2038-01-15');
  const { kvps } = await lookedUp(body.audit);
  expect(kvps[`${KVP}VOIDABLE_UNTIL`]).toBe('2038-01-15T18:00:00.000+11:00');
});

test.each(['tomorrow', '2038-02-31', ''])(
  'acquirer, gives "%s" as settlement date → approved, and the calendar decides',
  async (settlementDate) => {
    acquirer.nextAnswers(() => ({ ...answered('00'), settlementDate }));
    const { status, body } = await gateway.api.purchase();
    expect([status, body.status.transaction_status_code]).toEqual([201, 'approved']);
    const ordinary = await gateway.api.purchase();
    expect(body.status.acquirer.settlement_date).toBe(ordinary.body.status.acquirer.settlement_date);
  },
);

test('acquirer, declines and gives an invalid settlement date → declined, without a date', async () => {
  acquirer.nextAnswers(() => ({ ...answered('05'), settlementDate: '31/12' }));
  const { status, body } = await gateway.api.purchase();
  expect([status, body.status.transaction_status_code]).toEqual([201, 'declined']);
  expect(body.status.acquirer).not.toHaveProperty('settlement_date');
});

test('acquirer, control characters in its text → removed, and neighbouring texts stay intact', async () => {
  acquirer.nextAnswers(
    () => ({ kind: 'declined', responseCode: '05', responseMessage: 'first' }),
    () => ({ kind: 'declined', responseCode: '05', responseMessage: 'se\u001fco\u0000nd\n\u001e' }),
    () => ({ kind: 'declined', responseCode: '05', responseMessage: 'third' }),
  );
  const answers = await Promise.all([1, 2, 3].map(() => gateway.api.purchase()));
  const stored = await Promise.all(answers.map(({ body }) => lookedUp(body.audit)));
  const messages = stored.map(({ status }) => status.acquirer.response_message).sort();
  expect(messages).toEqual(['first', 'second', 'third']);
  expect(answers.map(({ body }) => body.status)).toEqual(stored.map(({ status }) => status));
});

test('merchant whose acquirer has no link in this process → 422 no_acquirer, and nothing is stored', async () => {
  const { status, errors } = await gateway.api.purchase({ merchant: 3, correlationId: 'to-nowhere' });
  expect([status, errors]).toEqual([422, ['no_acquirer body/transaction/payment_method']]);
  expect((await gateway.api.search('to-nowhere', 3)).body.results).toEqual([]);
});

test('refund in a process that lost the link → 201, error with 1: nothing was sent', async () => {
  const audit = await purchased();
  await storedAs(gateway, `acquirer = 'nowhere'`, `audit = ${audit}`);
  const { status, body } = await gateway.api.refund(audit, 1);
  expect(status).toBe(201);
  expect(body.status).toMatchObject({ gateway_status_code: 1, transaction_status_code: 'error' });
  await storedAs(gateway, `acquirer = 'scripted'`, `audit = ${audit}`);
});

test('every answer → the acquirer has the same books', () =>
  expectBooksToAgree(gateway, async () => acquirer.entries));
