// Attempts of a resolver that a newer one has overtaken: whatever they find, the newer one decides.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { answered, ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';

// Pauses so long that nothing is looked at again unless the test says so.
const SETTINGS = {
  ACQUIRER_DEADLINE_MS: '30000',
  RESOLVER_INTERVAL_MS: '20',
  RESOLVER_FIRST_PAUSE_MS: '1000000',
  RESOLVER_LONGEST_PAUSE_MS: '3000000',
};
const acquirer = new ScriptedAcquirer();
let one: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  one = await testGateway({ settings: SETTINGS, acquirers: [acquirer] });
  await one.sql(`UPDATE merchant SET acquirer = 'scripted'`);
  other = await testGateway({ settings: SETTINGS, acquirers: [acquirer], shareWith: one });
});
afterAll(async () => {
  await other.close();
  await one.close();
});

const UNREADABLE = { kind: 'unknown', reason: 'unreadable' } as const;
const NO_ANSWER = { kind: 'no_answer' } as const;
const PATIENTLY = { timeout: 30_000 };

async function purchasedInDoubt(gateway: TestGateway): Promise<number> {
  acquirer.nextAnswers(() => UNREADABLE);
  const answer = await gateway.api.purchase({ amount: 100 });
  expect(answer.status).toBe(502);
  return Number(answer.headers.get('location')?.split('/').at(-1));
}

function times(list: readonly string[], reference: string): number {
  return list.filter((entry) => entry === reference).length;
}

interface Progress {
  attempts: number;
  /** How long from now until it is looked at again; none when it is decided. */
  pauseMs: number | null;
}

async function progressOf(audit: number): Promise<Progress> {
  const [row] = await one.sql<Progress>(
    `SELECT resolve_attempts AS attempts, extract(epoch FROM resolve_at - now())::float8 * 1000 AS "pauseMs"
     FROM transaction WHERE organisation_id = 1 AND audit = $1`,
    [audit],
  );
  return row as Progress;
}

/** Waits until the given attempt was made and ended without a result. */
async function postponed(audit: number, attempt: number): Promise<number> {
  return vi.waitUntil(async () => {
    const { attempts, pauseMs } = await progressOf(audit);
    // More than the time for which an attempt is lent out.
    return attempts === attempt && pauseMs !== null && pauseMs > 200_000 && pauseMs;
  }, PATIENTLY);
}

async function lookAgain(): Promise<void> {
  await one.sql(`UPDATE transaction SET resolve_at = now() WHERE status = 'unknown'`);
}

test('an attempt that was overtaken finds it approved, after the newer one had it reversed → it stays in error', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await purchasedInDoubt(one);
  const reference = await slow.asked;
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  await lookAgain();
  const decided = await one.api.decided(audit);
  expect(decided.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
  slow.answer(answered('00'));
  await theOvertakenHaveFinished();
  expect((await one.api.lookUp(audit)).body).toEqual(decided);
  expect(times(acquirer.reversals, reference)).toBe(1);
});

test('an attempt that was overtaken finds it approved, while the newer one is reversing it → unknown, then in error', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await purchasedInDoubt(other);
  await slow.asked;
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  acquirer.nextReversals(() => 'no_answer');
  await lookAgain();
  await postponed(audit, 2);
  slow.answer(answered('00'));
  await theOvertakenHaveFinished();
  expect((await one.api.lookUp(audit)).body.status.transaction_status_code).toBe('unknown');
  await lookAgain();
  expect((await one.api.decided(audit)).status).toMatchObject({ gateway_status_code: 2 });
});

test('an attempt that was overtaken finds nothing, after the newer one found it approved → not reversed, it stays approved', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await purchasedInDoubt(other);
  const reference = await slow.asked;
  acquirer.nextFindings(() => answered('00'));
  await lookAgain();
  const decided = await one.api.decided(audit);
  expect(decided.status.transaction_status_code).toBe('approved');
  slow.answer({ kind: 'not_seen' });
  await theOvertakenHaveFinished();
  expect((await one.api.lookUp(audit)).body).toEqual(decided);
  expect(acquirer.reversals).not.toContain(reference);
});

test('an attempt that was overtaken finds nothing, while the newer one still asks → not reversed, and the newer one decides', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await purchasedInDoubt(one);
  const reference = await slow.asked;
  const newer = acquirer.holdNextFinding();
  await lookAgain();
  await newer.asked;
  slow.answer({ kind: 'not_seen' });
  // The newer attempt keeps the other resolver waiting, so it is the overtaken one's that takes this.
  const next = acquirer.holdNextFinding();
  const taken = await purchasedInDoubt(one);
  await next.asked;
  expect(acquirer.reversals).not.toContain(reference);
  newer.answer(answered('00'));
  expect((await one.api.decided(audit)).status.transaction_status_code).toBe('approved');
  next.answer(answered('00'));
  await one.api.decided(taken);
  expect(acquirer.reversals).not.toContain(reference);
});

test('an attempt that was overtaken gets no answer, after the newer one found it approved → there is nothing to look at again', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await purchasedInDoubt(other);
  await slow.asked;
  acquirer.nextFindings(() => answered('00'));
  await lookAgain();
  await one.api.decided(audit);
  slow.answer(NO_ANSWER);
  await theOvertakenHaveFinished();
  expect(await progressOf(audit)).toEqual({ attempts: 2, pauseMs: null });
});

/** A resolver that waits for an answer takes nothing new: when each has, none waits any more. */
async function theOvertakenHaveFinished(): Promise<void> {
  const first = acquirer.holdNextFinding();
  const second = acquirer.holdNextFinding();
  const taken = await purchasedInDoubt(one);
  await first.asked;
  const takenByTheOther = await purchasedInDoubt(other);
  await second.asked;
  first.answer(answered('00'));
  second.answer(answered('00'));
  await one.api.decided(taken);
  await one.api.decided(takenByTheOther);
}

test('whoever was overtaken → the acquirer has the same books', () =>
  expectBooksToAgree(one, async () => acquirer.entries));
