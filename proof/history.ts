// `npm run test:history`: many clients race for few transactions at two gateways on one database, over an ISO 8583 link with two
// connections, while processes are killed and stand still, heartbeats are held back, and the acquirer's connections stall, break and lie.
// Everything that was asked and answered is recorded, and judged: by porcupine, by a judge of our own, and by everybody's books.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settlementCutOff, settlementDay } from '../src/values/time.js';
import { Chance, seedOf } from '../testkit/chance.js';
import { Installation } from '../testkit/installation.js';
import { programOptions } from '../testkit/program-options.js';
import { say } from '../testkit/report.js';
import { FeedReader } from './feed-reader.js';
import { brokenBooks } from './history-books.js';
import { brokenPromises } from './history-judge.js';
import { judgedByPorcupine, writeHistory } from './history-porcupine.js';
import { Shoppers } from './history-shoppers.js';
import { DEADLINE_MS, PROCESS_TIMEOUT_MS, Trouble } from './history-trouble.js';
import { Wire } from './history-wire.js';
import { IsoAcquirer } from './iso-acquirer.js';
import { subjectsOf, wronglyTold } from './told-events.js';
import { verdict } from './verdict.js';
import { RECEIVER_SETTINGS, WebhookBooks } from './webhook-books.js';

const DECISION_LIMIT_MS = 120_000;
const DELIVERY_LIMIT_MS = 60_000;

const values = programOptions({
  operations: { type: 'string', default: '5000' },
  clients: { type: 'string', default: '16' },
  // So many groups of correlation IDs and targets are raced for at once.
  families: { type: 'string', default: '4' },
  // So often heartbeats are held back first, while nothing else happens.
  holds: { type: 'string', default: '3' },
  seed: { type: 'string' },
  // Whether the host remembers the reversal of what it has not seen: `remembered` or `forgotten`.
  memory: { type: 'string', default: 'forgotten' },
  // `porcupine` as well, or our own judge only: `own`.
  judge: { type: 'string', default: 'porcupine' },
  // Where the history is kept, to be judged again.
  keep: { type: 'string' },
});
const seed = seedOf(values.seed);
const random = new Chance(seed);
const { memory } = values;
if (memory !== 'remembered' && memory !== 'forgotten') throw new Error('--memory is remembered or forgotten');
say(`history: seed ${seed}`);

const installation = await Installation.open({
  ACQUIRER_DEADLINE_MS: String(DEADLINE_MS),
  RESOLVER_INTERVAL_MS: '100',
  RESOLVER_FIRST_PAUSE_MS: '100',
  RESOLVER_LONGEST_PAUSE_MS: '1000',
  PROCESS_TIMEOUT_MS: String(PROCESS_TIMEOUT_MS),
  MAX_DELAY_MS: '3000',
  ...RECEIVER_SETTINGS,
});
await installation.prepare(undefined, { isInRealTime: true });
const acquirer = await IsoAcquirer.start(installation, random.fork(), { deadlineMs: DEADLINE_MS });
const wire = new Wire();
acquirer.relay.onRequest = (message) => wire.hear(message);
const receiver = await WebhookBooks.open(installation, random.fork());
const trouble = new Trouble({ installation, acquirer, random: random.fork(), memory });
const { gateways } = trouble;
const { authorization, credentials, merchantId } = installation;
const shoppers = new Shoppers({
  gateways,
  authorization,
  merchantId,
  random: random.fork(),
  families: Number(values.families),
});
const reader = new FeedReader({ gateways, ...credentials, merchantId, random: random.fork() });

const startedMs = performance.now();
const begunMs = Date.now();
await trouble.begin();
let isOver = false;
const following = reader.follow(() => isOver);
const progress = setInterval(() => {
  say(`… ${shoppers.history.length} operations, ${JSON.stringify(trouble.done)}`);
}, 10_000);
const clients = Number(values.clients);
let isHeld = true;
const holding = trouble.holdHeartbeatsAlone(Number(values.holds)).finally(() => {
  isHeld = false;
});
await shoppers.race(clients, () => !isHeld);
await holding;
await trouble.disturb();
const most = shoppers.history.length + Number(values.operations);
await shoppers.race(clients, () => shoppers.history.length >= most);
await trouble.end();
const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
const books = await brokenBooks({ installation, acquirer });
await shoppers.lookAtEverything();
clearInterval(progress);
isOver = true;
await following;
const { events } = reader;
const ids = events.map(({ id }) => id);
await receiver.waitForAll(ids, DELIVERY_LIMIT_MS);
const seconds = (performance.now() - startedMs) / 1000;
const subjects = await subjectsOf(installation);
trouble.close();
await receiver.close();
await installation.close();
await acquirer.close();

const { history } = shoppers;
const folder = await mkdtemp(join(tmpdir(), 'tollgate-history-'));
const path = join(folder, 'history.jsonl');
// A day that closes meanwhile ends what can be voided.
await writeHistory(path, history, { lenientVoids: settlementCutOff(settlementDay(begunMs)) < Date.now() });
if (values.keep !== undefined) await copyFile(path, values.keep);
const porcupine =
  values.judge === 'own'
    ? { broken: [], figures: 'porcupine: not asked' }
    : await judgedByPorcupine(path, folder);
if ('skipped' in porcupine && porcupine.skipped) say(`porcupine: skipped: ${porcupine.skipped}`);
await rm(folder, { recursive: true, force: true });

const count = (wanted: (one: (typeof history)[number]) => boolean) => history.filter(wanted).length;
process.exitCode = verdict(
  {
    ...brokenPromises(history, events),
    'porcupine finds an order that explains every answer': porcupine.broken,
    ...books.broken,
    'no payment is sent after its reversal': wire.sentTooLate,
    'no outcome stays open': rows
      .filter(({ status }) => status === 'unknown')
      .map(({ audit, type }) => `audit ${audit}, a ${type}`),
    'every change is told once, in order for its subject': wronglyTold(events, subjects),
    'every event is delivered, signed, in order for its subject': receiver.problems(ids),
    'a live gateway keeps what it waits for': trouble.takenOver,
    'gateways run until they are killed': trouble.complaints,
  },
  `history: seed ${seed}, ${history.length} operations in ${seconds.toFixed(0)} s, ` +
    `${count(({ status }) => status === 201)} answered 201, ${count(({ status }) => status === 409)} 409, ` +
    `${count(({ status }) => status === 422)} 422, ${count(({ status }) => status === undefined)} unknown; ${rows.length} transactions, ` +
    `${books.unseen.length} charged with nobody there to be told, and listed as unseen, ${events.length} events, ${receiver.received} webhooks; ${JSON.stringify(trouble.done)}; ${porcupine.figures}`,
);
