// Every settlement day equals the transactions and the acquirer's ledger, and reconciliation finds every planted difference. Random
// trade at two gateways on one database runs over several days, also while they close. A closed day must never change, and
// reconciliation must report nothing else.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settlement } from '../../client/src/index.js';
import { advanceClock } from '../../src/clock/clock-tasks.js';
import { Database } from '../../src/postgres/database.js';
import type { Reconciliation } from '../../src/settlement/reconciliation.js';
import { reconcileSettlement } from '../../src/settlement/settlement-tasks.js';
import { settlementCutOff, settlementDay } from '../../src/values/time.js';
import { positionsOfLedger } from '../../testkit/books.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { clientOfSeveral } from '../../testkit/several-gateways.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import {
  netOf,
  type Settled,
  settledOf,
  TRADED_TRANSACTIONS,
  type TradedTransaction,
} from '../arena/settlement-books.js';
import { verdict } from '../arena/verdict.js';
import { SettlementTrade } from './trade.js';

const values = programOptions({
  days: 10,
  /** How long each day is traded before its close comes near. */
  seconds: 5,
  /** How long it is traded before the close, and as long after it. */
  around: 2.5,
  /** How many trade at once. */
  lanes: 6,
  seed: newSeed(),
});
const { seed } = values;
const chance = new Chance(seed);
const DAYS = values.days;
const LANES = values.lanes;
const AROUND_CLOSE_MS = values.around * 1_000;
/** Until every direct debit is cleared or returned. */
const QUIET_DAYS = 5;
say(`settlement: seed ${seed}`);

const installation = await Installation.open({
  PROCESS_TIMEOUT_MS: '600000',
  ACQUIRER_DEADLINE_MS: '300',
  RESOLVER_INTERVAL_MS: '50',
  RESOLVER_FIRST_PAUSE_MS: '200',
});
// What is bought first belongs to a day that is looked at: the clock is not moved beyond its close.
const first = await installation.firstGateway({ isInRealTime: true });
const gateways = [first, await installation.startedGateway()];
const database = new Database(installation.database.url, { maxConnections: 1 });
const internal: string[] = [];
const client = clientOfSeveral({
  gateways,
  random: chance,
  ...installation.credentials,
  firstPauseMs: 20,
  longestPauseMs: 200,
  observe: (observed) => {
    if (observed.kind === 'answer' && observed.status === 500) internal.push(observed.path);
  },
});
const trade = new SettlementTrade(chance, client);
const startedMs = performance.now();

async function gatewayNow(): Promise<number> {
  const [row] = await installation.sql<{ ahead: number }>('SELECT advanced_ms::float8 AS ahead FROM gateway');
  return Date.now() + (row?.ahead ?? 0);
}

async function moveTo(instantMs: number): Promise<void> {
  const aheadMs = Math.round(instantMs - (await gatewayNow()));
  if (aheadMs > 0) await advanceClock(database, 'operator:proof', aheadMs);
}

/** By day: what it came to when it was first seen closed. */
const closedDays = new Map<string, string>();
const changed: string[] = [];

async function closedReport(day: string): Promise<void> {
  for (;;) {
    const report = await client.settlement(day);
    if (!report.closed) {
      await sleep(50);
      continue;
    }
    const text = JSON.stringify(report);
    const before = closedDays.get(day) ?? text;
    if (before !== text) changed.push(`${day} was ${before}, and is ${text}`);
    closedDays.set(day, before);
    return;
  }
}

for (let day = 0; day < DAYS; day += 1) {
  const open = settlementDay(await gatewayNow());
  const untilMs = performance.now() + values.seconds * 1000;
  await trade.go(LANES, () => performance.now() > untilMs);
  await moveTo(settlementCutOff(open) - AROUND_CLOSE_MS);
  const overMs = performance.now() + 2 * AROUND_CLOSE_MS;
  // Looked at while the trade goes on: a day that says that it is closed must mean it.
  await Promise.all([trade.go(LANES, () => performance.now() > overMs), closedReport(open)]);
  for (const earlier of closedDays.keys()) await closedReport(earlier);
}
for (let day = 0; day < QUIET_DAYS; day += 1) {
  const open = settlementDay(await gatewayNow());
  await moveTo(settlementCutOff(open) + 1_000);
  await closedReport(open);
}
const undecided = (await installation.decidedTransactions(30_000)).filter(
  ({ status }) => status === 'unknown',
);
// What was decided last belongs to a day that has still to close.
const last = settlementDay(await gatewayNow());
await moveTo(settlementCutOff(last) + 1_000);
await closedReport(last);
for (const day of closedDays.keys()) await closedReport(day);

const rows = await installation.sql<TradedTransaction>(TRADED_TRANSACTIONS);
const entries = await installation.ledger();
const settled = settledOf(rows, entries);
const days = [...closedDays.keys()];

/** The sums of every day, against those of the transactions and the ledger. */
const wrongSums = days.flatMap((day) => {
  const expected = netOf(settled.filter((one) => one.day === day));
  const report: Settlement = JSON.parse(closedDays.get(day) as string);
  const said = new Map<string, number>(
    report.net.map((net) => [`${net.merchant.id} ${net.currency}`, Number(net.total_amount)]),
  );
  const lines = report.lines.reduce((sum, { total_amount }) => sum + Number(total_amount), 0);
  const nets = [...said.values()].reduce((sum, cents) => sum + cents, 0);
  return [
    ...[...new Set([...expected.keys(), ...said.keys()])]
      .filter((key) => (expected.get(key) ?? 0) !== (said.get(key) ?? 0))
      .map((key) => `${day}, ${key}: ${said.get(key)} cents, expected ${expected.get(key)}`),
    ...(lines === nets ? [] : [`${day}: the lines come to ${lines}, the net says ${nets}`]),
  ];
});
const elsewhere = settled
  .filter(({ day }) => !closedDays.has(day))
  .map(({ reference, day }) => `${reference} on ${day}`);

/** All days together, against what the acquirer has charged in the end. */
const chargedCents = [...positionsOfLedger(entries).values()]
  .filter((position) => position.endsWith(' charged'))
  .reduce((sum, position) => sum + Number.parseInt(position, 10), 0);
const settledCents = days
  .flatMap((day) => (JSON.parse(closedDays.get(day) as string) as Settlement).net)
  .reduce((sum, { total_amount }) => sum + Number(total_amount), 0);

const folder = temporaryFolder('settlement');
const found = await reconciliations();
await database.close();

/** Each day of each acquirer twice: as the ledger has it, and with differences planted. */
async function reconciliations(): Promise<{ wrong: string[]; planted: number }> {
  const wrong: string[] = [];
  let planted = 0;
  for (const date of days) {
    for (const acquirer of ['simulator', 'simulated-bank']) {
      const own = settled.filter((one) => one.day === date && one.acquirer === acquirer);
      const clean = await reconciled(own.map(lineOf), acquirer, date);
      if (clean.matched !== own.length || openOf(clean) !== '0 0 0 0')
        wrong.push(
          `${date} ${acquirer}, clean: ${clean.matched} of ${own.length} match, open ${openOf(clean)}`,
        );
      const plan = plant(own);
      planted += plan.count;
      const result = await reconciled(plan.lines, acquirer, date);
      if (openOf(result) !== plan.open)
        wrong.push(
          `${date} ${acquirer}: open ${openOf(result)}, planted ${plan.open}: ${JSON.stringify(result.listed)}`,
        );
    }
  }
  return { wrong, planted };
}

function lineOf({ reference, type, cents, currency }: Settled): string {
  return [reference, type, Math.abs(cents), currency].join();
}

async function reconciled(lines: readonly string[], acquirer: string, date: string): Promise<Reconciliation> {
  const path = join(folder, 'file.csv');
  const text = chance.shuffled(lines).join('\n');
  await writeFile(path, `reference,transaction_type,amount_cents,currency\n${text}\n`);
  return reconcileSettlement(database, { path, acquirer, date });
}

function openOf({ missingHere, missingThere, different, wrong }: Reconciliation): string {
  return [missingHere, missingThere, different, wrong].join(' ');
}

/** Lines with differences in them, and how many of each kind. What is voided on its own day, and its void, are left alone. */
function plant(own: readonly Settled[]): { lines: string[]; open: string; count: number } {
  const voidedReferences = new Set(
    rows
      .filter(({ type, status }) => type === 'void' && status === 'approved')
      .flatMap(({ reference, targetReference }) => [reference, targetReference]),
  );
  const counts = { missingHere: 0, missingThere: 0, different: 0, wrong: 0 };
  const lines = own.flatMap((one) => {
    const line = lineOf(one);
    if (voidedReferences.has(one.reference)) return [line];
    switch (chance.below(12)) {
      case 0:
        counts.missingThere += 1;
        return [];
      case 1:
        counts.different += 1;
        return [lineOf({ ...one, cents: Math.abs(one.cents) + 1 })];
      case 2:
        counts.different += 1;
        return [lineOf({ ...one, currency: one.currency === 'AUD' ? 'NZD' : 'AUD' })];
      case 3:
        counts.wrong += 1;
        return [line, line];
      case 4:
        counts.wrong += 1;
        counts.missingThere += 1;
        return [line.replace(/,[^,]*$/, '')];
      case 5:
        counts.missingHere += 1;
        return [line, `${one.reference}99999,purchase,1,AUD`];
      default:
        return [line];
    }
  });
  const { missingHere, missingThere, different, wrong } = counts;
  return {
    lines,
    open: [missingHere, missingThere, different, wrong].join(' '),
    count: missingHere + missingThere + different + wrong,
  };
}

await installation.close();
process.exitCode = verdict(
  {
    'a closed day does not change': changed,
    'every day comes to what transactions and ledger say': wrongSums,
    'everything settles on a day that was looked at': elsewhere,
    'all days come to what the acquirer charged':
      chargedCents === settledCents ? [] : [`settled ${settledCents}, charged ${chargedCents}`],
    'nothing is answered 500': internal,
    'every doubt is resolved': undecided.map(({ audit }) => `audit ${audit} is still unknown`),
    'reconciliation finds what was planted, and nothing else': found.wrong,
  },
  `settlement: seed ${seed}, ${days.length} days in ${((performance.now() - startedMs) / 1000).toFixed(0)} s, ${trade.sent} requests, ` +
    `${trade.doubtful} answered in doubt, ${settled.length} entries expected, ${settledCents} cents in all, ${found.planted} differences planted`,
);
