// Transactions without a readable answer, with a difficult acquirer.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import { type Answer, type Json, TEST_MODE } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { answered, ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  // Longer than a busy machine needs for a transaction whose inquiry is held open.
  gateway = await testGateway({
    acquirers: [acquirer],
    settings: { ACQUIRER_DEADLINE_MS: '1500', RESOLVER_LONGEST_PAUSE_MS: '200' },
  });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
});
afterAll(() => gateway.close());

const KVP = 'GATEWAY.RESPONSE.KVP.';
const UNREADABLE = { kind: 'unknown', reason: 'unreadable' } as const;
const never = () => new Promise<never>(() => {});

function breaking(): never {
  throw new Error('the link broke');
}

async function lookedUp(audit: number): Promise<Json> {
  return (await gateway.api.lookUp(audit)).body;
}

function auditOf(answer: Answer): number {
  expect(answer.headers.get('location')).toMatch(/^\/v1\/transactions\/[0-9]+$/);
  return Number(answer.headers.get('location')?.split('/').at(-1));
}

function referenceOf(audit: number): string {
  const request = acquirer.requests.find(({ reference }) => reference.endsWith(`-1-${audit}`));
  return request?.reference ?? '';
}

/** A purchase without a readable answer. Set the acquirer's finding first. */
async function purchasedInDoubt(amount = 100): Promise<number> {
  acquirer.nextAnswers(() => UNREADABLE);
  const answer = await gateway.api.purchase({ amount });
  expect([answer.status, answer.code]).toEqual([502, 'acquirer_answer_unreadable']);
  return auditOf(answer);
}

describe('acquirer', () => {
  test.each([
    ['says that it cannot read the answer', () => UNREADABLE, 502, 'acquirer_answer_unreadable'],
    ['throws', breaking, 502, 'acquirer_answer_unreadable'],
    ['breaks its promise', async () => breaking(), 502, 'acquirer_answer_unreadable'],
    // catches(doubt: silence is no decline)
    ['never answers', never, 504, 'acquirer_timeout'],
  ] as const)(
    // catches(doubt: a link that fails is no decline)
    '%s → 5XX with Location, unknown, asked once, and approved when it says so',
    async (_, asking, status, code) => {
      const finding = acquirer.holdNextFinding();
      acquirer.nextAnswers(asking);
      const answer = await gateway.api.purchase();
      expect([answer.status, answer.code]).toEqual([status, code]);
      const audit = auditOf(answer);
      const reference = await finding.asked;
      expect((await lookedUp(audit)).status).toEqual({
        gateway_status_code: -99,
        gateway_status_message: expect.any(String),
        transaction_status_code: 'unknown',
        acquirer: {},
      });
      finding.answer(answered('00'));
      const decided = await gateway.api.decided(audit);
      expect(decided.status).toMatchObject({
        gateway_status_code: 0,
        transaction_status_code: 'approved',
        acquirer: { response_code: '00', authorisation_code: '123456' },
      });
      expect(decided._links).toHaveProperty('refund');
      expect(acquirer.timesAsked(reference)).toBe(1);
      expect(acquirer.reversals).not.toContain(reference);
    },
  );

  test.each([
    ['declined', '51', 0, 'declined'],
    ['at fault', '96', 3, 'error'],
  ])(
    // catches(doubt: is handed to the resolver) slow
    'finds that it was %s → that is the outcome, without a reversal',
    async (_, code, gatewayStatus, outcome) => {
      acquirer.nextFindings(() => answered(code));
      const audit = await purchasedInDoubt();
      expect((await gateway.api.decided(audit)).status).toMatchObject({
        gateway_status_code: gatewayStatus,
        transaction_status_code: outcome,
        acquirer: { response_code: code },
      });
      expect(acquirer.reversals).not.toContain(referenceOf(audit));
    },
  );

  // catches(inquiry: what was not seen is reversed, since it may still arrive)
  test('has not seen the payment → reversed once, error with 2', async () => {
    acquirer.nextFindings(() => ({ kind: 'not_seen' }));
    const audit = await purchasedInDoubt();
    expect((await gateway.api.decided(audit)).status).toMatchObject({
      gateway_status_code: 2,
      transaction_status_code: 'error',
      acquirer: {},
    });
    const reference = referenceOf(audit);
    expect(acquirer.reversals.filter((reversed) => reversed === reference)).toHaveLength(1);
  });

  // catches(inquiry: no answer does not mean that nothing was done) slow
  test('does not answer inquiries, breaks or hangs → asked again until the outcome is known', async () => {
    acquirer.nextFindings(
      () => ({ kind: 'no_answer' }),
      breaking,
      async () => breaking(),
      never,
      () => ({ kind: 'no_answer' }),
      () => answered('00'),
    );
    const audit = await purchasedInDoubt();
    expect((await gateway.api.decided(audit)).status.transaction_status_code).toBe('approved');
    const reference = referenceOf(audit);
    expect(acquirer.inquiries.filter((inquired) => inquired === reference)).toHaveLength(6);
    expect(acquirer.reversals).not.toContain(reference);
    expect(acquirer.timesAsked(reference)).toBe(1);
  });

  // catches(reversal: its beginning is stored) slow
  // catches(reversal: once it is under way a late approval no longer wins) slow
  // catches(reversal: repeated until it is confirmed) slow
  test('does not confirm the reversal at first → reversed again until it does, and not afterwards', async () => {
    acquirer.nextFindings(() => ({ kind: 'not_seen' }));
    acquirer.nextReversals(
      () => 'no_answer',
      breaking,
      async () => breaking(),
      never,
    );
    const audit = await purchasedInDoubt();
    const reference = await vi.waitUntil(() => referenceOf(audit), { timeout: 300_000 });
    await vi.waitUntil(() => acquirer.reversals.filter((reversed) => reversed === reference).length >= 2, {
      timeout: 300_000,
    });
    // From here on it would be approved, but the reversal is under way: a late approval no longer wins.
    acquirer.nextFindings(() => answered('00'));
    expect((await gateway.api.decided(audit)).status).toMatchObject({
      gateway_status_code: 2,
      transaction_status_code: 'error',
    });
    expect(acquirer.inquiries.filter((inquired) => inquired === reference)).toHaveLength(1);
    expect(acquirer.reversals.filter((reversed) => reversed === reference)).toHaveLength(5);
    // Uses up the finding that was not asked for.
    await gateway.api.decided(await purchasedInDoubt());
  });

  const NONSENSE = [
    undefined,
    null,
    'approved',
    { kind: 'perhaps' },
    { kind: 'approved', responseCode: 0, responseMessage: null },
  ] as never[];

  test.each(NONSENSE)(
    // catches(doubt: an answer that nothing can be made of is no decline)
    'answers %j, which no contract allows → 502, and the truth when it finds its words',
    async (said) => {
      acquirer.nextAnswers(() => said);
      acquirer.nextFindings(() => answered('00'));
      const answer = await gateway.api.purchase();
      expect([answer.status, answer.code]).toEqual([502, 'acquirer_answer_unreadable']);
      const audit = auditOf(answer);
      expect((await gateway.api.decided(audit)).status.transaction_status_code).toBe('approved');
      expect(acquirer.timesAsked(referenceOf(audit))).toBe(1);
    },
  );

  test('gives invalid answers → asked again until the answer is valid', async () => {
    acquirer.nextFindings(...NONSENSE.map((said) => () => said), () => ({ kind: 'not_seen' }));
    acquirer.nextReversals(...NONSENSE.map((said) => () => said));
    const audit = await purchasedInDoubt();
    expect((await gateway.api.decided(audit)).status).toMatchObject({ gateway_status_code: 2 });
    const reference = referenceOf(audit);
    expect(acquirer.inquiries.filter((inquired) => inquired === reference)).toHaveLength(6);
    expect(acquirer.reversals.filter((reversed) => reversed === reference)).toHaveLength(6);
  });
});

describe('in doubt', () => {
  test('refund → its amount stays reserved until the reversal is confirmed, then it is released', async () => {
    const audit = (await gateway.api.purchase({ amount: 100 })).body.audit;
    acquirer.nextAnswers(() => UNREADABLE);
    const finding = acquirer.holdNextFinding();
    const refund = auditOf(await gateway.api.refund(audit, 60));
    await finding.asked;
    expect((await lookedUp(audit)).kvps).toEqual({ ...TEST_MODE, [`${KVP}REFUNDABLE_AMOUNT`]: '40' });
    expect((await gateway.api.refund(audit, 41)).code).toBe('refund_exceeds_original');
    acquirer.nextReversals(() => 'no_answer');
    finding.answer({ kind: 'not_seen' });
    expect((await gateway.api.decided(refund)).status).toMatchObject({ gateway_status_code: 2 });
    expect((await gateway.api.refund(audit, 100)).body.status.transaction_status_code).toBe('approved');
  });

  // catches(record: only what did not happen gives back)
  test('refund → found approved: its amount stays refunded', async () => {
    const audit = (await gateway.api.purchase({ amount: 100 })).body.audit;
    acquirer.nextAnswers(() => UNREADABLE);
    acquirer.nextFindings(() => answered('00'));
    const refund = auditOf(await gateway.api.refund(audit, 60));
    expect((await gateway.api.decided(refund)).status.transaction_status_code).toBe('approved');
    expect((await gateway.api.refund(audit, 41)).code).toBe('refund_exceeds_original');
    expect((await gateway.api.refund(audit, 40)).body.status.transaction_status_code).toBe('approved');
  });

  test('completion → found declined: the preauthorisation can be completed again', async () => {
    const audit = (await gateway.api.preauthorise({ amount: 100 })).body.audit;
    acquirer.nextAnswers(() => UNREADABLE);
    const finding = acquirer.holdNextFinding();
    const completion = auditOf(await gateway.api.complete(audit, 60));
    await finding.asked;
    expect((await gateway.api.complete(audit, 40)).code).toBe('target_not_completable');
    finding.answer(answered('05'));
    expect((await gateway.api.decided(completion)).status.transaction_status_code).toBe('declined');
    expect((await gateway.api.complete(audit, 100)).body.status.transaction_status_code).toBe('approved');
  });

  test('void → found approved: the target is voided', async () => {
    const audit = (await gateway.api.purchase({ amount: 100 })).body.audit;
    acquirer.nextAnswers(() => UNREADABLE);
    const finding = acquirer.holdNextFinding();
    const voiding = auditOf(await gateway.api.void(audit));
    await finding.asked;
    expect((await lookedUp(audit)).status.transaction_status_code).toBe('approved');
    expect((await gateway.api.refund(audit, 1)).code).toBe('target_not_refundable');
    finding.answer(answered('00'));
    await gateway.api.decided(voiding);
    expect((await lookedUp(audit)).status.transaction_status_code).toBe('voided');
  });

  test('void of a refund → found approved: the amount is released', async () => {
    const audit = (await gateway.api.purchase({ amount: 100 })).body.audit;
    const refund = (await gateway.api.refund(audit, 100)).body.audit;
    acquirer.nextAnswers(() => UNREADABLE);
    const finding = acquirer.holdNextFinding();
    const voiding = auditOf(await gateway.api.void(refund));
    await finding.asked;
    expect((await gateway.api.refund(audit, 1)).code).toBe('refund_exceeds_original');
    finding.answer(answered('00'));
    await gateway.api.decided(voiding);
    expect((await gateway.api.refund(audit, 100)).body.status.transaction_status_code).toBe('approved');
  });
});

test('every transaction in doubt → the acquirer has the same books', () =>
  expectBooksToAgree(gateway, async () => acquirer.entries));
