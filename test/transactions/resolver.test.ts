// The resolver: what is in doubt is looked at again and again, by one process at a time, and never given up.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker, waitingForLocks } from '../../testkit/locks.js';
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

test('many in doubt and due at once, two resolvers → each is looked at once, and reversed once or not at all', async () => {
  const COUNT = 150;
  acquirer.nextAnswers(...Array.from({ length: COUNT }, () => () => UNREADABLE));
  acquirer.nextFindings(...Array.from({ length: COUNT }, () => () => NO_ANSWER));
  const answers = await Promise.all(
    Array.from({ length: COUNT }, (_, number) => (number % 2 ? one : other).api.purchase({ amount: 100 })),
  );
  const audits = answers.map(({ headers }) => Number(headers.get('location')?.split('/').at(-1)));
  for (const audit of audits) await postponed(audit, 1);

  const references = acquirer.requests.map(({ reference }) => reference);
  const seen = (reference: string) => Number(reference.split('-').at(-1)) % 2 === 0;
  const finding = (reference: string) => (seen(reference) ? answered('00') : ({ kind: 'not_seen' } as const));
  acquirer.nextFindings(...Array.from({ length: COUNT }, () => finding));
  await lookAgain();
  for (const audit of audits) {
    const { status } = await one.api.decided(audit);
    expect(status.transaction_status_code).toBe(audit % 2 === 0 ? 'approved' : 'error');
    expect(await progressOf(audit)).toEqual({ attempts: 2, pauseMs: null });
  }
  for (const reference of references) {
    expect([reference, times(acquirer.inquiries, reference)]).toEqual([reference, 2]);
    expect([reference, times(acquirer.reversals, reference)]).toEqual([reference, seen(reference) ? 0 : 1]);
    expect(acquirer.timesAsked(reference)).toBe(1);
  }
});

test('no answer to inquiries → longer and longer pauses up to the longest, unknown all the time, and never given up', async () => {
  acquirer.nextFindings(...Array.from({ length: 6 }, () => () => NO_ANSWER));
  const audit = await purchasedInDoubt(one);
  for (const [index, expectedMs] of [1e6, 2e6, 3e6, 3e6, 3e6, 3e6].entries()) {
    const pauseMs = await postponed(audit, index + 1);
    expect(pauseMs).toBeGreaterThan(expectedMs - 60_000);
    expect(pauseMs).toBeLessThanOrEqual(expectedMs);
    expect((await one.api.lookUp(audit)).body.status).toMatchObject({
      gateway_status_code: -99,
      transaction_status_code: 'unknown',
    });
    if (index === 5) acquirer.nextFindings(() => answered('00'));
    await lookAgain();
  }
  expect((await one.api.decided(audit)).status.transaction_status_code).toBe('approved');
});

test('a reversal that is not confirmed → the same pauses, and only the reversal is repeated', async () => {
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  acquirer.nextReversals(
    () => 'no_answer',
    () => 'no_answer',
  );
  const held = acquirer.inquiries.length;
  const audit = await purchasedInDoubt(other);
  await postponed(audit, 1);
  await lookAgain();
  expect(await postponed(audit, 2)).toBeGreaterThan(1_900_000);
  await lookAgain();
  expect((await one.api.decided(audit)).status).toMatchObject({ gateway_status_code: 2 });
  expect(acquirer.inquiries.length - held).toBe(1);
});

test('taken by a resolver that has not committed yet → left to it', async () => {
  acquirer.nextFindings(() => NO_ANSWER);
  const audit = await purchasedInDoubt(one);
  await postponed(audit, 1);
  const reference = acquirer.requests.at(-1)?.reference ?? '';
  const asked = times(acquirer.inquiries, reference);
  const { query, commit } = await locker(one);
  await one.sql(`UPDATE transaction SET resolve_at = now() + interval '2 seconds' WHERE audit = $1`, [audit]);
  await query(
    `UPDATE transaction SET resolve_attempts = resolve_attempts + 1, resolve_at = now() + interval '1 hour'
     WHERE audit = $1`,
    [audit],
  );
  const due = async () => (await progressOf(audit)).pauseMs as number;
  await vi.waitUntil(async () => (await due()) < 0, PATIENTLY);
  // Both have looked since, unless one of them waits for the lock.
  const looked = theOvertakenHaveFinished();
  const done = looked.then(() => true);
  await vi.waitUntil(
    async () => (await waitingForLocks(one)).length > 0 || Promise.race([done, false]),
    PATIENTLY,
  );
  await commit();
  await looked;
  await theOvertakenHaveFinished();
  expect((await progressOf(audit)).attempts).toBe(2);
  expect(times(acquirer.inquiries, reference)).toBe(asked);
  acquirer.nextFindings(() => answered('00'));
  await lookAgain();
  expect((await one.api.decided(audit)).status.transaction_status_code).toBe('approved');
});

test('left by a dead process and taken by a resolver → nobody else takes it while that one asks', async () => {
  const answer = acquirer.holdNextAnswer();
  const answering = one.api.purchase({ correlationId: 'left-behind' });
  const reference = await answer.asked;
  const { audit } = (await one.api.search('left-behind')).body.results[0];
  const finding = acquirer.holdNextFinding();
  // Its lease passes to a process that nobody has heard of lately.
  await one.sql(
    `WITH dead AS (INSERT INTO process (seen_at) VALUES (now() - interval '20 seconds') RETURNING id)
     UPDATE audit_lease SET process_id = dead.id FROM dead
     WHERE organisation_id = 1 AND $1 BETWEEN first_audit AND last_audit`,
    [audit],
  );
  expect(await finding.asked).toBe(reference);
  // The other resolver looks after these, and between them after everything that the dead have left: after this one anew,
  // since it looks as if it had been heard of meanwhile.
  await one.sql(
    `UPDATE process SET seen_at = seen_at - interval '1 second' WHERE seen_at < now() - interval '20 seconds'`,
  );
  for (let time = 0; time < 2; time += 1) {
    acquirer.nextFindings(() => answered('00'));
    await one.api.decided(await purchasedInDoubt(other));
  }
  expect(times(acquirer.inquiries, reference)).toBe(1);
  finding.answer(answered('00'));
  expect((await one.api.decided(audit)).status.transaction_status_code).toBe('approved');
  answer.answer(answered('00'));
  expect((await answering).body.audit).toBe(audit);
  await one.sql(`DELETE FROM process WHERE seen_at < now() - interval '20 seconds'`);
});

test('left by a dead process and locked by somebody → what else is in doubt is resolved meanwhile, and this afterwards', async () => {
  const answer = acquirer.holdNextAnswer();
  const answering = one.api.purchase({ correlationId: 'left-locked' });
  const reference = await answer.asked;
  const { audit } = (await one.api.search('left-locked')).body.results[0];
  const { query, rollback } = await locker(one);
  await query('SELECT FROM transaction WHERE organisation_id = 1 AND audit = $1 FOR UPDATE', [audit]);
  await one.sql(
    `WITH dead AS (INSERT INTO process (seen_at) VALUES (now() - interval '20 seconds') RETURNING id)
     INSERT INTO audit_lease (organisation_id, first_audit, last_audit, process_id) SELECT 1, $1, $1, id FROM dead
     ON CONFLICT (organisation_id, first_audit) DO UPDATE SET process_id = excluded.process_id`,
    [audit],
  );
  for (let time = 0; time < 4; time += 1) {
    acquirer.nextFindings(() => answered('00'));
    await one.api.decided(await purchasedInDoubt(time % 2 ? one : other));
  }
  expect(await waitingForLocks(one)).toEqual([]);
  expect(acquirer.inquiries).not.toContain(reference);
  acquirer.nextFindings(() => answered('00'));
  await rollback();
  expect((await one.api.decided(audit)).status.transaction_status_code).toBe('approved');
  answer.answer(answered('00'));
  expect((await answering).body.audit).toBe(audit);
  await one.sql(`DELETE FROM process WHERE seen_at < now() - interval '20 seconds'`);
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

test('a process without the link to the acquirer → leaves it to one that has it', async () => {
  acquirer.nextFindings(() => NO_ANSWER);
  const audit = await purchasedInDoubt(one);
  await postponed(audit, 1);
  const reference = acquirer.requests.at(-1)?.reference ?? '';
  const without = await testGateway({ settings: SETTINGS, shareWith: one });
  // Taken by any of the three; asked about only by the two that can.
  await vi.waitUntil(async () => {
    acquirer.nextFindings(() => NO_ANSWER);
    const { attempts } = await progressOf(audit);
    const before = times(acquirer.inquiries, reference);
    await lookAgain();
    await postponed(audit, attempts + 1);
    return times(acquirer.inquiries, reference) === before;
  }, PATIENTLY);
  await without.close();
  acquirer.nextFindings(() => answered('00'));
  await vi.waitUntil(async () => {
    await lookAgain();
    return (await one.api.lookUp(audit)).body.status.transaction_status_code === 'approved';
  }, PATIENTLY);
});

test('all resolved → the acquirer has the same books', () =>
  expectBooksToAgree(one, async () => acquirer.entries));
