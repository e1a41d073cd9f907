// Organisations move from cell to cell while all of them trade, and nothing is lost, nothing is paid twice, and never do two cells pay.
// Three cells behind HAProxy, with a PostgreSQL each: the command that moves is killed at every step, and so are gateways and databases.
// Other forms move one very large organisation, or take a cell away from the others.
import { setTimeout as sleep } from 'node:timers/promises';
import { Chance, newSeed } from '../../testkit/chance.js';
import { removeDataDirectory, smallDisk } from '../../testkit/gateway-process.js';
import { programOptions } from '../../testkit/program-options.js';
import { median, percentile, say } from '../../testkit/report.js';
import { type Broken, verdict } from '../arena/verdict.js';
import { CELLS, type CellName } from './cell.js';
import { FleetOfCells } from './cells.js';
import { brokenCells, joined, judged } from './judge.js';
import { Moves } from './moves.js';
import { Outages } from './outages.js';
import { Places } from './places.js';
import { STEPS } from './steps.js';
import { digestOfStored, lostPayments } from './stored.js';

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
  // Instead of all other moves: an organisation with so many stored payments moves once, and nothing is killed.
  big: 0,
  // Instead of moves: one cell after the other is frozen, killed, and has no space left on its disk.
  frozen: false,
  // How long each of these lasts.
  seconds: 20,
});
const { seed, organisations: count, big } = values;
const { moves: asked, kills } = values.frozen
  ? { moves: 0, kills: 0 }
  : big > 0
    ? { moves: 1, kills: 0 }
    : values;
const random = new Chance(seed);
say(`fleet: seed ${seed}`);

const SMALL_CELL = 'three';
/** As much as its database writes before its log is used again, and some. */
const SMALL_DISK = '2g';
const disk = values.frozen ? await smallDisk(SMALL_DISK).catch(() => undefined) : undefined;
const fleet = await FleetOfCells.open({
  gateways: values.gateways,
  organisations: count,
  random,
  stored: big,
  ...(disk !== undefined && { databaseFolders: { [SMALL_CELL]: disk } }),
  // A cell that is away for long is not asked by its clients every few milliseconds.
  ...(values.frozen && { lookedAgainMs: 250 }),
});
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
  organisations: big > 0 ? organisations.slice(0, 1) : organisations,
  homes,
  random: random.fork(),
  moves: asked,
  kills,
  atOnce: values['at-once'],
});
const outages = new Outages({
  cells,
  organisations,
  homes,
  random: random.fork(),
  seconds: values.seconds,
  disk: disk === undefined ? undefined : { cell: SMALL_CELL, folder: disk },
});
const [owner] = organisations as [(typeof organisations)[number]];
const storedBefore = await digestOfStored(cells[homeOf(owner.id)], owner);
const attack = async () => {
  await moves.run();
  if (values.frozen) await outages.run();
};
await Promise.race([attack(), trading]);
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
const storedAfter = await digestOfStored(cells[homeOf(owner.id)], owner);
const lost = big > 0 ? await lostPayments(owner, big) : [];

const places = await Places.read(cells);
const entries = await fleet.ledger();
const each: Awaited<ReturnType<typeof judged>>[] = [];
for (const organisation of organisations) {
  const [from, home] = [homeOf(organisation.id, first), homeOf(organisation.id)];
  each.push(await judged(organisation, { first: from, home }, { cells, places, entries, random }));
}
const broken: Broken = {
  ...joined(each.map((one) => one.broken)),
  'no outcome stays open': undecided,
  'nothing changes in a cell that an organisation has left': moves.residues.changed,
  'stored payments go along': storedAfter === storedBefore ? lost : [`${storedBefore}; later ${storedAfter}`],
  'moves come to an end, and trade goes on': [...moves.complaints, ...outages.complaints],
  'a cell that cannot serve slows no other': outages.slowed,
  'a cell that cannot serve has nobody refused in others': outages.refused,
  'every step of a move was struck': STEPS.filter((step) => kills > 0 && moves.killsAt(step) === 0),
  'journals, seals and figures of every cell are whole': await brokenCells(cells),
  'gateways run until they are killed': CELLS.flatMap((name) => cells[name].complaints),
};
await fleet.close();
if (disk !== undefined) await removeDataDirectory(disk);

if (kills > 0)
  for (const step of STEPS)
    say(`killed at ${step}: ${moves.killsAt(step)} times ${JSON.stringify(moves.struck[step])}`);
say(`commands that ended without success: ${JSON.stringify(moves.failures)}`);
const of = (promise: string) => broken[promise]?.length ?? 0;
const sum = (list: readonly number[]) => list.reduce((total, one) => total + one, 0);
const gaps = moves.ordinary.map(({ gapMs }) => gapMs);
const closed = moves.ordinary.map(({ closedMs }) => closedMs);
const refused = moves.ordinary.map(({ refusedMs }) => refusedMs);
process.exitCode = verdict(
  broken,
  `fleet: seed ${seed}, ${count} organisations, ${moves.moved} moved and ${moves.takenBack} taken back, ${moves.finished} finished, ` +
    `${moves.kills} kills, in ${seconds.toFixed(0)} s; ${sum(organisations.map(({ shop }) => shop.orders.length))} orders, ` +
    `${sum(each.map(({ transactions }) => transactions))} transactions, ${moves.inDoubt} moved in doubt; ` +
    `${of('what was said stays true') + of('what a cell has approved stays approved') + of('what was done in a cell goes along') + of('stored payments go along')} lost, ` +
    `${of('no order is paid twice') + of('what was not found is not processed')} doubled, ` +
    `${of('never do two cells pay at once') + of('nothing is done in a cell in which an organisation does not live')} in two cells; ` +
    `${sum(organisations.map(({ reader }) => reader.events.length))} events, ` +
    `${sum(organisations.map(({ webhooks }) => webhooks?.received ?? 0))} webhooks; ${gaps.length} ordinary moves: ` +
    `closed for ms p50 ${median(closed)} max ${percentile(closed, 1)}, refused for ms p50 ${median(refused)} max ${percentile(refused, 1)}, longest gap of a client ms p50 ${median(gaps)} max ${percentile(gaps, 1)}`,
);
// HAProxy and sessions that are held do not keep it.
await sleep(0);

function homeOf(organisation: number, at: ReadonlyMap<number, CellName> = homes): CellName {
  const home = at.get(organisation);
  if (home === undefined) throw new Error('an organisation without a cell');
  return home;
}
