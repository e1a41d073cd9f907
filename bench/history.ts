// `npm run bench:history -- --rows 10000000`: lists of transactions over millions: every filter alone, and combinations, the first page
// and the hundredth. Prints how long each takes through HTTP, what its plan reads, and by which index; fails if one takes too long
// or reads the table as a whole. With `--costs ROUNDS`: what each index costs a purchase.
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
import { firstPage } from './first-page.js';
import { indexCosts } from './history-costs.js';
import { fillHistory, indexSizes } from './history-fill.js';

const values = programOptions({
  rows: { type: 'string', default: '10000000' },
  costs: { type: 'string', default: '0' },
  /** How often each page is asked for. */
  times: { type: 'string', default: '5' },
});
const ROWS = Number(values.rows);
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
  for (let time = 0; time < Number(values.times); time += 1) times.push((await page(query)).ms);
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
  if (values.costs !== '0') await indexCosts(direct, 2_000_000, Number(values.costs));
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
