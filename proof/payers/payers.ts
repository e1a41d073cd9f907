// Payers who click whatever they like, in several tabs, while gateways and database are killed: nobody pays twice. Each walk is a checkout
// and a payer with a seed of their own; at the end what the pages said must be true, and the acquirer's books must agree.
import { setTimeout as sleep } from 'node:timers/promises';
import { differences, standingEntries } from '../../testkit/books.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { clientOfSeveral } from '../../testkit/several-gateways.js';
import { Kills } from '../arena/kills.js';
import { verdict } from '../arena/verdict.js';
import { Walk } from './walk.js';

const DECISION_LIMIT_MS = 60_000;
const SETTLED_WITHIN_MS = 60_000;

const values = programOptions({
  walks: 500,
  // How many payers walk at a time.
  payers: 8,
  kills: 40,
  // How many transactions at most pass a point until a process is killed there.
  latest: 12,
  seed: newSeed(),
});
const { seed, walks, kills } = values;
const random = new Chance(seed);
say(`payers: seed ${seed}`);

const installation = await Installation.open(
  {
    RESOLVER_INTERVAL_MS: '100',
    RESOLVER_FIRST_PAUSE_MS: '100',
    RESOLVER_LONGEST_PAUSE_MS: '1000',
    PROCESS_TIMEOUT_MS: '3000',
    ACQUIRER_DEADLINE_MS: '700',
  },
  { killable: true },
);
await installation.prepare();
// All these payers have few cards and one address.
for (const per of ['card', 'address']) {
  const limit = ['--attempts', '1000', '--within', '1m', '--mode', 'block'];
  await installation.command(
    'limit',
    'set',
    '--merchant',
    String(installation.merchantId),
    '--per',
    per,
    ...limit,
  );
}
const killing = new Kills({
  installation,
  random: random.fork(),
  kills,
  latest: values.latest,
  settings: () => ({ CHECKOUT_PORT: '0' }),
});
const client = clientOfSeveral({
  gateways: killing.gateways,
  random: random.fork(),
  ...installation.credentials,
  outcomeTimeoutMs: 120_000,
});

const all: Walk[] = [];
const startedMs = performance.now();
const progress = setInterval(() => {
  say(`… ${all.filter(({ isOver }) => isOver).length} of ${walks} walks, ${killing.count} of ${kills} kills`);
}, 10_000);

async function walkOn(): Promise<void> {
  // Payers go on for as long as there is somebody to be killed.
  while (all.length < walks || killing.count < kills) {
    const walk = new Walk(client, {
      gateways: killing.gateways,
      random: random.fork(),
      merchantId: installation.merchantId,
      number: all.length + 1,
    });
    all.push(walk);
    await walk.run();
  }
}

const killed = killing.run();
await Promise.all(Array.from({ length: values.payers }, walkOn));
await killed;
clearInterval(progress);

const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
// Attempts that were left are found out by whoever runs.
const untilMs = performance.now() + SETTLED_WITHIN_MS;
type Left = { readonly id: string };
let left: Left[] = [];
do {
  await sleep(200);
  left = await installation.sql<Left>(`SELECT id FROM checkout WHERE attempt_until IS NOT NULL`);
} while (left.length > 0 && performance.now() < untilMs);

const ended = new Map<string, string>();
for (const { checkout } of all)
  if (checkout !== undefined) ended.set(checkout, (await client.checkouts.get(checkout)).status);
const entries = (await installation.ledger()).filter(
  ({ reference }) =>
    rows.find((row) => row.acquirerReference === reference)?.reference !== 'before-everything',
);
const orderOf = new Map(rows.map(({ acquirerReference, reference }) => [acquirerReference, reference]));
const charges = new Map<string, number>();
for (const { reference } of standingEntries(entries)) {
  const order = orderOf.get(reference) ?? `no transaction for ${reference}`;
  charges.set(order, (charges.get(order) ?? 0) + 1);
}
const walked = all.filter(({ checkout }) => checkout !== undefined);
const statusOf = (walk: Walk) => ended.get(walk.checkout ?? '');
const inWords = (walk: Walk) =>
  `${walk.reference} (${walk.checkout}), ${statusOf(walk)}: ${walk.steps.join(', ')}`;
const broken = {
  'nobody pays twice': walked
    .filter(({ reference }) => (charges.get(reference) ?? 0) > 1)
    .map((walk) => `${charges.get(walk.reference)} charges, ${inWords(walk)}`),
  'who has paid is told so, and who has not is not': walked
    .filter((walk) => (charges.get(walk.reference) === 1) !== (statusOf(walk) === 'complete'))
    .map((walk) => `${charges.get(walk.reference) ?? 0} charges, ${inWords(walk)}`),
  'what a page said stays true': walked
    .filter(({ saw }) => saw.has('complete'))
    .filter((walk) => statusOf(walk) !== 'complete')
    .map(inWords),
  'no charge without a walk': [...charges.keys()].filter(
    (order) => !walked.some(({ reference }) => reference === order),
  ),
  'every doubt is resolved': left.map(({ id }) => id),
  'pages are served': all.flatMap(({ complaints }) => complaints),
  'the books agree to the cent': differences(
    rows.filter(({ reference }) => reference !== 'before-everything'),
    entries,
  ),
  'gateways run until they are killed': killing.complaints,
};
await installation.close();

const count = (status: string) => walked.filter((walk) => statusOf(walk) === status).length;
const steps = walked.reduce((sum, walk) => sum + walk.steps.length, 0);
process.exitCode = verdict(
  broken,
  `payers: seed ${seed}, ${all.length} walks of ${steps} steps in ${((performance.now() - startedMs) / 1_000).toFixed(0)} s, ` +
    `${killing.count} kills ${JSON.stringify(killing.done)}; ${rows.length - 1} payments; ` +
    `${count('complete')} complete, ${count('open')} left open, ${count('expired')} used up, ${count('cancelled')} cancelled; ` +
    `${walked.filter(({ saw }) => saw.has('processing')).length} payers saw that it was in doubt`,
);
