// The demo's history: generated days that every part of the gateway agrees about.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { dataDirectory, eventually, startGatewayProcess } from '../../testkit/gateway-process.js';
import { copyPreparedCluster } from '../../testkit/prepared-cluster.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const asDemo = (demo: string) => (line: string) =>
  runHere(wordsOf(line), {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    TOLLGATE_DEMO: demo,
  });
const { json, text, refusal } = commands(asDemo('true'));

/** By status and type, of Harbour Group. */
const OURS = `organisation_id = (SELECT organisation_id FROM gateway_user WHERE username = 'harbour')`;

async function one<Value>(sql: string): Promise<Value> {
  const [row] = await gateway.sql<{ value: Value }>(`SELECT (SELECT ${sql}) AS value`);
  return row?.value as Value;
}

const closedDays = () =>
  gateway.sql(
    `SELECT settlement_date::text, count(*)::integer, sum(amount_cents)::integer FROM settlement_entry
     WHERE settlement_date <= (SELECT closed_day FROM gateway) GROUP BY 1 ORDER BY 1`,
  );

test('demo fill where there is no demo, or the settings turn it off → refused, and nothing is stored', async () => {
  const said = /^this is no demo: /;
  expect(await refusal('demo fill --days 3')).toMatch(said);
  expect(await commands(asDemo('false')).refusal('demo fill --days 3')).toMatch(said);
  expect(await refusal('demo fill --days 121')).toMatch(/from 1 to 120/);
  expect(await one('count(*)::integer FROM organisation')).toBe(2);
  const { id: organisation } = await json('organisation add Demo');
  const { id } = await json(`merchant add Demo --organisation ${organisation}`);
  await json(`user add demo --merchant ${id}`);
});

test('demo fill --days 6 → transactions of every kind; transactions, ledger, events, settlement and figures agree', async () => {
  const filled = await json('demo fill --days 6');
  expect(filled).toMatchObject({ in_doubt: 2, customers: 90 });
  expect(filled.transactions).toBeGreaterThan(700);
  expect(await one(`count(*)::integer FROM transaction WHERE ${OURS}`)).toBe(filled.transactions);
  const kinds = await gateway.sql<{ kind: string }>(
    `SELECT DISTINCT transaction_type || ' ' || status AS kind FROM transaction WHERE ${OURS}`,
  );
  expect(kinds.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining([
      'purchase approved',
      'purchase declined',
      'purchase voided',
      'purchase pending',
      'purchase unknown',
      'preauthorisation approved',
      'completion approved',
      'refund approved',
      'void approved',
    ]),
  );
  expect(
    await one(
      `count(DISTINCT response_code)::integer FROM transaction WHERE ${OURS} AND status = 'declined'`,
    ),
  ).toBeGreaterThan(3);
  // The acquirer knows one of them, and never saw the other.
  for (const { audit, organisation } of await json('transaction in-doubt'))
    await text(`transaction ask ${audit} --organisation ${organisation}`);
  await expectBooksToAgree(gateway);
  const net = `coalesce(sum(CASE WHEN transaction_type IN ('refund', 'standalone_refund') THEN -amount_cents ELSE amount_cents END), 0)::integer
    FROM transaction WHERE status = 'approved' AND transaction_type NOT IN ('preauthorisation', 'void')`;
  expect(await one('sum(amount_cents)::integer FROM settlement_entry')).toBe(await one(net));
  const byHour = `string_agg(line, E'\\n' ORDER BY line) FROM (SELECT concat_ws(' ', date_bin('1 hour', created_at, 'epoch'), transaction_type, status,
    count(*), sum(amount_cents)) AS line FROM transaction GROUP BY date_bin('1 hour', created_at, 'epoch'), transaction_type, status) t`;
  const figures = `string_agg(line, E'\\n' ORDER BY line) FROM (SELECT concat_ws(' ', hour, transaction_type, status, sum(count), sum(cents)) AS line
    FROM figures_by_hour WHERE organisation_id = 0 GROUP BY hour, transaction_type, status HAVING sum(count) <> 0) f`;
  // They are counted in the background, a moment later.
  await vi.waitFor(async () => expect(await one(figures)).toBe(await one(byHour)), { timeout: 300_000 });
});

test('the filled history → is like any other: cards open, tokens are journalled, a payment can be refunded', async () => {
  expect(await json('keys verify')).toMatchObject({ problems: [] });
  expect(await json('journal verify')).toMatchObject({ problems: [] });
  const { password } = await json('user rotate harbour');
  const harbour = gateway.as({ username: 'harbour', password });
  const [paid] = await gateway.sql<{ audit: number; merchant_id: number; amount_cents: string }>(
    `SELECT audit, merchant_id, amount_cents FROM transaction
     WHERE ${OURS} AND transaction_type = 'purchase' AND status = 'approved' AND refunded_cents = 0 AND token_id IS NOT NULL
       AND bank_account IS NULL LIMIT 1`,
  );
  const refund = await harbour.post(`/transactions/${paid?.audit}/refund`, {
    merchant: { id: paid?.merchant_id },
    transaction: {
      reference: 'back',
      amount_details: { total_amount: String(paid?.amount_cents), currency: 'AUD' },
    },
  });
  expect(refund.body.status.transaction_status_code).toBe('approved');
});

test('demo fill again, and for more days → settled days stay unchanged, and only days without trade are filled', async () => {
  const before = await closedDays();
  const days = before.map(({ settlement_date }) => settlement_date);
  expect(days.length).toBeGreaterThan(0);
  // A day may close meanwhile.
  const asBefore = async () =>
    (await closedDays()).filter(({ settlement_date }) => days.includes(settlement_date));
  await json('demo fill --days 6');
  expect(await asBefore()).toEqual(before);
  expect(await json('demo fill --days 20')).toMatchObject({ customers: 0 });
  expect((await closedDays()).length).toBeGreaterThan(days.length + 2);
  expect(await asBefore()).toEqual(before);
  await expect(one(`count(*)::integer FROM journal WHERE action = 'demo.filled'`)).resolves.toBeGreaterThan(
    1,
  );
});

test('demo fill beside a live merchant → refused', async () => {
  await json('merchant add Real --organisation 1 --live');
  expect(await refusal('demo fill')).toBe(
    'there is a live merchant here: made-up trade must not mix with real payments',
  );
});

test('npm start, with a login of its own for each kind of work → the gym has its schedules, and nothing is refused', async () => {
  const dataDir = await dataDirectory();
  await copyPreparedCluster(dataDir);
  const settings = { TOLLGATE_DATA_DIR: dataDir, TOLLGATE_DEMO: 'true', TOLLGATE_DEMO_DAYS: '1' };
  const started = await startGatewayProcess(settings);
  await eventually(async () => /"msg":"demo (not )?filled/.test(started.output()) || undefined);
  expect(started.output()).toContain('"msg":"demo filled with made-up trade"');
  const own = commands((line) => runHere(wordsOf(line), settings));
  const merchants = (await own.json('merchant list')) as { id: number; name: string }[];
  const gym = merchants.find(({ name }) => /Gym/.test(name));
  const schedules = (await own.json(`schedule list --merchant ${gym?.id}`)) as { status: string }[];
  expect(schedules).toHaveLength(3);
  expect(schedules.filter(({ status }) => status === 'paused')).toHaveLength(1);
  expect((await started.stop()).code).toBe(0);
});
