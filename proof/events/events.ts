// Every change is in the feed of events once and in order, and is delivered as a signed webhook. Two gateways on one database trade
// while gateways, PostgreSQL and the readers of the feed are killed again and again.
import { setTimeout as sleep } from 'node:timers/promises';
import { cardAccount } from '../../testkit/bodies.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { clientOfSeveral, type SeveralGateways } from '../../testkit/several-gateways.js';
import { FeedReader, subjectsOf, wronglyTold } from '../arena/feed-reader.js';
import { Kills } from '../arena/kills.js';
import { Shop } from '../arena/shop.js';
import { storeCards, tradeTogether, type VirtualPans } from '../arena/trade.js';
import { type Broken, verdict } from '../arena/verdict.js';
import { RECEIVER_SETTINGS, WebhookBooks } from '../arena/webhook-books.js';

const DECISION_LIMIT_MS = 60_000;
const DELIVERY_LIMIT_MS = 120_000;

const values = programOptions({
  kills: 100,
  // How many transactions at most pass a point until a process is killed there.
  latest: 20,
  seed: newSeed(),
  traders: 16,
  readers: 3,
});
const { seed, kills } = values;
const random = new Chance(seed);
say(`events: seed ${seed}`);

const installation = await Installation.open(
  {
    RESOLVER_INTERVAL_MS: '100',
    RESOLVER_FIRST_PAUSE_MS: '100',
    PROCESS_TIMEOUT_MS: '3000',
    ...RECEIVER_SETTINGS,
  },
  { killable: true },
);
let virtualPans: VirtualPans = new Map();
await installation.prepare(async (client) => {
  virtualPans = await storeCards(client);
});
const receiver = await WebhookBooks.open(installation, random.fork());

const killing = new Kills({
  installation,
  random: random.fork(),
  kills,
  latest: values.latest,
  settings: () => ({ ACQUIRER_DEADLINE_MS: '700' }),
});
const { authorization, credentials, merchantId } = installation;
const { gateways } = killing;
const shop = new Shop({ gateways, authorization, merchantId, random: random.fork(), impatientPercent: 5 });
const readers = Array.from(
  { length: values.readers },
  () => new FeedReader({ gateways, ...credentials, merchantId, random: random.fork() }),
);

let tradeIsOver = false;
let allIsOver = false;
const trading = Promise.all([
  tradeTogether(values.traders, {
    shop,
    random,
    virtualPans,
    faultPercent: 5,
    isOver: () => tradeIsOver,
  }),
  ...[1, 2].map((number) =>
    tradeInVault({
      gateways,
      ...credentials,
      random: random.fork(),
      name: `vault-${number}`,
      isOver: () => tradeIsOver,
    }),
  ),
]);
const following = Promise.all(readers.map((reader) => reader.follow(() => allIsOver)));
const progress = setInterval(() => {
  say(`… ${killing.count} of ${kills} kills, ${readers.map(({ events }) => events.length)} events read`);
}, 10_000);
const startedMs = performance.now();
await Promise.race([killing.run(), trading]);
tradeIsOver = true;
await trading;
const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
allIsOver = true;
await following;
const ids = (readers[0]?.events ?? []).map(({ id }) => id);
await receiver.waitForAll(ids, DELIVERY_LIMIT_MS);
clearInterval(progress);
const seconds = (performance.now() - startedMs) / 1000;

const subjects = await subjectsOf(installation);
const broken: Broken = {
  'every change is told once, in order for its subject': readers.flatMap(({ events }, number) =>
    wronglyTold(events, subjects).map((complaint) => `reader ${number}: ${complaint}`),
  ),
  'every reader is told the same in the same order': readers
    .filter(({ events }) => orderOf(events) !== orderOf(readers[0]?.events ?? []))
    .map((_, number) => `reader ${number} differs`),
  'every event is delivered, signed, in order for its subject': receiver.problems(ids),
  'the feed answers 200, or 503': readers.flatMap(({ complaints }) => complaints),
  'no outcome stays open': rows
    .filter(({ status }) => status === 'unknown')
    .map(({ audit }) => `audit ${audit}`),
  'gateways run until they are killed': killing.complaints,
};
await receiver.close();
await installation.close();

const sum = (of: (reader: FeedReader) => number) => readers.reduce((total, reader) => total + of(reader), 0);
process.exitCode = verdict(
  broken,
  `events: seed ${seed}, ${killing.count} kills ${JSON.stringify(killing.done)}, ${sum(({ deaths }) => deaths)} of readers, ` +
    `${rows.length} transactions, ${subjects.length} subjects, ${readers[0]?.events.length} events for each of ${readers.length} readers in ${seconds.toFixed(0)} s; ` +
    `${sum(({ unanswered }) => unanswered)} requests of readers not answered; ${receiver.received} webhooks for ${ids.length} events, ${receiver.altered} altered and refused`,
);

function orderOf(events: FeedReader['events']): string {
  return events.map(({ id }) => id).join(' ');
}

interface VaultTraderOptions extends SeveralGateways {
  readonly name: string;
  readonly isOver: () => boolean;
}

async function tradeInVault({ name, isOver, ...several }: VaultTraderOptions): Promise<void> {
  const { random } = several;
  const { customers, tokens } = clientOfSeveral({
    ...several,
    requestTimeoutMs: 3_000,
    outcomeTimeoutMs: 300_000,
    firstPauseMs: 20,
    longestPauseMs: 500,
  });
  for (let serial = 1; !isOver(); serial += 1) {
    const { id } = await customers.create({ reference: `${name}-${serial}`, name: 'Ada Lovelace' });
    const card = { preferred_name: 'One', active: true, account: cardAccount() };
    const token = await tokens.create(id, card);
    await customers.update(id, { name: `Ada ${serial}` });
    await tokens.update(id, token.id, { active: false });
    if (random.percent(30)) await tokens.delete(id, token.id);
    if (random.percent(40)) await customers.delete(id);
    await sleep(random.below(100));
  }
}
