// A shop trades through a client under kills and a meddling proxy, and no order is charged twice or left unknown. Gateways, their
// database and the shop are killed; answers are lost, delayed, cut and doubled, and requests are held for seconds. In the end the shop's
// books are held against the acquirer's ledger.
//
// The shop is a program of its own, in any language (`--client typescript` is trader.ts beside this, `--client python` is
// client/python/examples/shop.py). This is all that the proof knows of it:
//
//   TOLLGATE_CLIENT_URL, TOLLGATE_CLIENT_USERNAME, TOLLGATE_CLIENT_PASSWORD   where and as whom it calls
//   SHOP_BOOKS            its books: a file of JSON lines, of which the last of each order counts:
//                         {"order", "correlationId", "amountCents", "state", "audit"?}
//                         state: "begun" (written before anything is sent), "paid", "declined", "refused" or "unknown"
//   SHOP_ORDERS           how many orders, numbered from 0
//   SHOP_CONCURRENCY      how many at a time
//   SHOP_SEED             makes its amounts and cards
//   SHOP_MERCHANT         the merchant that is paid
//   SHOP_TIMEOUT_SECONDS  for one request
//
// It ends with 0 when all its orders have a known outcome: paid, declined or refused. Killed, and started again on the same books, it goes
// on with those that were only begun.
import { join } from 'node:path';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { type Fate, MeddlingProxy, PASS, type ProxiedRequest } from '../../testkit/meddling-proxy.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { Kills } from '../arena/kills.js';
import { verdict } from '../arena/verdict.js';
import { brokenBooks } from './judge.js';
import { commandOf, Shift, shiftsOf } from './shop.js';

const STATUSES = [400, 404, 500, 502, 503, 504] as const;

const DECISION_LIMIT_MS = 60_000;

const values = programOptions({
  kills: 200,
  // How many transactions at most pass a point until a process is killed there.
  latest: 20,
  seed: newSeed(),
  // Which client: `typescript` or `python`.
  client: 'typescript',
  // Orders of one shop, before the next one opens.
  orders: 400,
  concurrency: 40,
  // Percent of the requests that the proxy meddles with.
  meddle: 20,
  // For one request of the shop.
  timeout: 3,
});
const { seed, kills } = values;
const random = new Chance(seed);
const command = await commandOf(values.client);
if (command === undefined) {
  say(`client: skipped, since ${values.client} is not there`);
  process.exit(0);
}
say(`client: seed ${seed}`);

const installation = await Installation.open(
  {
    RESOLVER_INTERVAL_MS: '100',
    RESOLVER_FIRST_PAUSE_MS: '100',
    RESOLVER_LONGEST_PAUSE_MS: '1000',
    PROCESS_TIMEOUT_MS: '3000',
  },
  { killable: true },
);
await installation.prepare();
const killing = new Kills({
  installation,
  random: random.fork(),
  kills,
  latest: values.latest,
  settings: () => ({ ACQUIRER_DEADLINE_MS: String(random.pick([700, 2_500])) }),
});
const chanceOfGateways = random.fork();
const proxy = await MeddlingProxy.open({
  gateway: () => {
    const listening = killing.gateways.flatMap(({ baseUrl }) => baseUrl ?? []);
    return listening.length === 0 ? undefined : chanceOfGateways.pick(listening);
  },
  fateOf: meddling(random.fork(), values.meddle, values.timeout * 1_000),
});

const startedMs = performance.now();
let over = false;
const shifts = shiftsOf({
  command,
  random: random.fork(),
  isOver: () => over,
  open: (number) =>
    new Shift(join(installation.dataDir, `books-${number}.ndjson`), {
      TOLLGATE_CLIENT_URL: proxy.baseUrl,
      TOLLGATE_CLIENT_USERNAME: installation.credentials.username,
      TOLLGATE_CLIENT_PASSWORD: installation.credentials.password,
      SHOP_ORDERS: String(values.orders),
      SHOP_CONCURRENCY: String(values.concurrency),
      SHOP_SEED: String((seed % 1_000_000) * 1_000 + number),
      SHOP_MERCHANT: String(installation.merchantId),
      SHOP_TIMEOUT_SECONDS: String(values.timeout),
    }),
});
const progress = setInterval(() => say(`… ${killing.count} of ${kills} kills`), 10_000);
const trading = shifts.run();
await Promise.race([killing.run(), trading]);
over = true;
await trading;
clearInterval(progress);
// What is still held on its way may come yet.
await proxy.allArrived();
const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
const seconds = (performance.now() - startedMs) / 1000;

const orders = (await Promise.all(shifts.done.map((shift) => shift.orders()))).flat();
const broken = {
  ...brokenBooks({
    orders,
    rows: rows.filter(({ reference }) => reference !== 'before-everything'),
    entries: await installation.ledger(),
    before: rows.find(({ reference }) => reference === 'before-everything'),
  }),
  'shops end by themselves with 0': shifts.complaints,
  'gateways run until they are killed': killing.complaints,
};
await proxy.close();
// Where shops gave up, not every gateway has met its fate.
killing.stop();
await installation.close();

const inState = (state: string) => orders.filter((order) => order.state === state).length;
process.exitCode = verdict(
  broken,
  `client: ${values.client}, seed ${seed}, ${killing.count} kills ${JSON.stringify(killing.done)}, ${shifts.kills} kills of the shop, ` +
    `meddled ${JSON.stringify(proxy.done)}; ${orders.length} orders in ${seconds.toFixed(0)} s: ${inState('paid')} paid, ` +
    `${inState('declined')} declined, ${inState('refused')} refused, ${inState('unknown') + inState('begun')} without a known outcome`,
);

/** So many percent meet some fate. `timeoutMs` is the shop's: some things take longer, and some do not. */
function meddling(random: Chance, percent: number, timeoutMs: number): (request: ProxiedRequest) => Fate {
  const fates: readonly (() => Fate)[] = [
    () => ({ kind: 'lose_request' }),
    () => ({ kind: 'lose_answer' }),
    () => ({ kind: 'lose_answer' }),
    () => ({ kind: 'cut_answer' }),
    () => ({ kind: 'duplicate' }),
    () => ({ kind: 'duplicate' }),
    () => ({ kind: 'delay_answer', ms: random.between(10, 1_000) }),
    () => ({ kind: 'hold_request', ms: random.between(50, timeoutMs * 2) }),
    () => ({ kind: 'answer_otherwise', status: random.pick(STATUSES) }),
    // Rare, since the shop waits for all of its time-out each time.
    () =>
      random.percent(25)
        ? { kind: 'swallow_answer' }
        : { kind: 'delay_answer', ms: random.between(10, timeoutMs) },
  ];
  return () => (random.percent(percent) ? random.pick(fates)() : PASS);
}
