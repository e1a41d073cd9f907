// Gateways and PostgreSQL are killed again and again under mixed trade, and no payment is lost or made twice. At the end every answer to
// a shop must be true, every order paid at most once, and the acquirer's books must agree to the cent.
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import type { StoredTransaction } from '../../testkit/books.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { percentile, say } from '../../testkit/report.js';
import { IsoAcquirer } from '../arena/iso-acquirer.js';
import { Kills } from '../arena/kills.js';
import { brokenPromises } from '../arena/promises.js';
import { type Attempt, Shop } from '../arena/shop.js';
import { storeCards, tradeTogether, type VirtualPans } from '../arena/trade.js';
import { verdict } from '../arena/verdict.js';
import { RoutedAcquirers } from './routed-acquirers.js';

const DECISION_LIMIT_MS = 60_000;
const LOOKUPS_AT_ONCE = 16;

const values = programOptions({
  kills: 200,
  // How many transactions at most pass a point until a process is killed there.
  latest: 20,
  seed: newSeed(),
  traders: 24,
  // Percent of the payments by cards that make the acquirer fail.
  faults: 5,
  // Percent of the requests that are given up after some milliseconds, while they are on their way.
  impatient: 5,
  // The acquirer: `simulator`, or `iso8583` for a host that is killed and cut off as well.
  link: 'simulator',
  // Over two such links, by routes: the second where the first is down.
  routes: false,
});
const { seed, kills } = values;
const random = new Chance(seed);
say(`crash: seed ${seed}`);

const installation = await Installation.open(
  {
    RESOLVER_INTERVAL_MS: '100',
    RESOLVER_FIRST_PAUSE_MS: '100',
    // An acquirer that is away again and again is asked soon after it is back.
    RESOLVER_LONGEST_PAUSE_MS: '1000',
    PROCESS_TIMEOUT_MS: '3000',
  },
  { killable: true },
);
let virtualPans: VirtualPans = new Map();
const isOverLink = values.link === 'iso8583' || values.routes;
await installation.prepare(
  async (client) => {
    virtualPans = await storeCards(client);
  },
  { isInRealTime: isOverLink },
);

const routed = values.routes ? await RoutedAcquirers.start(installation, random.fork()) : undefined;
const acquirer = routed ?? (isOverLink ? await IsoAcquirer.start(installation, random.fork()) : undefined);
const killing = new Kills({
  installation,
  random: random.fork(),
  kills,
  latest: values.latest,
  // Shorter than the slow card takes, so that a request arrives after it was given up; and longer.
  settings: () => ({ ACQUIRER_DEADLINE_MS: String(random.pick([700, 2_500])) }),
  atMessage: acquirer && ((process, kill) => acquirer.killAtMessage(process, kill)),
});
const shop = new Shop({
  gateways: killing.gateways,
  random: random.fork(),
  authorization: installation.authorization,
  merchantId: installation.merchantId,
  impatientPercent: values.impatient,
});
const startedMs = performance.now();
let over = false;
const trading = tradeTogether(values.traders, {
  shop,
  random,
  virtualPans,
  faultPercent: values.faults,
  isOver: () => over,
});
const progress = setInterval(() => {
  say(`… ${killing.count} of ${kills} kills, ${shop.orders.length} orders`);
}, 10_000);
acquirer?.disturb();
await Promise.race([killing.run(), trading]);
over = true;
await acquirer?.leaveInPeace();
await trading;
clearInterval(progress);

const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
const seconds = (performance.now() - startedMs) / 1000;
const { orders } = shop;
const lookups = await shop.lookUpAll(
  rows.map(({ audit }) => audit),
  LOOKUPS_AT_ONCE,
);
const broken = {
  ...brokenPromises({
    orders,
    lookups,
    rows: rows.filter(({ reference }) => reference !== 'before-everything'),
    entries: await (acquirer === undefined ? ledgerOfOrders(rows) : acquirer.entries(rows)),
  }),
  'gateways run until they are killed': killing.complaints,
  ...(acquirer !== undefined && {
    'the host has nothing to complain of': await acquirer.complaints(),
    'somebody is struck at messages of every type': acquirer.unstruck(kills),
    'every reversal is acknowledged': await acquirer.unacknowledgedReversals(),
    'no STAN and no retrieval reference is used twice': await acquirer.wrongNumbers(),
  }),
  ...(routed !== undefined && {
    'every payment is at the host of the link that it is stored with': await routed.strangers(),
    'the other link is used where one is down': await routed.unrouted(kills),
  }),
};
const overLinks = routed === undefined ? '' : `${await routed.inWords()}; `;
await installation.close();
await acquirer?.close();

const attempts = orders.flatMap((order) => order.attempts);
const ended = (end: Attempt['end']) => attempts.filter((attempt) => attempt.end === end).length;
const resolutionsMs = attempts.flatMap(({ resolutionMs }) =>
  resolutionMs === undefined ? [] : [resolutionMs],
);
say(`failures seen: ${JSON.stringify(shop.failures)}`);
process.exitCode = verdict(
  broken,
  `crash: seed ${seed}, ${killing.count} kills ${JSON.stringify(killing.done)}, ${killing.failedStarts} failed starts, ` +
    (acquirer === undefined
      ? ''
      : `${acquirer.deeds} disturbances of the host ${JSON.stringify(acquirer.done)}, ` +
        `struck before/inside/after messages: ${acquirer.strikes}; ${overLinks}`) +
    `${orders.length} orders, ${shop.requests} requests in ${seconds.toFixed(0)} s, ${rows.length} transactions; ` +
    `${ended('answered')} answered, ${ended('found')} found after a failure, ${ended('not found')} not found and sent anew; ` +
    `resolution ms p50 ${percentile(resolutionsMs, 0.5)} p99 ${percentile(resolutionsMs, 0.99)} max ${percentile(resolutionsMs, 1)}`,
);

/** Without the entries of what was bought before everything. */
async function ledgerOfOrders(all: readonly StoredTransaction[]): Promise<LedgerEntry[]> {
  const [first] = all.filter(({ reference }) => reference === 'before-everything');
  return (await installation.ledger()).filter(({ reference }) => reference !== first?.acquirerReference);
}
