// How long lists over millions of transactions take, by every filter and some combinations. The bench asks for the first page and the
// hundredth, and prints the time through HTTP, what the plan reads, and by which index. A list that takes too long or reads the whole
// table fails. `--costs ROUNDS` measures what each index costs a purchase.
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import type { HistoryQuery } from '../client/src/index.js';
import { filterOf } from '../src/api/operations/history.js';
import { decodeEnd } from '../src/api/pages.js';
import { History } from '../src/payments/finding/history.js';
import { Database } from '../src/postgres/database.js';
import type { MerchantId, OrganisationId } from '../src/values/ids.js';
import { sydneyDate, sydneyTimestamp } from '../src/values/time.js';
import { explaining, nodesOf, type PlanNode } from '../testkit/explained.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';
import { fillHistory, indexSizes } from './measuring/filling.js';
import { firstPage } from './measuring/measured.js';

const BATCH = 64;
const BATCHES = 300;

/** Made again and taken away for each round. Those of amounts and card numbers are not there otherwise: what they would cost. */
const INDEXES: Readonly<Record<string, string>> = {
  transaction_by_time: `(organisation_id, merchant_id, created_at, audit) WHERE created_at > '-infinity'`,
  transaction_by_reference: `(organisation_id, merchant_id, reference text_pattern_ops) WHERE created_at > '-infinity'`,
  transaction_by_amount: `(organisation_id, merchant_id, amount_cents, created_at, audit)`,
  transaction_by_last_four: `(organisation_id, merchant_id, right(card_mask, 4), created_at, audit)`,
};

const CLAIM = `
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, transaction_type, currency, correlation_id,
    reference, acquirer, card_mask, card_type, payment_details_key_version, payment_details_sealed)
  SELECT 2, n, clock_timestamp(), 1 + floor(random() * 50000), 4, 'purchase', 'AUD', gen_random_uuid(),
    CASE WHEN random() < 0.5 THEN 'order-' || n ELSE gen_random_uuid()::text END, 'simulator',
    '411111******' || lpad(floor(random() * 10000)::text, 4, '0'), 'visa', 1, decode(repeat(md5(n::text), 2), 'hex')
  FROM generate_series($1::integer, $2::integer) n`;
const RECORD = `
  UPDATE transaction SET status = 'approved', gateway_status_code = 0, settlement_date = current_date, voidable_until = now(),
    response_code = '00', response_message = 'Approved', authorisation_code = '123456', decided_at = now()
  WHERE organisation_id = 2 AND audit BETWEEN $1 AND $2`;

const values = programOptions({
  rows: 10_000_000,
  costs: 0,
  /** How often each page is asked for. */
  times: 5,
});
const ROWS = values.rows;
const LIMIT_MS = 50;
const PAGE = 100;

const DAY_MS = 86_400_000;
const ago = (days: number) => Date.now() - days * DAY_MS;
/** A business day, as the rows know them. */
function businessDayAgo(days: number): string {
  const at = ago(days);
  const weekday = new Date(`${sydneyDate(at)}T00:00Z`).getUTCDay();
  return weekday === 0 || weekday === 6 ? businessDayAgo(days + 2) : sydneyDate(at);
}

/** The year that is filled, or as much of it as there is. */
const SPAN_DAYS = (ROWS * 3_000) / DAY_MS;
const OLD = SPAN_DAYS * 0.8;
const day = (days: number) => sydneyDate(ago(days));

const ALONE: readonly HistoryQuery[] = [
  {},
  { merchant_id: 1 },
  { merchant_id: 3 },
  { from: day(OLD) },
  { until: day(OLD) },
  { from: sydneyTimestamp(ago(OLD)), until: sydneyTimestamp(ago(OLD - 1)) },
  ...(['approved', 'declined', 'error', 'pending', 'voided', 'unknown'] as const).map((status) => ({
    status,
  })),
  ...(['purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void'] as const).map(
    (transaction_type) => ({ transaction_type }),
  ),
  { payment_method: 'creditcard' },
  { payment_method: 'bankaccount' },
  { card_type: 'visa' },
  { card_type: 'amex' },
  { card_type: 'jcb' },
  { card_type: 'unionpay' },
  { last_four: '1234' },
  { reference: 'order-' },
  { reference: 'order-77' },
  { reference: `order-${Math.floor(ROWS / 3)}` },
  { reference: 'nothing' },
  { amount: 1995 },
  { amount: 999_999 },
  { settlement_date: businessDayAgo(1) },
  { settlement_date: businessDayAgo(OLD) },
  { customer_id: 4711 },
  { token_id: 4711 },
  { target_audit: 1_000_000 + Math.floor(ROWS / 2) },
];

const COMBINED: readonly HistoryQuery[] = [
  { merchant_id: 1, status: 'declined' },
  { merchant_id: 1, last_four: '1234' },
  { merchant_id: 2, status: 'error' },
  { merchant_id: 1, from: day(OLD), status: 'declined', card_type: 'amex' },
  { from: day(OLD + 1), until: day(OLD), last_four: '1234' },
  { from: day(OLD + 1), until: day(OLD), amount: 1995 },
  { last_four: '1234', amount: 1995 },
  { last_four: '1234', card_type: 'mastercard', status: 'approved' },
  { transaction_type: 'refund', status: 'declined' },
  { transaction_type: 'refund', amount: 1995 },
  { transaction_type: 'void', from: day(OLD) },
  { transaction_type: 'purchase', status: 'error', card_type: 'eftpos' },
  { payment_method: 'bankaccount', status: 'pending' },
  { payment_method: 'bankaccount', status: 'declined', until: day(OLD) },
  { payment_method: 'bankaccount', last_four: '1234' },
  { reference: 'order-1', status: 'declined' },
  { reference: `order-${Math.floor(ROWS / 3)}`, transaction_type: 'purchase' },
  { reference: 'order-123', settlement_date: businessDayAgo(OLD) },
  { settlement_date: businessDayAgo(OLD), transaction_type: 'refund' },
  { settlement_date: businessDayAgo(OLD), last_four: '1234' },
  { customer_id: 4711, status: 'declined' },
  { customer_id: 4711, token_id: 9421, transaction_type: 'refund' },
  { token_id: 4711, from: day(OLD) },
  { status: 'unknown', merchant_id: 1, amount: 1 },
  { card_type: 'jcb', status: 'error', amount: 1 },
];

const gateway = await startStandalone();
const direct = new pg.Client({ connectionString: await gateway.databaseUrl() });
const planned = new Database(await gateway.databaseUrl(), { maxConnections: 1 });
const failures: string[] = [];

async function page(query: HistoryQuery) {
  const startedMs = performance.now();
  const { results, next } = await firstPage(gateway.client.history(query));
  return { results, next, ms: performance.now() - startedMs };
}

interface Times {
  readonly median: number;
  readonly fastest: number;
}

async function timesOf(query: HistoryQuery): Promise<Times> {
  const times: number[] = [];
  for (let time = 0; time < values.times; time += 1) times.push((await page(query)).ms);
  return { median: median(times), fastest: Math.min(...times) };
}

const shown = ({ median: middle, fastest }: Times) =>
  `${middle.toFixed(1)} ms (fastest ${fastest.toFixed(1)})`;

/** What the plans of a page read, and by which indexes. */
async function plansOf(query: HistoryQuery, name: string): Promise<{ blocks: number; indexes: string[] }> {
  const plans: PlanNode[] = [];
  const history = new History({ of: () => explaining(planned, plans) });
  const merchants = query.merchant_id === undefined ? [1, 2, 3] : [query.merchant_id];
  await history.page({
    ...filterOf(query as Parameters<typeof filterOf>[0]),
    organisationId: 1 as OrganisationId,
    merchantIds: merchants as MerchantId[],
    limit: PAGE,
    after: decodeEnd(query.after),
    nowMs: Date.now(),
  });
  const nodes = plans.flatMap(nodesOf);
  if (nodes.some((node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === 'transaction'))
    failures.push(`${name} reads the whole table`);
  const blocks = plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0);
  const indexes = nodes
    .flatMap((node) => node['Index Name'] ?? [])
    .filter((name) => name !== 'transaction_pkey');
  return { blocks, indexes: [...new Set(indexes)] };
}

/** The page itself and the hundredth after it, or the last. */
async function measure(query: HistoryQuery): Promise<void> {
  const parameters = Object.entries(query).map((parameter) => parameter.join('='));
  const name = parameters.join(' ') || 'everything';
  let last = query;
  let count = 1;
  let found = 0;
  let slowest = 0;
  for (; ; count += 1) {
    const { results, next, ms } = await page(last);
    found += results.length;
    slowest = Math.max(slowest, ms);
    if (count === 100 || next === undefined) break;
    last = { ...query, after: next };
  }
  const firstTimes = await timesOf(query);
  const lastTimes = await timesOf(last);
  const { blocks, indexes } = await plansOf(query, name);
  const { blocks: lastBlocks } = await plansOf(last, name);
  say(
    `${name}: first page ${shown(firstTimes)}, ${blocks} blocks; page ${count} ${shown(lastTimes)}, ${lastBlocks} blocks; ` +
      `${found} found, slowest once ${slowest.toFixed(0)} ms; ${indexes.join(', ')}`,
  );
  // Of several times, since machines are shared.
  if (Math.max(firstTimes.fastest, lastTimes.fastest) > LIMIT_MS)
    failures.push(`${name} takes longer than ${LIMIT_MS} ms`);
}

try {
  await direct.connect();
  // First purchases, so that the merchant has its data key.
  await load(gateway, { ...PURCHASE, connections: 1, count: 5 });
  if (values.costs > 0) await indexCosts(direct, 2_000_000, values.costs);
  else {
    const startedMs = performance.now();
    const size = await fillHistory(direct, ROWS);
    say(
      `${ROWS} transactions stored in ${Math.round((performance.now() - startedMs) / 1000)} s, ${size} with indexes`,
    );
    for (const { name, size: large } of await indexSizes(direct)) say(`${name} ${large}`);
    for (const query of [...ALONE, ...COMBINED]) await measure(query);
    say(failures.length === 0 ? `every page within ${LIMIT_MS} ms, by an index` : failures.join('\n'));
    if (failures.length > 0) process.exitCode = 1;
  }
} finally {
  await direct.end();
  await planned.close();
  await gateway.stop();
}

interface Cost {
  readonly cpuUs: number;
  readonly logBytes: number;
}

/** Prints the median of the rounds of each. */
async function indexCosts(database: pg.Client, stored: number, rounds: number): Promise<void> {
  let next = 1;
  const store = async (batches: number, size: number) => {
    for (let batch = 0; batch < batches; batch += 1, next += size) {
      await database.query(CLAIM, [next, next + size - 1]);
      await database.query(RECORD, [next, next + size - 1]);
    }
  };
  const measured = async (checkpointed: boolean): Promise<Cost> => {
    if (checkpointed) await database.query('CHECKPOINT');
    const [cpuMs, log] = [await cpuMsOf(database), await logPosition(database)];
    await store(BATCHES, BATCH);
    const each = BATCH * BATCHES;
    return {
      cpuUs: ((await cpuMsOf(database)) - cpuMs) * (1000 / each),
      logBytes: ((await logPosition(database)) - log) / each,
    };
  };
  await database.query('SET synchronous_commit = off');
  for (const name of Object.keys(INDEXES)) await database.query(`DROP INDEX IF EXISTS ${name}`);
  await store(Math.ceil(stored / 10_000), 10_000);
  await database.query('VACUUM (ANALYZE) transaction');
  const costs = new Map<string, { fresh: Cost[]; steady: Cost[] }>();
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, definition] of [['none of them', ''] as const, ...Object.entries(INDEXES)]) {
      if (definition !== '') await database.query(`CREATE INDEX ${name} ON transaction ${definition}`);
      const { fresh, steady } = costs.get(name) ?? { fresh: [], steady: [] };
      fresh.push(await measured(true));
      steady.push(await measured(false));
      costs.set(name, { fresh, steady });
      if (definition !== '') await database.query(`DROP INDEX ${name}`);
    }
    say(`costs, round ${round} of ${rounds} …`);
  }
  for (const [name, { fresh, steady }] of costs) {
    const cpu = median([...fresh, ...steady].map(({ cpuUs }) => cpuUs)).toFixed(1);
    const log = (all: readonly Cost[]) => Math.round(median(all.map(({ logBytes }) => logBytes)));
    say(`${name}: ${cpu} µs, ${log(fresh)} bytes of log after a checkpoint, ${log(steady)} later`);
  }
}

/** Of the session's own process; the first figure is its time on a processor, in nanoseconds. */
async function cpuMsOf(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const schedstat = await readFile(`/proc/${rows[0]?.pid}/schedstat`, 'latin1');
  return Number(schedstat.split(' ')[0]) / 1e6;
}

async function logPosition(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ at: string }>(
    `SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS at`,
  );
  return Number(rows[0]?.at);
}
