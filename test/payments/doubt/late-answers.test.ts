// Answers that come after the deadline: they still decide, unless a reversal has begun.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Answer } from '../../../src/acquirers/contract.js';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { answered, ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';

// Pauses so long that nothing is retried unless the test says so.
const SETTINGS = { RESOLVER_FIRST_PAUSE_MS: '1000000', RESOLVER_LONGEST_PAUSE_MS: '3000000' };
const PATIENTLY = { timeout: 300_000 };
const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer], settings: SETTINGS });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
});
afterAll(() => gateway.close());

interface Row {
  readonly status: string;
  readonly reversing: boolean;
  /** Whether a resolver has made an attempt, and the next one is far away. */
  readonly postponed: boolean;
}

async function row(audit: number): Promise<Row> {
  const [found] = await gateway.sql<Row>(
    `SELECT status, reversing, resolve_at > now() + interval '100 seconds' IS TRUE AS postponed
     FROM transaction WHERE organisation_id = 1 AND audit = $1`,
    [audit],
  );
  return found as Row;
}

/** A payment whose answer is still on its way after the client's 504 and a resolver's attempt. */
async function unanswered(pay: () => ReturnType<TestGateway['api']['purchase']>) {
  const held = acquirer.holdNextAnswer();
  const { status, headers } = await pay();
  expect(status).toBe(504);
  const audit = Number(headers.get('location')?.split('/').at(-1));
  await vi.waitUntil(async () => (await row(audit)).postponed, PATIENTLY);
  return { audit, reference: await held.asked, arrives: (answer: Answer) => held.answer(answer) };
}

test.each([
  ['00', 'approved'],
  ['51', 'declined'],
  // catches(late answer: it decides) slow
])('answer %s after the deadline, and inquiries unanswered → %s', async (code, status) => {
  acquirer.nextFindings(() => ({ kind: 'no_answer' }));
  const { audit, reference, arrives } = await unanswered(() => gateway.api.purchase());
  arrives(answered(code));
  const decided = await gateway.api.decided(audit);
  expect(decided.status).toMatchObject({
    transaction_status_code: status,
    acquirer: { response_code: code },
  });
  expect(acquirer.inquiries.filter((inquired) => inquired === reference)).toHaveLength(1);
  expect(acquirer.reversals).not.toContain(reference);
});

test('approved refund after the deadline → counted once, and nothing is left to resolve', async () => {
  const { audit } = (await gateway.api.purchase({ amount: 100 })).body;
  acquirer.nextFindings(() => ({ kind: 'no_answer' }));
  const refund = await unanswered(() => gateway.api.refund(audit, 60));
  refund.arrives(answered('00'));
  await gateway.api.decided(refund.audit);
  expect((await gateway.api.refund(audit, 41)).code).toBe('refund_exceeds_original');
  expect(await gateway.sql('SELECT FROM transaction WHERE resolve_at IS NOT NULL')).toEqual([]);
});

// catches(late answer: not once a reversal has begun) slow
test('approval after its reversal has begun → changes nothing: reversed, error with 2', async () => {
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  acquirer.nextReversals(() => 'no_answer');
  const { audit, arrives } = await unanswered(() => gateway.api.purchase());
  expect(await row(audit)).toMatchObject({ status: 'unknown', reversing: true });
  arrives(answered('00'));
  // A later answer, to another payment, is recorded: this one has been handled by then.
  acquirer.nextFindings(() => ({ kind: 'no_answer' }));
  const other = await unanswered(() => gateway.api.purchase());
  other.arrives(answered('00'));
  await gateway.api.decided(other.audit);
  expect(await row(audit)).toMatchObject({ status: 'unknown', reversing: true });
  await gateway.sql(`UPDATE transaction SET resolve_at = now() WHERE status = 'unknown'`);
  expect((await gateway.api.decided(audit)).status).toMatchObject({
    gateway_status_code: 2,
    transaction_status_code: 'error',
  });
});

test('every late answer → the acquirer has the same books', () =>
  expectBooksToAgree(gateway, async () => acquirer.entries));
