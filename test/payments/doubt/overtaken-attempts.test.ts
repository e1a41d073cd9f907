// Attempts that a newer one has overtaken: whatever they find, the newest decides.
import { expect, test } from 'vitest';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import { answered } from '../../../testkit/scripted-acquirer.js';
import { NO_ANSWER, TwoResolvers, times } from '../../../testkit/two-resolvers.js';

const resolvers = TwoResolvers.ofThisFile();
const { acquirer } = resolvers;

test('an overtaken attempt finds it approved after the newer one had it reversed → stays in error', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await resolvers.purchasedInDoubt(resolvers.one);
  const reference = await slow.asked;
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  await resolvers.lookAgain();
  const decided = await resolvers.one.api.decided(audit);
  expect(decided.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
  slow.answer(answered('00'));
  await theOvertakenHaveFinished();
  expect((await resolvers.one.api.lookUp(audit)).body).toEqual(decided);
  expect(times(acquirer.reversals, reference)).toBe(1);
});

test('an overtaken attempt finds it approved while the newer one is reversing it → unknown, then in error', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await resolvers.purchasedInDoubt(resolvers.other);
  await slow.asked;
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  acquirer.nextReversals(() => 'no_answer');
  await resolvers.lookAgain();
  await resolvers.postponed(audit, 2);
  slow.answer(answered('00'));
  await theOvertakenHaveFinished();
  expect((await resolvers.one.api.lookUp(audit)).body.status.transaction_status_code).toBe('unknown');
  await resolvers.lookAgain();
  expect((await resolvers.one.api.decided(audit)).status).toMatchObject({ gateway_status_code: 2 });
});

// catches(reversal: not begun by an attempt that may not) slow
test('an overtaken attempt finds nothing after the newer one found it approved → not reversed, stays approved', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await resolvers.purchasedInDoubt(resolvers.other);
  const reference = await slow.asked;
  acquirer.nextFindings(() => answered('00'));
  await resolvers.lookAgain();
  const decided = await resolvers.one.api.decided(audit);
  expect(decided.status.transaction_status_code).toBe('approved');
  slow.answer({ kind: 'not_seen' });
  await theOvertakenHaveFinished();
  expect((await resolvers.one.api.lookUp(audit)).body).toEqual(decided);
  expect(acquirer.reversals).not.toContain(reference);
});

// catches(taking: every taking is a new attempt) slow
// catches(reversal: not begun by an attempt that was overtaken) slow
test('an overtaken attempt finds nothing while the newer one still asks → not reversed, and the newer one decides', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await resolvers.purchasedInDoubt(resolvers.one);
  const reference = await slow.asked;
  const newer = acquirer.holdNextFinding();
  await resolvers.lookAgain();
  await newer.asked;
  slow.answer({ kind: 'not_seen' });
  // The newer attempt keeps the other resolver waiting, so the overtaken one takes this.
  const next = acquirer.holdNextFinding();
  const taken = await resolvers.purchasedInDoubt(resolvers.one);
  await next.asked;
  expect(acquirer.reversals).not.toContain(reference);
  newer.answer(answered('00'));
  expect((await resolvers.one.api.decided(audit)).status.transaction_status_code).toBe('approved');
  next.answer(answered('00'));
  await resolvers.one.api.decided(taken);
  expect(acquirer.reversals).not.toContain(reference);
});

// catches(postponing: only by the current attempt, and only what is in doubt) slow
test('an overtaken attempt gets no answer after the newer one found it approved → no further attempt', async () => {
  const slow = acquirer.holdNextFinding();
  const audit = await resolvers.purchasedInDoubt(resolvers.other);
  await slow.asked;
  acquirer.nextFindings(() => answered('00'));
  await resolvers.lookAgain();
  await resolvers.one.api.decided(audit);
  slow.answer(NO_ANSWER);
  await theOvertakenHaveFinished();
  expect(await resolvers.progressOf(audit)).toEqual({ attempts: 2, pauseMs: null });
});

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

test('overtaken attempts → gateway and acquirer still agree', () =>
  expectBooksToAgree(resolvers.one, async () => acquirer.entries));
