// Everything that racing clients are told fits one order of events, under kills, freezes and a lying acquirer. Many clients race for few
// transactions at two gateways on one database, over an ISO 8583 link with two connections. Processes are killed and stand still,
// heartbeats are held back, and the acquirer's connections stall, break and lie. Porcupine, a judge of our own and everybody's books
// judge the recorded history.
import { createWriteStream } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { settlementCutOff, settlementDay } from '../../src/values/time.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { read } from '../../testkit/iso8583-host/codec.js';
import { AS2805 } from '../../testkit/iso8583-host/dialects.js';
import { kindOf, requestOf } from '../../testkit/iso8583-host/request.js';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { FeedReader, subjectsOf, wronglyTold } from '../arena/feed-reader.js';
import { IsoAcquirer } from '../arena/iso-acquirer.js';
import { tool } from '../arena/tools.js';
import { verdict } from '../arena/verdict.js';
import { RECEIVER_SETTINGS, WebhookBooks } from '../arena/webhook-books.js';
import { brokenBooks } from './books.js';
import { brokenPromises } from './judge.js';
import type { Recorded } from './record.js';
import { Shoppers } from './shoppers.js';
import { DEADLINE_MS, PROCESS_TIMEOUT_MS, Trouble } from './trouble.js';

/** What passes at the same time over two connections may have been sent in another order: the relay may have stood still. */
const AT_THE_SAME_TIME_MS = 200;

/** What gateways send to the host: no payment may leave a gateway after its reversal. */
class Wire {
  readonly #reversedAtMs = new Map<string, number>();
  /** Payments that were sent after their reversal. */
  readonly sentTooLate: string[] = [];

  hear(message: Buffer): void {
    const received = read(AS2805, message);
    const kind = kindOf(received.mti, AS2805.reversal);
    if (kind === undefined) return;
    const nowMs = Date.now();
    const { mti, key, original } = requestOf(received, kind, nowMs);
    if (kind === 'reversal' && original !== undefined && !this.#reversedAtMs.has(original.key))
      this.#reversedAtMs.set(original.key, nowMs);
    const reversedMs = this.#reversedAtMs.get(key);
    if (kind !== 'payment' || reversedMs === undefined) return;
    const afterMs = nowMs - reversedMs;
    if (afterMs > AT_THE_SAME_TIME_MS)
      this.sentTooLate.push(`${mti} ${key}, ${afterMs} ms after its reversal`);
  }
}

const FOLDER = join(PROJECT_ROOT, 'proof', 'history', 'porcupine');

const DECISION_LIMIT_MS = 120_000;
const DELIVERY_LIMIT_MS = 60_000;

const values = programOptions({
  operations: 5000,
  clients: 16,
  // So many groups of correlation IDs and targets are raced for at once.
  families: 4,
  // So often heartbeats are held back first, while nothing else happens.
  holds: 3,
  seed: newSeed(),
  // Whether the host remembers the reversal of what it has not seen: `remembered` or `forgotten`.
  memory: 'forgotten',
  // `porcupine` as well, or our own judge only: `own`.
  judge: 'porcupine',
  // Where the history is kept, to be judged again.
  keep: undefined,
});
const { seed, clients } = values;
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
  families: values.families,
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
let isHeld = true;
const holding = trouble.holdHeartbeatsAlone(values.holds).finally(() => {
  isHeld = false;
});
await shoppers.race(clients, () => !isHeld);
await holding;
await trouble.disturb();
const most = shoppers.history.length + values.operations;
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
const folder = temporaryFolder('history');
const path = join(folder, 'history.jsonl');
// A day that closes meanwhile ends what can be voided.
await writeHistory(path, history, { lenientVoids: settlementCutOff(settlementDay(begunMs)) < Date.now() });
if (values.keep !== undefined) await copyFile(path, values.keep);
const porcupine =
  values.judge === 'own'
    ? { broken: [], figures: 'porcupine: not asked' }
    : await judgedByPorcupine(path, folder);
if ('skipped' in porcupine && porcupine.skipped) say(`porcupine: skipped: ${porcupine.skipped}`);

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

interface Judged {
  /** Why it has not judged, if so. */
  readonly skipped?: string;
  readonly broken: readonly string[];
  readonly figures: string;
}

/** One line for each request, behind one that says what holds for all. */
async function writeHistory(
  path: string,
  history: readonly Recorded[],
  { lenientVoids }: { readonly lenientVoids: boolean },
): Promise<void> {
  const file = createWriteStream(path);
  file.write(`${JSON.stringify({ kind: 'header', lenientVoids })}\n`);
  for (const one of history) file.write(`${JSON.stringify(one)}\n`);
  file.end();
  await finished(file);
}

/** Porcupine is a checker of others, and proof/history/porcupine a small Go program around it. */
async function judgedByPorcupine(historyPath: string, folder: string): Promise<Judged> {
  const program = join(folder, 'porcupine');
  const built = tool('go', ['build', '-o', program, '.'], { cwd: FOLDER });
  if (!built?.ok) {
    const reason = built === undefined ? 'Go is not there' : `it cannot be built: ${built.text.trim()}`;
    return { skipped: reason, broken: [], figures: 'porcupine: skipped' };
  }
  const judged = tool(program, [], { cwd: folder, input: await readFile(historyPath) });
  const lines = judged?.text.trimEnd().split('\n') ?? [];
  const figures = lines.pop() ?? '';
  // Each begins with its name, and the operations stand below it.
  const broken = lines
    .join('\n')
    .split(/^(?=BROKEN|UNDECIDED)/m)
    .filter((text) => text.startsWith('BROKEN'));
  if (!judged?.ok && broken.length === 0) return { broken: [`the judge failed: ${judged?.text}`], figures };
  return { broken, figures };
}
