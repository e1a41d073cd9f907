// `tollgate figures`: the console's figures, checked against the transactions and rebuilt.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
  const { api } = gateway;
  const { audit } = (await api.purchase({ amount: 1_000 })).body;
  await api.refund(audit, 300);
  await api.purchase({ pan: DECLINED_CARD });
  await api.void((await api.purchase({ amount: 50 })).body.audit);
  await api.purchase({ bankAccount: {} });
  await gateway.as(gateway.stranger).purchase({ merchant: 4 });
  // Waits for all background work.
  await vi.waitFor(
    async () =>
      expect(await gateway.sql('SELECT count(*)::integer AS events FROM event_feed')).toEqual([
        { events: 8 },
      ]),
    { timeout: 300_000 },
  );
  // Whole hours are checked: the trade of this one becomes that of an earlier one.
  await gateway.sql(`UPDATE transaction SET created_at = created_at - interval '3 hours'`);
});
afterAll(() => gateway.close());

const tollgate = (line: string) =>
  runHere(wordsOf(line), { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });
const { json, text } = commands(tollgate);

const total = async () =>
  gateway.sql('SELECT sum(count)::integer AS count, sum(cents)::integer AS cents FROM figures_by_hour');

test('figures rebuild → every event that is kept is counted once, and figures check agrees; again → the same', async () => {
  const { events } = await json('figures rebuild');
  expect(events).toBe(8);
  expect(await text('figures check')).toBe(
    'The figures of the last 2 days are what the transactions come to.',
  );
  const before = await total();
  expect(before).toEqual([{ count: 14, cents: expect.any(Number) }]);
  expect(await json('figures rebuild')).toEqual({ events });
  expect(await total()).toEqual(before);
  expect(await json('journal --action figures.rebuilt')).toHaveLength(2);
});

test('a changed figure → figures check names it and ends with 1; rebuilt → it is right', async () => {
  await gateway.sql(
    `UPDATE figures_by_hour SET count = count + 5 WHERE organisation_id = 1 AND transaction_type = 'refund'`,
  );
  await gateway.sql(`DELETE FROM figures_by_hour WHERE organisation_id = 1 AND status = 'declined'`);
  const { code, stdout } = await tollgate('figures check --json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout).wrong).toMatchObject([
    { organisation: 1, transaction_type: 'purchase', status: 'declined', counted: 0, stored: 1 },
    { organisation: 1, transaction_type: 'refund', status: 'approved', counted: 6, stored: 1 },
  ]);
  await json('figures rebuild');
  expect((await json('figures check --days 1')).wrong).toEqual([]);
});
