// The resolver: transactions in doubt are retried forever, by one process at a time.
import { expect, test, vi } from 'vitest';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import { testGateway } from '../../../testkit/gateway.js';
import { locker, waitingForLocks } from '../../../testkit/locks.js';
import { answered } from '../../../testkit/scripted-acquirer.js';
import { NO_ANSWER, PATIENTLY, SELDOM, TwoResolvers, times } from '../../../testkit/two-resolvers.js';

const resolvers = TwoResolvers.ofThisFile();
const { acquirer } = resolvers;

// catches(taking: for as long as the lease nobody else takes it) slow
test('many in doubt and due at once, two resolvers → each is handled once, and reversed at most once', async () => {
  const COUNT = 150;
  acquirer.nextFindings(...Array.from({ length: COUNT }, () => () => NO_ANSWER));
  const audits: number[] = [];
  // Few at once: a busy gateway would refuse some.
  while (audits.length < COUNT)
    audits.push(
      ...(await Promise.all(
        Array.from({ length: 10 }, (_, number) =>
          resolvers.purchasedInDoubt(number % 2 ? resolvers.one : resolvers.other),
        ),
      )),
    );
  for (const audit of audits) await resolvers.postponed(audit, 1);

  const references = acquirer.requests.map(({ reference }) => reference);
  const seen = (reference: string) => Number(reference.split('-').at(-1)) % 2 === 0;
  const finding = (reference: string) => (seen(reference) ? answered('00') : ({ kind: 'not_seen' } as const));
  acquirer.nextFindings(...Array.from({ length: COUNT }, () => finding));
  await resolvers.lookAgain();
  for (const audit of audits) {
    const { status } = await resolvers.one.api.decided(audit);
    expect(status.transaction_status_code).toBe(audit % 2 === 0 ? 'approved' : 'error');
    expect(await resolvers.progressOf(audit)).toEqual({ attempts: 2, pauseMs: null });
  }
  for (const reference of references) {
    expect([reference, times(acquirer.inquiries, reference)]).toEqual([reference, 2]);
    expect([reference, times(acquirer.reversals, reference)]).toEqual([reference, seen(reference) ? 0 : 1]);
    expect(acquirer.timesAsked(reference)).toBe(1);
  }
});

test('no answer to inquiries → increasing pauses up to the maximum, unknown all the time, and never given up', async () => {
  acquirer.nextFindings(...Array.from({ length: 6 }, () => () => NO_ANSWER));
  const audit = await resolvers.purchasedInDoubt(resolvers.one);
  for (const [index, expectedMs] of [1e6, 2e6, 3e6, 3e6, 3e6, 3e6].entries()) {
    const pauseMs = await resolvers.postponed(audit, index + 1);
    expect(pauseMs).toBeGreaterThan(expectedMs - 60_000);
    // The query may have started a moment before the attempt ended, and still see it.
    expect(pauseMs).toBeLessThan(expectedMs + 60_000);
    expect((await resolvers.one.api.lookUp(audit)).body.status).toMatchObject({
      gateway_status_code: -99,
      transaction_status_code: 'unknown',
    });
    if (index === 5) acquirer.nextFindings(() => answered('00'));
    await resolvers.lookAgain();
  }
  expect((await resolvers.one.api.decided(audit)).status.transaction_status_code).toBe('approved');
});

test('an unconfirmed reversal → the same pauses, and only the reversal is repeated', async () => {
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  acquirer.nextReversals(
    () => 'no_answer',
    () => 'no_answer',
  );
  const held = acquirer.inquiries.length;
  const audit = await resolvers.purchasedInDoubt(resolvers.other);
  await resolvers.postponed(audit, 1);
  await resolvers.lookAgain();
  expect(await resolvers.postponed(audit, 2)).toBeGreaterThan(1_900_000);
  await resolvers.lookAgain();
  expect((await resolvers.one.api.decided(audit)).status).toMatchObject({ gateway_status_code: 2 });
  expect(acquirer.inquiries.length - held).toBe(1);
});

// catches(taking: locks what it takes) slow
test('taken by a resolver that has not committed yet → left to that resolver', async () => {
  acquirer.nextFindings(() => NO_ANSWER);
  const audit = await resolvers.purchasedInDoubt(resolvers.one);
  await resolvers.postponed(audit, 1);
  const reference = acquirer.requests.at(-1)?.reference ?? '';
  const asked = times(acquirer.inquiries, reference);
  const { query, commit } = await locker(resolvers.one);
  await resolvers.one.sql(
    `UPDATE transaction SET resolve_at = now() + interval '2 seconds' WHERE audit = $1`,
    [audit],
  );
  await query(
    `UPDATE transaction SET resolve_attempts = resolve_attempts + 1, resolve_at = now() + interval '1 hour'
     WHERE audit = $1`,
    [audit],
  );
  const due = async () => (await resolvers.progressOf(audit)).pauseMs as number;
  await vi.waitUntil(async () => (await due()) < 0, PATIENTLY);
  // Both have run since, unless one of them waits for the lock.
  const looked = theOvertakenHaveFinished();
  const done = looked.then(() => true);
  await vi.waitUntil(
    async () => (await waitingForLocks(resolvers.one)).length > 0 || Promise.race([done, false]),
    PATIENTLY,
  );
  await commit();
  await looked;
  await theOvertakenHaveFinished();
  expect((await resolvers.progressOf(audit)).attempts).toBe(2);
  expect(times(acquirer.inquiries, reference)).toBe(asked);
  acquirer.nextFindings(() => answered('00'));
  await resolvers.lookAgain();
  expect((await resolvers.one.api.decided(audit)).status.transaction_status_code).toBe('approved');
});

// catches(dead processes: what was handed over once is not taken from its resolver) slow
test('left by a dead process and taken by a resolver → no other resolver takes it meanwhile', async () => {
  const answer = acquirer.holdNextAnswer();
  const answering = resolvers.one.api.purchase({ correlationId: 'left-behind' });
  const reference = await answer.asked;
  const { audit } = (await resolvers.one.api.search('left-behind')).body.results[0];
  const finding = acquirer.holdNextFinding();
  await longAgo(audit);
  // Its lease passes to a process without recent heartbeats.
  await resolvers.one.sql(
    `WITH dead AS (INSERT INTO process (seen_at) VALUES (now() - interval '20 seconds') RETURNING id)
     UPDATE audit_lease SET process_id = dead.id FROM dead
     WHERE organisation_id = 1 AND $1 BETWEEN first_audit AND last_audit`,
    [audit],
  );
  expect(await finding.asked).toBe(reference);
  // The other resolver handles these, and in between everything that dead processes left: this one again, since it seems to
  // have been alive meanwhile.
  await resolvers.one.sql(
    `UPDATE process SET seen_at = seen_at - interval '1 second' WHERE seen_at < now() - interval '20 seconds'`,
  );
  for (let time = 0; time < 6; time += 1) {
    acquirer.nextFindings(() => answered('00'));
    await resolvers.one.api.decided(await resolvers.purchasedInDoubt(resolvers.other));
  }
  expect(times(acquirer.inquiries, reference)).toBe(1);
  finding.answer(answered('00'));
  expect((await resolvers.one.api.decided(audit)).status.transaction_status_code).toBe('approved');
  answer.answer(answered('00'));
  expect((await answering).body.audit).toBe(audit);
  await resolvers.one.sql(`DELETE FROM process WHERE seen_at < now() - interval '20 seconds'`);
});

test('left by a dead process and locked → others are resolved meanwhile, this one afterwards', async () => {
  const answer = acquirer.holdNextAnswer();
  const answering = resolvers.one.api.purchase({ correlationId: 'left-locked' });
  const reference = await answer.asked;
  const { audit } = (await resolvers.one.api.search('left-locked')).body.results[0];
  await longAgo(audit);
  const { query, rollback } = await locker(resolvers.one);
  await query('SELECT FROM transaction WHERE organisation_id = 1 AND audit = $1 FOR UPDATE', [audit]);
  await resolvers.one.sql(
    `WITH dead AS (INSERT INTO process (seen_at) VALUES (now() - interval '20 seconds') RETURNING id)
     INSERT INTO audit_lease (organisation_id, first_audit, last_audit, process_id) SELECT 1, $1, $1, id FROM dead
     ON CONFLICT (organisation_id, first_audit) DO UPDATE SET process_id = excluded.process_id`,
    [audit],
  );
  for (let time = 0; time < 4; time += 1) {
    acquirer.nextFindings(() => answered('00'));
    await resolvers.one.api.decided(
      await resolvers.purchasedInDoubt(time % 2 ? resolvers.one : resolvers.other),
    );
  }
  expect(await waitingForLocks(resolvers.one)).toEqual([]);
  expect(acquirer.inquiries).not.toContain(reference);
  acquirer.nextFindings(() => answered('00'));
  await rollback();
  expect((await resolvers.one.api.decided(audit)).status.transaction_status_code).toBe('approved');
  answer.answer(answered('00'));
  expect((await answering).body.audit).toBe(audit);
  await resolvers.one.sql(`DELETE FROM process WHERE seen_at < now() - interval '20 seconds'`);
});

/** The deadline for its answer is over: until then a dead process's transaction is not asked about. */
async function longAgo(audit: number): Promise<void> {
  await resolvers.one.sql(
    `UPDATE transaction SET created_at = created_at - interval '1 minute' WHERE organisation_id = 1 AND audit = $1`,
    [audit],
  );
}

/** A resolver that waits for an answer takes nothing new: once each has taken something, none is waiting. */
async function theOvertakenHaveFinished(): Promise<void> {
  const first = acquirer.holdNextFinding();
  const second = acquirer.holdNextFinding();
  const taken = await resolvers.purchasedInDoubt(resolvers.one);
  await first.asked;
  const takenByTheOther = await resolvers.purchasedInDoubt(resolvers.other);
  await second.asked;
  first.answer(answered('00'));
  second.answer(answered('00'));
  await resolvers.one.api.decided(taken);
  await resolvers.one.api.decided(takenByTheOther);
}

test('a process without the link to the acquirer → leaves it to a process that has it', async () => {
  acquirer.nextFindings(() => NO_ANSWER);
  const audit = await resolvers.purchasedInDoubt(resolvers.one);
  await resolvers.postponed(audit, 1);
  const reference = acquirer.requests.at(-1)?.reference ?? '';
  const without = await testGateway({ settings: SELDOM, shareWith: resolvers.one });
  // Any of the three may take it; only two can ask.
  await vi.waitUntil(async () => {
    acquirer.nextFindings(() => NO_ANSWER);
    const { attempts } = await resolvers.progressOf(audit);
    const before = times(acquirer.inquiries, reference);
    await resolvers.lookAgain();
    await resolvers.postponed(audit, attempts + 1);
    return times(acquirer.inquiries, reference) === before;
  }, PATIENTLY);
  await without.close();
  acquirer.nextFindings(() => answered('00'));
  await vi.waitUntil(async () => {
    await resolvers.lookAgain();
    return (await resolvers.one.api.lookUp(audit)).body.status.transaction_status_code === 'approved';
  }, PATIENTLY);
});

test('all resolved → the acquirer has the same books', () =>
  expectBooksToAgree(resolvers.one, async () => acquirer.entries));
