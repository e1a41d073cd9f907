// Organisations move from cell to cell while all of them trade, and nothing is lost, nothing is paid twice, and never do two cells pay.
// Three cells behind HAProxy, with a PostgreSQL each: the command that moves is killed at every step, and so are gateways and databases.
import { setTimeout as sleep } from 'node:timers/promises';
import { Chance, newSeed } from '../../testkit/chance.js';
import { programOptions } from '../../testkit/program-options.js';
import { median, percentile, say } from '../../testkit/report.js';
import { type Broken, verdict } from '../arena/verdict.js';
import { CELLS } from './cell.js';
import { FleetOfCells } from './cells.js';
import { brokenCells, joined, judged } from './judge.js';
import { Moves } from './moves.js';
import { Places } from './places.js';
import { STEPS } from './steps.js';

const DECISION_LIMIT_MS = 120_000;
const EVENTS_LIMIT_MS = 60_000;
const DELIVERY_LIMIT_MS = 120_000;
/** For each organisation: all of them together keep a machine of two cores busy, and not overloaded. */
const CALM_PAUSE_MS = 120;

const values = programOptions({
  moves: 50,
  seed: newSeed(),
  organisations: 60,
  // Of the command, of gateways and of databases, over all moves.
  kills: 60,
  // Organisations that move at the same time.
  'at-once': 1,
  // Of each cell.
  gateways: 1,
});
const { seed, moves: asked, organisations: count } = values;
const random = new Chance(seed);
say(`fleet: seed ${seed}`);

const fleet = await FleetOfCells.open({ gateways: values.gateways, organisations: count, random });
const { cells, entrance, organisations, homes } = fleet;
say(`three cells behind ${entrance.kind}, ${count} organisations`);

let tradeIsOver = false;
let allIsOver = false;
const trading = Promise.all(
  organisations.map((organisation) => organisation.trade(() => tradeIsOver, count * CALM_PAUSE_MS)),
);
const following = Promise.all(organisations.map(({ reader }) => reader.follow(() => allIsOver)));
const startedMs = performance.now();
const first = new Map(homes);
const moves = new Moves({
  cells,
  entrance,
  organisations,
  homes,
  random: random.fork(),
  moves: asked,
  kills: values.kills,
  atOnce: values['at-once'],
});
await Promise.race([moves.run(), trading]);
tradeIsOver = true;
await trading;
const undecided = await fleet.untilDecided(DECISION_LIMIT_MS);
await fleet.untilAllRead(EVENTS_LIMIT_MS);
allIsOver = true;
await following;
for (const { webhooks, reader } of organisations)
  await webhooks?.waitForAll(
    reader.events.map(({ id }) => id),
    DELIVERY_LIMIT_MS,
  );
const seconds = (performance.now() - startedMs) / 1000;
for (const { id } of organisations) await moves.residues.check(id);

const places = await Places.read(cells);
const entries = await fleet.ledger();
const each: Awaited<ReturnType<typeof judged>>[] = [];
for (const organisation of organisations) {
  const [from, home] = [first.get(organisation.id), homes.get(organisation.id)];
  if (from === undefined || home === undefined) throw new Error('an organisation without a cell');
  each.push(await judged(organisation, { first: from, home }, { cells, places, entries, random }));
}
const broken: Broken = {
  ...joined(each.map((one) => one.broken)),
  'no outcome stays open': undecided,
  'nothing changes in a cell that an organisation has left': moves.residues.changed,
  'moves come to an end, and trade goes on': moves.complaints,
  'every step of a move was struck': STEPS.filter((step) => values.kills > 0 && moves.killsAt(step) === 0),
  'journals, seals and figures of every cell are whole': await brokenCells(cells),
  'gateways run until they are killed': CELLS.flatMap((name) => cells[name].complaints),
};
await fleet.close();

for (const step of STEPS)
  say(`killed at ${step}: ${moves.killsAt(step)} times ${JSON.stringify(moves.struck[step])}`);
say(`commands that ended without success: ${JSON.stringify(moves.failures)}`);
const of = (promise: string) => broken[promise]?.length ?? 0;
const sum = (list: readonly number[]) => list.reduce((total, one) => total + one, 0);
const gaps = moves.ordinary.map(({ gapMs }) => gapMs);
const closed = moves.ordinary.map(({ closedMs }) => closedMs);
process.exitCode = verdict(
  broken,
  `fleet: seed ${seed}, ${count} organisations, ${moves.moved} moved and ${moves.takenBack} taken back, ${moves.finished} finished, ` +
    `${moves.kills} kills, in ${seconds.toFixed(0)} s; ${sum(organisations.map(({ shop }) => shop.orders.length))} orders, ` +
    `${sum(each.map(({ transactions }) => transactions))} transactions, ${moves.inDoubt} moved in doubt; ` +
    `${of('what was said stays true') + of('what a cell has approved stays approved') + of('what was done in a cell goes along')} lost, ` +
    `${of('no order is paid twice') + of('what was not found is not processed')} doubled, ` +
    `${of('never do two cells pay at once') + of('nothing is done in a cell in which an organisation does not live')} in two cells; ` +
    `${sum(organisations.map(({ reader }) => reader.events.length))} events, ` +
    `${sum(organisations.map(({ webhooks }) => webhooks?.received ?? 0))} webhooks; ${gaps.length} ordinary moves: ` +
    `closed for ms p50 ${median(closed)} max ${percentile(closed, 1)}, longest gap of a client ms p50 ${median(gaps)} max ${percentile(gaps, 1)}`,
);
// HAProxy and sessions that are held do not keep it.
await sleep(0);
