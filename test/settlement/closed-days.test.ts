// A closed settlement day does not change any more, whatever comes late, whoever is slow, and whatever the clocks say.
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { resetClock } from '../../src/clock/clock-tasks.js';
import { Database } from '../../src/postgres/database.js';
import { settlementCalendar } from '../../src/values/time.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { answered, ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import {
  gatewayNow,
  inShort,
  openDay,
  passClose,
  settlementOf,
  untilClosed,
} from '../../testkit/settlement-days.js';
import { NO_ANSWER, UNREADABLE } from '../../testkit/two-resolvers.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    acquirers: [acquirer],
    settings: {
      ACQUIRER_DEADLINE_MS: '30000',
      RESOLVER_FIRST_PAUSE_MS: '1000000',
      RESOLVER_LONGEST_PAUSE_MS: '1000000',
    },
  });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
});
afterAll(() => gateway.close());

/** Past the close of the open day, and what the day came to. */
async function closed(): Promise<{ day: string; report: unknown }> {
  const day = await passClose(gateway);
  await untilClosed(gateway, day);
  const report = await settlementOf(gateway.api, day);
  expect(report.closed).toBe(true);
  return { day, report };
}

test('in doubt at the close, then found approved → settles on the day that is open by then', async () => {
  await gateway.api.purchase({ amount: 100 });
  acquirer.nextAnswers(() => UNREADABLE);
  acquirer.nextFindings(() => NO_ANSWER);
  const doubtful = await gateway.api.purchase({ amount: 700 });
  expect(doubtful.status).toBe(502);
  const audit = Number(doubtful.headers.get('location')?.split('/').at(-1));
  await vi.waitUntil(
    async () =>
      (await gateway.sql(`SELECT 1 FROM transaction WHERE audit = $1 AND resolve_attempts = 1`, [audit]))
        .length > 0,
    { timeout: 300_000 },
  );
  const { day, report } = await closed();
  acquirer.nextFindings(() => answered('00'));
  await gateway.sql(`UPDATE transaction SET resolve_at = now() WHERE status = 'unknown'`);
  const { status } = await gateway.api.decided(audit);
  const today = await openDay(gateway);
  expect(status.acquirer.settlement_date).toBe(today);
  expect(inShort(await settlementOf(gateway.api, today))).toContain('visa purchase 1 700');
  expect(await settlementOf(gateway.api, day)).toEqual(report);
});

test('void requested in time and answered after the close → taken from the next day, and the closed day keeps the purchase', async () => {
  const { audit } = (await gateway.api.purchase({ amount: 900 })).body;
  const held = acquirer.holdNextAnswer();
  const voiding = gateway.api.void(audit);
  await held.asked;
  const { day, report } = await closed();
  held.answer(answered('00'));
  const { body } = await voiding;
  const today = await openDay(gateway);
  expect(body.status).toMatchObject({
    transaction_status_code: 'approved',
    acquirer: { settlement_date: today },
  });
  expect((await gateway.api.lookUp(audit)).body.status.transaction_status_code).toBe('voided');
  expect(await settlementOf(gateway.api, day)).toEqual(report);
  expect(inShort(await settlementOf(gateway.api, today))).toContain('visa void 1 -900');
});

// catches(settlement: the client is told the day that is stored)
// catches(settlement: nothing is dated on a closed day, whatever the answer says)
test('approved with a closed day, as from an acquirer or a slow clock → the open day, in the response, the look-up and the report', async () => {
  const { day, report } = await closed();
  const today = await openDay(gateway);
  acquirer.nextAnswers(() => ({ ...answered('00'), settlementDate: day }));
  const { audit, status, kvps } = (await gateway.api.purchase({ amount: 1_300 })).body;
  expect(status.acquirer.settlement_date).toBe(today);
  const lookedUp = (await gateway.api.lookUp(audit)).body;
  expect(lookedUp.status.acquirer.settlement_date).toBe(today);
  const until = lookedUp.kvps['GATEWAY.RESPONSE.KVP.VOIDABLE_UNTIL'];
  expect(until).toMatch(new RegExp(`^${today}T18:00`));
  expect(kvps).toBeDefined();
  expect(inShort(await settlementOf(gateway.api, today))).toContain('visa purchase 1 1300');
  expect(await settlementOf(gateway.api, day)).toEqual(report);
});

// catches(settlement: a day is not closed while a commit is under way)
test('a commit delayed past the close → the day closes only after it, and includes it', async () => {
  const day = await openDay(gateway);
  const slow = new pg.Client({ connectionString: gateway.databaseUrl });
  slow.on('error', () => {});
  await slow.connect();
  await slow.query('BEGIN');
  const calendar = settlementCalendar(await gatewayNow(gateway));
  const { rows } = await slow.query('SELECT open_settlement_day($1, $2)::text AS day', [...calendar]);
  expect(rows).toEqual([{ day }]);
  await passClose(gateway);
  // Others go on meanwhile, on the next day.
  const meanwhile = await gateway.api.purchase({ amount: 1_700 });
  expect(meanwhile.body.status.acquirer.settlement_date > day).toBe(true);
  expect((await settlementOf(gateway.api, day)).closed).toBe(false);
  await slow.query(
    `INSERT INTO settlement_entry (organisation_id, merchant_id, audit, amount_cents, settlement_date, transaction_type,
       payment_method, card_type, currency, acquirer)
     VALUES (1, 1, 2000000000, 4242, $1, 'purchase', 'creditcard', 'jcb', 'AUD', 'scripted')`,
    [day],
  );
  expect((await settlementOf(gateway.api, day)).closed).toBe(false);
  await slow.query('COMMIT');
  await slow.end();
  await untilClosed(gateway, day);
  const report = await settlementOf(gateway.api, day);
  expect(report.closed).toBe(true);
  expect(inShort(report)).toContain('jcb purchase 1 4242');
});

// catches(settlement: entries are only ever appended to)
test('an entry → cannot be changed or removed', async () => {
  for (const statement of [
    'UPDATE settlement_entry SET amount_cents = 1',
    'DELETE FROM settlement_entry',
    'TRUNCATE settlement_entry',
  ]) {
    await expect(gateway.sql(statement)).rejects.toThrow('settlement entries are only ever appended to');
  }
});

test('a clock that goes back, with nothing dated ahead → days closed only by that clock are open again', async () => {
  const own = await testGateway();
  const database = new Database(own.databaseUrl, { maxConnections: 1 });
  const today = await openDay(own);
  await passClose(own);
  await untilClosed(own, today);
  await resetClock(database, 'operator:test');
  await database.close();
  const { status } = (await own.api.purchase({ amount: 100 })).body;
  expect(status.acquirer.settlement_date).toBe(today);
  const report = await settlementOf(own.api, today);
  expect([report.closed, inShort(report)]).toEqual([false, ['visa purchase 1 100']]);
});
