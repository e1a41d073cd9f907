// Processes that others believe dead, and answers that arrive during a reversal: the client's answer stays true.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import type { Answer, Json } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { answered, ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';

/** They run so often that a wrong take-over would show. */
const EAGER = { RESOLVER_INTERVAL_MS: '100' };
const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer], settings: EAGER });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
});
afterAll(() => gateway.close());

const UNREADABLE = { kind: 'unknown', reason: 'unreadable' } as const;

async function lookedUp(audit: number): Promise<Json> {
  return (await gateway.api.lookUp(audit)).body;
}

function auditOf(answer: Answer): number {
  expect(answer.headers.get('location')).toMatch(/^\/v1\/transactions\/[0-9]+$/);
  return Number(answer.headers.get('location')?.split('/').at(-1));
}

/** Longer than any resolver here waits for its next run. */
const SEVERAL_LOOKS_MS = 1_500;

// catches(dead processes: what the living are doing is left to them) slow
test('a live process waits for its acquirer → no other process asks', async () => {
  const answer = acquirer.holdNextAnswer();
  const settings = { ...EAGER, ACQUIRER_DEADLINE_MS: '30000' };
  const patient = await testGateway({ acquirers: [acquirer], settings, shareWith: gateway });
  const answering = patient.api.purchase();
  const reference = await answer.asked;
  // A process that took it over would ask about it at once.
  await gateway.sql(`UPDATE transaction SET created_at = created_at - interval '1 minute'`);
  // After these, one after the other, each resolver has run several times.
  for (let time = 0; time < 3; time += 1) {
    acquirer.nextAnswers(() => UNREADABLE);
    await gateway.api.decided(auditOf(await gateway.api.purchase()));
  }
  expect(acquirer.inquiries).not.toContain(reference);
  answer.answer(answered('00'));
  expect((await answering).body.status.transaction_status_code).toBe('approved');
});

// catches(dead processes: a process does not take its own)
test('a process without recent heartbeats → does not ask about its own transactions', async () => {
  const ours = new ScriptedAcquirer();
  const settings = { ...EAGER, ACQUIRER_DEADLINE_MS: '30000' };
  const alone = await testGateway({ acquirers: [ours], settings });
  await alone.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
  const answer = ours.holdNextAnswer();
  const answering = alone.api.purchase();
  await answer.asked;
  // A process that took it over would ask about it at once.
  await alone.sql(`UPDATE transaction SET created_at = created_at - interval '1 minute'`);
  // Only time shows that it leaves its own transactions alone: there is nothing else to resolve.
  const untilMs = performance.now() + SEVERAL_LOOKS_MS;
  while (performance.now() < untilMs) {
    await alone.sql(`UPDATE process SET seen_at = now() - interval '20 seconds'`);
    await sleep(10);
  }
  expect(ours.inquiries).toEqual([]);
  answer.answer(answered('00'));
  expect((await answering).body.status.transaction_status_code).toBe('approved');
  await alone.close();
});

/** A process that waits for the acquirer, while the others presume it dead. */
async function believedDead(correlationId: string) {
  const answer = acquirer.holdNextAnswer();
  const settings = { ...EAGER, ACQUIRER_DEADLINE_MS: '30000' };
  const patient = await testGateway({ acquirers: [acquirer], settings, shareWith: gateway });
  const answering = patient.api.purchase({ correlationId });
  const reference = await answer.asked;
  const { audit } = (await gateway.api.search(correlationId)).body.results[0];
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  const reversal = acquirer.holdNextReversal();
  // Neither process seems to have sent a heartbeat lately: the next resolver to run takes over.
  await vi.waitUntil(
    async () => {
      await gateway.sql(`UPDATE process SET seen_at = now() - interval '20 seconds'`);
      return acquirer.reversals.includes(reference);
    },
    { timeout: 300_000 },
  );
  return { answer, answering, audit, reversal };
}

const REVERSED = { gateway_status_code: 2, transaction_status_code: 'error' };

// catches(record: only the current attempt decides)
test('approval that comes while a reversal is under way → 504, unknown until the reversal is confirmed, then error with 2', async () => {
  const { answer, answering, audit, reversal } = await believedDead('late-during-reversal');
  answer.answer(answered('00'));
  const late = await answering;
  expect([late.status, late.code, auditOf(late)]).toEqual([504, 'acquirer_timeout', audit]);
  expect((await lookedUp(audit)).status.transaction_status_code).toBe('unknown');
  reversal.answer('reversed');
  expect((await gateway.api.decided(audit)).status).toMatchObject(REVERSED);
});

// catches(dead processes: what they left is handed over) slow
// catches(record: the answer that is given is the one that is stored)
test('approval that comes after the reversal → 201 with the true outcome: error with 2', async () => {
  const { answer, answering, audit, reversal } = await believedDead('late-after-reversal');
  reversal.answer('reversed');
  const decided = await gateway.api.decided(audit);
  expect(decided.status).toMatchObject(REVERSED);
  answer.answer(answered('00'));
  const late = await answering;
  expect([late.status, late.body.audit, late.body.status]).toEqual([201, audit, decided.status]);
  expect(await lookedUp(audit)).toEqual(decided);
});

// catches(doubt: what was decided meanwhile is not taken up again)
test('unreadable answer that comes after the reversal → 502, and nothing is left for the resolver', async () => {
  const { answer, answering, audit, reversal } = await believedDead('unreadable-after-reversal');
  reversal.answer('reversed');
  const decided = await gateway.api.decided(audit);
  answer.answer(UNREADABLE);
  const late = await answering;
  expect([late.status, auditOf(late)]).toEqual([502, audit]);
  expect(await lookedUp(audit)).toEqual(decided);
  expect(await gateway.sql('SELECT FROM transaction WHERE resolve_at IS NOT NULL')).toEqual([]);
});

test('processes believed dead → gateway and acquirer still agree', () =>
  expectBooksToAgree(gateway, async () => acquirer.entries));
