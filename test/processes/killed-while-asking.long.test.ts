// `kill -9` from outside while the acquirer is being asked, and what the gateway makes of it after its restart.
import { beforeAll, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import type { Client } from '../../testkit/client.js';
import { type Installation, installation, outcomeOf } from '../../testkit/cloned-installation.js';
import { eventually } from '../../testkit/gateway-process.js';
import {
  type Attempt,
  claimed,
  expectRepetitionRefused,
  expectTargetToShow,
  OPERATIONS,
  prepare,
  send,
} from '../../testkit/operations.js';
import { LOST_ANSWER_CARD, SLOW_CARD } from '../../testkit/test-cards.js';

const IN_DOUBT = `SELECT audit FROM transaction WHERE status = 'unknown'`;

let shared: Installation;
let api: Client;
let chargedAttempts: Attempt[];
let unheardAttempts: Attempt[];

beforeAll(async () => {
  shared = await installation();
  const first = await shared.start({ ACQUIRER_DEADLINE_MS: '3000', SIMULATOR_SLOW_MS: '1' });
  const prepareAll = (pan: string) =>
    Promise.all(OPERATIONS.map((operation) => prepare(first.api, operation, pan)));
  [chargedAttempts, unheardAttempts] = await Promise.all([
    prepareAll(LOST_ANSWER_CARD),
    prepareAll(SLOW_CARD),
  ]);
  await first.stop();

  const killed = await shared.start({ ACQUIRER_DEADLINE_MS: '60000' });
  const answers: Promise<unknown>[] = [];
  for (const attempt of chargedAttempts) {
    answers.push(expect(send(killed.api, attempt)).rejects.toThrow());
    const audit = await claimed(killed.api, attempt);
    await eventually(async () => (await shared.ledgerOf(audit))[0]);
  }
  // All at once, since the acquirer hears of them some seconds after they were sent.
  answers.push(...unheardAttempts.map((attempt) => expect(send(killed.api, attempt)).rejects.toThrow()));
  await eventually(async () => (await shared.sql(IN_DOUBT)).length === 2 * OPERATIONS.length || undefined);
  await killed.crash();
  await Promise.all(answers);

  api = (await shared.start()).api;
});

test.each(OPERATIONS)(
  '%s, charged but not answered when killed → approved, and charged once',
  async (operation) => {
    const attempt = chargedAttempts.find((each) => each.operation === operation) as Attempt;
    const outcome = await outcomeOf(api, attempt.correlationId);
    expect(outcome.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
    expect((await shared.ledgerOf(outcome.audit)).map((entry) => entry.operation)).toEqual([operation]);
    await expectTargetToShow(api, attempt, true);
    await expectRepetitionRefused(api, attempt, outcome.audit);
  },
);

test.each(OPERATIONS)(
  '%s, in transit when killed → error 2, nothing charged, the target is free again',
  async (operation) => {
    const attempt = unheardAttempts.find((each) => each.operation === operation) as Attempt;
    const outcome = await outcomeOf(api, attempt.correlationId);
    expect(outcome.status).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
    expect((await shared.ledgerOf(outcome.audit)).map((entry) => entry.operation)).toEqual(['reversal']);
    await expectTargetToShow(api, attempt, false);
    await expectRepetitionRefused(api, attempt, outcome.audit);
  },
);

test('afterwards → the gateway’s books and the acquirer’s agree', () => expectBooksToAgree(shared));
