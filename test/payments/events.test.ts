// Events: each change of a status writes one, in the same statement.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EVERY_EVENT, WRONG_EVENTS } from '../../testkit/books.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { answered, ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer] });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 1`);
});
afterAll(() => gateway.close());

/** The events of a transaction, by version. */
async function told(audit: number, { sql } = gateway): Promise<string[]> {
  const rows = await sql<{ version: number; type: string; merchant: number }>(
    `SELECT version, type, merchant_id AS merchant FROM ${EVERY_EVENT} WHERE organisation_id = 1 AND subject = $1 ORDER BY version`,
    [audit],
  );
  expect(rows.map(({ version, merchant }) => [version, merchant])).toEqual(rows.map((_, at) => [at + 1, 1]));
  return rows.map(({ type }) => type);
}

async function purchased(): Promise<number> {
  return (await gateway.api.purchase({ amount: 100 })).body.audit;
}

async function inDoubt(): Promise<number> {
  acquirer.nextAnswers(() => ({ kind: 'unknown', reason: 'unreadable' }));
  const answer = await gateway.api.purchase({ amount: 100 });
  expect(answer.status).toBe(502);
  return Number(answer.headers.get('location')?.split('/').at(-1));
}

test.each([
  ['00', 'transaction.approved'],
  ['05', 'transaction.declined'],
  ['96', 'transaction.error'],
])('purchase answered with %s → one event, %s', async (code, type) => {
  acquirer.nextAnswers(() => answered(code));
  expect(await told(await purchased())).toEqual([type]);
});

test('purchase in doubt that the acquirer approved → unknown, and approved once the resolver has asked', async () => {
  acquirer.nextFindings(() => answered('00'));
  const audit = await inDoubt();
  await vi.waitFor(
    async () => expect(await told(audit)).toEqual(['transaction.unknown', 'transaction.approved']),
    { timeout: 300_000 },
  );
});

test('purchase in doubt that is reversed → unknown, and error once the reversal is confirmed', async () => {
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  const audit = await inDoubt();
  await vi.waitFor(
    async () => expect(await told(audit)).toEqual(['transaction.unknown', 'transaction.error']),
    { timeout: 300_000 },
  );
});

test('purchase that is voided → the void is approved and the purchase voided, in one commit', async () => {
  const audit = await purchased();
  const undone = (await gateway.api.void(audit)).body.audit;
  expect(await told(audit)).toEqual(['transaction.approved', 'transaction.voided']);
  expect(await told(undone)).toEqual(['transaction.approved']);
  const commits = await gateway.sql(
    // No other database transaction began at the same time.
    `SELECT count(DISTINCT created_at)::integer AS commits FROM ${EVERY_EVENT} WHERE (subject, version) IN (($1, 2), ($2, 1))`,
    [audit, undone],
  );
  expect(commits).toEqual([{ commits: 1 }]);
});

test('declined void → no event about its target', async () => {
  const audit = await purchased();
  acquirer.nextAnswers(() => answered('05'));
  const undone = (await gateway.api.void(audit)).body.audit;
  expect([await told(audit), await told(undone)]).toEqual([
    ['transaction.approved'],
    ['transaction.declined'],
  ]);
});

test('voided refund → the refund is voided, and there is no event about the purchase', async () => {
  const audit = await purchased();
  const refund = (await gateway.api.refund(audit, 40)).body.audit;
  await gateway.api.void(refund);
  expect([await told(audit), await told(refund)]).toEqual([
    ['transaction.approved'],
    ['transaction.approved', 'transaction.voided'],
  ]);
});

test('direct debits over several days → pending, then approved when they clear, or returned', async () => {
  const own = await testGateway();
  const clears = (await own.api.purchase({ bankAccount: {} })).body.audit;
  const returns = (await own.api.purchase({ bankAccount: { account_number: '900003' } })).body.audit;
  expect(await told(clears, own)).toEqual(['transaction.pending']);
  await own.advance('12d');
  expect([await told(clears, own), await told(returns, own)]).toEqual([
    ['transaction.pending', 'transaction.approved'],
    ['transaction.pending', 'directdebit.returned'],
  ]);
  await expectBooksToAgree(own);
});

test('every decided transaction → its events are numbered from 1, and the newest has its status', async () => {
  await Promise.all(Array.from({ length: 30 }, purchased));
  expect(await gateway.sql(WRONG_EVENTS)).toEqual([]);
  expect(
    await gateway.sql(`SELECT audit FROM transaction WHERE status <> 'unknown' AND version = 0`),
  ).toEqual([]);
});

test('event of a gateway whose clock is ahead → has the gateway’s time, and the slot of the real day', async () => {
  const own = await testGateway();
  await own.advance('40d');
  const { audit } = (await own.api.purchase()).body;
  // It has a position by then, and so a slot.
  expect((await own.api.get('/events')).status).toBe(200);
  const rows = await own.sql(
    `SELECT e.created_at = t.decided_at AS "sameTime", e.created_at > now() + interval '39 days' AS ahead,
       slot = floor(extract(epoch FROM now()) / 86400)::bigint % 64 AS today
     FROM event_feed e JOIN transaction t ON t.audit = e.subject WHERE e.subject = $1`,
    [audit],
  );
  expect(rows).toEqual([{ sameTime: true, ahead: true, today: true }]);
});
