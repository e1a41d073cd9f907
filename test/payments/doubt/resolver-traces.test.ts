// Every decision about a transaction in doubt leaves a line in the log and an entry in the journal, and only a decision does.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Json } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { logLines } from '../../../testkit/requests.js';
import { answered, ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';
import { NO_ANSWER, PATIENTLY, UNREADABLE } from '../../../testkit/two-resolvers.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer], settings: { ACQUIRER_DEADLINE_MS: '1000' } });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
});
afterAll(() => gateway.close());

/** The journal entries of a transaction, oldest first. */
const entriesAbout = (audit: number) =>
  gateway.sql(`SELECT merchant_id, actor, action, detail FROM journal WHERE audit = $1 ORDER BY id`, [audit]);

const linesAbout = (audit: number): Json[] =>
  logLines(gateway).filter((line) => line.audit === audit && String(line.msg).includes('in doubt'));

async function inDoubt(pay: () => ReturnType<TestGateway['api']['purchase']>): Promise<number> {
  acquirer.nextAnswers(() => UNREADABLE);
  const { status, headers } = await pay();
  expect(status).toBe(502);
  return Number(headers.get('location')?.split('/').at(-1));
}

const JOURNALLED = { merchant_id: 1, actor: 'gateway:resolver' };
const RESOLVED = {
  level: 40,
  msg: 'transaction in doubt resolved',
  organisation: 1,
  merchant: 1,
  link: 'scripted',
};

test.each([
  ['00', 'approved'],
  ['51', 'declined'],
  ['96', 'error'],
])(
  'purchase in doubt, found with code %s → log and journal have %s, how it was found and after how long',
  async (code, found) => {
    acquirer.nextFindings(
      () => NO_ANSWER,
      () => answered(code),
    );
    const audit = await inDoubt(() => gateway.api.purchase());
    await gateway.api.decided(audit);
    await vi.waitUntil(() => linesAbout(audit).length > 0, PATIENTLY);
    expect(linesAbout(audit)).toMatchObject([
      { ...RESOLVED, found, by: 'inquiry', attempt: 2, seconds: expect.any(Number) },
    ]);
    const detail = expect.stringMatching(
      new RegExp(`^${found} by inquiry at scripted, attempt 2, after [0-9.]+ s$`),
    );
    expect(await entriesAbout(audit)).toEqual([{ ...JOURNALLED, action: 'transaction.resolved', detail }]);
  },
);

test('refund in doubt that the acquirer never saw → the start and the result of the reversal each have a log line and a journal entry', async () => {
  const { audit: target } = (await gateway.api.purchase({ amount: 100 })).body;
  acquirer.nextFindings(() => ({ kind: 'not_seen' }));
  acquirer.nextReversals(() => 'no_answer');
  const audit = await inDoubt(() => gateway.api.refund(target, 60));
  expect((await gateway.api.decided(audit)).status.gateway_status_code).toBe(2);
  await vi.waitUntil(() => linesAbout(audit).length === 2, PATIENTLY);
  expect(linesAbout(audit)).toMatchObject([
    { level: 40, msg: 'transaction in doubt: reversal begun', by: 'inquiry', attempt: 1 },
    { ...RESOLVED, found: 'reversed', by: 'reversal', attempt: 2 },
  ]);
  expect(await entriesAbout(audit)).toMatchObject([
    { ...JOURNALLED, action: 'transaction.reversal_begun' },
    {
      ...JOURNALLED,
      action: 'transaction.resolved',
      detail: expect.stringContaining('reversed by reversal'),
    },
  ]);
  expect(await entriesAbout(target)).toEqual([]);
});

test('no answer to an inquiry → no entry, and one warning per round that names the link and how many wait', async () => {
  acquirer.nextFindings(
    () => NO_ANSWER,
    () => NO_ANSWER,
    () => answered('00'),
  );
  const audit = await inDoubt(() => gateway.api.purchase());
  await gateway.api.decided(audit);
  expect(logLines(gateway)).toContainEqual(
    expect.objectContaining({
      level: 40,
      msg: 'transactions in doubt: no answer from the acquirer, asked again later',
      link: 'scripted',
      transactions: 1,
    }),
  );
  expect(await entriesAbout(audit)).toHaveLength(1);
});

test('a purchase that was never in doubt → no line and no entry', async () => {
  const { audit } = (await gateway.api.purchase()).body;
  expect(await entriesAbout(audit)).toEqual([]);
  expect(linesAbout(audit)).toEqual([]);
});

// Last, because it leaves findings behind.
test('a late answer that decides → a line and an entry of its own', async () => {
  acquirer.nextFindings(...Array.from({ length: 50 }, () => () => NO_ANSWER));
  const held = acquirer.holdNextAnswer();
  const { status, headers } = await gateway.api.purchase();
  expect(status).toBe(504);
  const audit = Number(headers.get('location')?.split('/').at(-1));
  held.answer(answered('00'));
  await gateway.api.decided(audit);
  await vi.waitUntil(() => linesAbout(audit).length > 0, PATIENTLY);
  expect(linesAbout(audit)).toMatchObject([{ ...RESOLVED, found: 'approved', by: 'late answer' }]);
  expect(await entriesAbout(audit)).toMatchObject([{ ...JOURNALLED, action: 'transaction.resolved' }]);
});
