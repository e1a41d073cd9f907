// The simulator's fault cards: the client's view, and the final books of gateway and acquirer.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Answer as AcquirerAnswer, Order } from '../../../src/acquirers/contract.js';
import { type LedgerEntry, SimulatorLedger } from '../../../src/acquirers/simulator/ledger.js';
import { Simulator } from '../../../src/acquirers/simulator/simulator.js';
import { CardNumber } from '../../../src/values/card.js';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import {
  type Answer,
  type Client,
  type Json,
  type PaymentChange,
  TEST_MODE,
} from '../../../testkit/client.js';
import { type TestGateway, testGateway, wholeLedger } from '../../../testkit/gateway.js';
import { eventually } from '../../../testkit/gateway-process.js';
import {
  LATE_ANSWER_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  SLOW_CARD,
  UNREACHABLE_CARD,
  UNREADABLE_ANSWER_CARD,
} from '../../../testkit/test-cards.js';

// They mostly wait for deadlines: run all at once.
vi.setConfig({ maxConcurrency: 40 });

/** Charges only transactions that were reversed before, however slow the machine is: every request arrives too late. */
class TooLate extends Simulator {
  constructor(readonly path: string) {
    super({ ledger: new SimulatorLedger(path), deadlineMs: 300, slowMs: 1 });
  }

  override async ask(order: Order): Promise<AcquirerAnswer> {
    const sent = withCardOfItsOwn(order);
    await eventually(async () =>
      (await wholeLedger(this.path)).find(
        ({ operation, reference }) => operation === 'reversal' && reference === order.reference,
      ),
    );
    return super.ask(sent);
  }
}

/** As it was sent: the gateway erases its own card after the deadline. */
function withCardOfItsOwn(order: Order): Order {
  if (!('method' in order) || order.method.kind !== 'card') return order;
  const { number, expiry } = order.method.card;
  return { ...order, method: { kind: 'card', card: { number: new CardNumber(number.reveal()), expiry } } };
}

// Processes of one gateway: the slow card is in time for the patient one, and too late for the other.
let patient: TestGateway;
let hasty: TestGateway;
let late: TestGateway;
beforeAll(async () => {
  patient = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '8000', SIMULATOR_SLOW_MS: '500' } });
  const settings = { ACQUIRER_DEADLINE_MS: '300' };
  hasty = await testGateway({ settings, shareWith: patient });
  late = await testGateway({ settings, acquirers: [new TooLate(patient.ledgerPath)], shareWith: patient });
});
afterAll(async () => {
  await late.close();
  await hasty.close();
  await patient.close();
});

const KVP = 'GATEWAY.RESPONSE.KVP.';

test('the test cards of faults → have the published numbers', () => {
  expect([UNREACHABLE_CARD, LOST_REQUEST_CARD, LOST_ANSWER_CARD]).toEqual([
    '4200000000000018',
    '4200000000000026',
    '4200000000000034',
  ]);
  expect([LATE_ANSWER_CARD, UNREADABLE_ANSWER_CARD, SLOW_CARD]).toEqual([
    '4200000000000042',
    '4200000000000059',
    '4200000000000067',
  ]);
});

async function ledgerOf(audit: number): Promise<LedgerEntry[]> {
  return (await patient.ledger()).filter(({ reference }) => reference.endsWith(`-1-${audit}`));
}

async function operationsOf(audit: number): Promise<string[]> {
  return (await ledgerOf(audit)).map(({ operation }) => operation);
}

async function untilLedgerShows(audit: number, operations: string[]): Promise<void> {
  await vi.waitFor(async () => expect(await operationsOf(audit)).toEqual(operations), { timeout: 300_000 });
}

/** The audit that an answer in doubt points to. */
function expectInDoubt(answer: Answer, status: 502 | 504): number {
  expect(answer.status).toBe(status);
  expect(answer.errors).toEqual([status === 504 ? 'acquirer_timeout ' : 'acquirer_answer_unreadable ']);
  const location = answer.headers.get('location') ?? '';
  expect(location).toMatch(/^\/v1\/transactions\/[0-9]+$/);
  expect(answer.body._links).toEqual({ transaction: { href: location } });
  return Number(location.split('/').at(-1));
}

/** Waits until a search finds it, and returns it still unanswered. */
async function inFlight(correlationId: string): Promise<Json> {
  return eventually(async () => (await patient.api.search(correlationId)).body.results[0]);
}

const PAYMENTS: [string, (api: Client, change: PaymentChange) => Promise<Answer>][] = [
  ['purchase', (api, change) => api.purchase(change)],
  ['preauthorisation', (api, change) => api.preauthorise(change)],
  ['standalone_refund', (api, change) => api.standaloneRefund(change)],
];

describe.concurrent.each(PAYMENTS)('%s', (type, pay) => {
  test('01, the acquirer cannot be reached → 201, error with 1, and the acquirer never hears of it', async () => {
    const { status, headers, body } = await pay(patient.api, { pan: UNREACHABLE_CARD });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/transactions/${body.audit}`);
    expect(body.status).toEqual({
      gateway_status_code: 1,
      gateway_status_message: expect.any(String),
      transaction_status_code: 'error',
      acquirer: {},
    });
    expect(Object.keys(body._links)).toEqual(['self']);
    expect((await patient.api.lookUp(body.audit)).body.status).toEqual(body.status);
    expect(await operationsOf(body.audit)).toEqual([]);
  });

  test('02, the request is lost → 504, unknown meanwhile, then error with 2 and one reversal', async () => {
    const correlationId = `lost-request-${type}`;
    const answering = pay(patient.api, { pan: LOST_REQUEST_CARD, correlationId });
    const meanwhile = await inFlight(correlationId);
    expect(meanwhile.status).toEqual({
      gateway_status_code: -99,
      gateway_status_message: expect.any(String),
      transaction_status_code: 'unknown',
      acquirer: {},
    });
    expect(Object.keys(meanwhile._links)).toEqual(['self']);
    expect(meanwhile.kvps).toEqual(TEST_MODE);
    const audit = expectInDoubt(await answering, 504);
    expect(audit).toBe(meanwhile.audit);
    const decided = await patient.api.decided(audit);
    expect(decided.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
    expect(decided.status.acquirer).toEqual({});
    expect(await operationsOf(audit)).toEqual(['reversal']);
  });

  test.each([
    ['03, approved but the answer is lost', LOST_ANSWER_CARD],
    ['04, approved but the answer comes too late', LATE_ANSWER_CARD],
  ])('%s → 504, unknown meanwhile, then approved, charged once', async (_, pan) => {
    const correlationId = `no-answer-${type}-${pan.slice(-3)}`;
    const answering = pay(patient.api, { pan, correlationId });
    const meanwhile = await inFlight(correlationId);
    expect(meanwhile.status).toMatchObject({ gateway_status_code: -99, transaction_status_code: 'unknown' });
    const audit = expectInDoubt(await answering, 504);
    const { status } = await patient.api.decided(audit);
    expect(status).toMatchObject({
      gateway_status_code: 0,
      transaction_status_code: 'approved',
      acquirer: { response_code: '00', settlement_date: expect.any(String) },
    });
    expect('preauthorisation_code' in status.acquirer).toBe(type === 'preauthorisation');
    const [entry, ...others] = await ledgerOf(audit);
    expect(entry?.operation).toBe(type);
    expect(status.acquirer.authorisation_code).toBe(entry?.authorisationCode);
    expect(others).toEqual([]);
  });

  test('05, an unreadable answer after approving → 502, then approved, charged once', async () => {
    const audit = expectInDoubt(await pay(patient.api, { pan: UNREADABLE_ANSWER_CARD }), 502);
    const { status } = await patient.api.decided(audit);
    expect(status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
    expect(await operationsOf(audit)).toEqual([type]);
  });

  test('06, approved after a while, within the deadline → 201, approved', async () => {
    const { status, body } = await pay(patient.api, { pan: SLOW_CARD });
    expect([status, body.status.transaction_status_code]).toEqual([201, 'approved']);
    expect(await operationsOf(body.audit)).toEqual([type]);
  });

  test('06, approved after a while, beyond the deadline → 504, then error with 2, and the acquirer refuses the late charge', async () => {
    const audit = expectInDoubt(await pay(late.api, { pan: SLOW_CARD }), 504);
    const decided = await late.api.decided(audit);
    expect(decided.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
    // A reversal is repeated until it is confirmed, which may take more than one on a slow machine.
    await vi.waitFor(
      async () => expect([...new Set(await operationsOf(audit))]).toEqual(['reversal', type]),
      { timeout: 300_000 },
    );
    expect((await hasty.api.lookUp(audit)).body).toEqual(decided);
  });
});

/** Makes a payment whose answer is lost, and waits until it is found to be approved. */
async function paidWithLostAnswer(pay: Client['purchase']): Promise<number> {
  const audit = expectInDoubt(await pay({ pan: LOST_ANSWER_CARD, amount: 100 }), 504);
  expect((await hasty.api.decided(audit)).status.transaction_status_code).toBe('approved');
  return audit;
}

async function paidSlowly(pay: Client['purchase']): Promise<number> {
  const { body } = await pay({ pan: SLOW_CARD, amount: 100 });
  expect(body.status.transaction_status_code).toBe('approved');
  return body.audit;
}

describe.concurrent('refund of such a card', () => {
  test('03, the answer is lost → 504, its amount is reserved meanwhile, then approved and used for good', async () => {
    const audit = await paidWithLostAnswer(hasty.api.purchase);
    const correlationId = 'refund-with-lost-answer';
    const answering = patient.api.refund(audit, 60, { correlationId });
    const meanwhile = await inFlight(correlationId);
    expect(meanwhile.status).toMatchObject({ gateway_status_code: -99, transaction_status_code: 'unknown' });
    expect(meanwhile.transaction).toMatchObject({ transaction_type: 'refund', target_audit: audit });
    const target = (await patient.api.lookUp(audit)).body;
    expect(target.kvps).toEqual({ ...TEST_MODE, [`${KVP}REFUNDABLE_AMOUNT`]: '40' });
    expect((await hasty.api.refund(audit, 41)).code).toBe('refund_exceeds_original');
    expect((await hasty.api.void(audit)).code).toBe('target_not_voidable');
    const refund = expectInDoubt(await answering, 504);
    expect((await patient.api.decided(refund)).status.transaction_status_code).toBe('approved');
    expect((await patient.api.lookUp(audit)).body.kvps).toEqual({
      ...TEST_MODE,
      [`${KVP}REFUNDABLE_AMOUNT`]: '40',
    });
  });

  test('06 beyond the deadline → 504, then error with 2, and its amount is released', async () => {
    const audit = await paidSlowly(patient.api.purchase);
    const refund = expectInDoubt(await late.api.refund(audit, 60), 504);
    expect((await hasty.api.decided(refund)).status).toMatchObject({ gateway_status_code: 2 });
    const { kvps, _links } = (await hasty.api.lookUp(audit)).body;
    expect(kvps[`${KVP}REFUNDABLE_AMOUNT`]).toBe('100');
    expect(_links).toHaveProperty('void');
    await untilLedgerShows(refund, ['reversal', 'refund']);
  });
});

describe.concurrent('completion of such a card', () => {
  test('03, the answer is lost → 504, the preauthorisation is used meanwhile and for good', async () => {
    const audit = await paidWithLostAnswer(hasty.api.preauthorise);
    const correlationId = 'completion-with-lost-answer';
    const answering = patient.api.complete(audit, 60, { correlationId });
    await inFlight(correlationId);
    expect((await hasty.api.complete(audit, 40)).code).toBe('target_not_completable');
    expect((await hasty.api.void(audit)).code).toBe('target_not_voidable');
    const completion = expectInDoubt(await answering, 504);
    expect((await patient.api.decided(completion)).status.transaction_status_code).toBe('approved');
    expect((await hasty.api.complete(audit, 40)).code).toBe('target_not_completable');
  });

  test('06 beyond the deadline → 504, then error with 2, and the preauthorisation can be completed again', async () => {
    const audit = await paidSlowly(patient.api.preauthorise);
    const completion = expectInDoubt(await late.api.complete(audit, 60), 504);
    expect((await hasty.api.decided(completion)).status).toMatchObject({ gateway_status_code: 2 });
    const again = await patient.api.complete(audit, 100);
    expect(again.body.status.transaction_status_code).toBe('approved');
  });
});

describe.concurrent('void of such a card', () => {
  test('05, the answer is unreadable → 502, then approved and the target voided', async () => {
    const audit = expectInDoubt(await hasty.api.purchase({ pan: UNREADABLE_ANSWER_CARD }), 502);
    await hasty.api.decided(audit);
    const voiding = expectInDoubt(await hasty.api.void(audit), 502);
    expect((await hasty.api.decided(voiding)).status.transaction_status_code).toBe('approved');
    expect((await hasty.api.lookUp(audit)).body.status.transaction_status_code).toBe('voided');
  });

  test('03, the answer is lost → 504; meanwhile the target is still approved, and nothing else is accepted', async () => {
    const audit = await paidWithLostAnswer(hasty.api.purchase);
    const correlationId = 'void-with-lost-answer';
    const answering = patient.api.void(audit, { correlationId });
    await inFlight(correlationId);
    const target = (await hasty.api.lookUp(audit)).body;
    expect(target.status.transaction_status_code).toBe('approved');
    expect(Object.keys(target._links)).toEqual(['self']);
    expect((await hasty.api.refund(audit, 1)).code).toBe('target_not_refundable');
    expect((await hasty.api.void(audit)).code).toBe('target_not_voidable');
    const voiding = expectInDoubt(await answering, 504);
    expect((await patient.api.decided(voiding)).status.transaction_status_code).toBe('approved');
    expect((await patient.api.lookUp(audit)).body.status.transaction_status_code).toBe('voided');
  });

  test('06 beyond the deadline → 504, then error with 2, and the target is as it was', async () => {
    const audit = await paidSlowly(patient.api.purchase);
    const before = (await patient.api.lookUp(audit)).body;
    const voiding = expectInDoubt(await late.api.void(audit), 504);
    expect((await hasty.api.decided(voiding)).status).toMatchObject({ gateway_status_code: 2 });
    expect((await patient.api.lookUp(audit)).body).toEqual(before);
    expect((await patient.api.void(audit)).body.status.transaction_status_code).toBe('approved');
  });
});

describe('in the end', () => {
  test('every fault → the acquirer has the same books', () => expectBooksToAgree(patient));
});
