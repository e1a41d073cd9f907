// `npm run test:empty`: two gateways on one database, requests that arrive in pieces, searches for them at any moment, and
// processes and tables that stand still in between. Whoever was told that there is nothing may have paid again: so nothing
// may come of what had been sent before.
import { differences, wrongReservations } from '../testkit/books.js';
import { Chance, seedOf } from '../testkit/chance.js';
import { Installation } from '../testkit/installation.js';
import { programOptions } from '../testkit/program-options.js';
import { say } from '../testkit/report.js';
import { Disturbances } from './empty-disturbances.js';
import { brokenPromises, foundOutLate } from './empty-judge.js';
import { Round } from './empty-round.js';
import { verdict } from './verdict.js';

const DECISION_LIMIT_MS = 60_000;

const values = programOptions({
  rounds: { type: 'string', default: '500' },
  seed: { type: 'string' },
  // How many rounds at once.
  lanes: { type: 'string', default: '12' },
  // How often a process stands still for so long that the other gives it up.
  'long-stops': { type: 'string', default: '1' },
});
const seed = seedOf(values.seed);
const rounds = Number(values.rounds);
const random = new Chance(seed);
say(`empty: seed ${seed}`);

const installation = await Installation.open({
  ACQUIRER_DEADLINE_MS: '10000',
  RESOLVER_INTERVAL_MS: '100',
  RESOLVER_FIRST_PAUSE_MS: '100',
});
const gateways = [await installation.firstGateway(), await installation.startedGateway()];

const startedMs = performance.now();
const disturbances = new Disturbances({
  gateways,
  url: installation.database.url,
  random: random.fork(),
  longStops: Number(values['long-stops']),
});
const disturbing = disturbances.run();
const done: Round[] = [];
let begun = 0;
const lane = async (chance: Chance) => {
  while (begun < rounds || !disturbances.finished) {
    begun += 1;
    const round = new Round({ installation, gateways, random: chance, name: `empty-${seed}-${begun}` });
    await round.run();
    done.push(round);
    if (done.length % 100 === 0) say(`… ${done.length} rounds`);
  }
};
await Promise.all(Array.from({ length: Number(values.lanes) }, () => lane(random.fork())));
disturbances.end();
await disturbing;

const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
const seconds = (performance.now() - startedMs) / 1000;
const entries = await installation.ledger();
const requests = done.flatMap((round) => round.requests);
const searches = done.flatMap((round) => round.searches);
const broken = {
  ...brokenPromises({ requests, searches, rows, entries }),
  'the books agree to the cent': differences(rows, entries),
  'reservations are the sum of what is live': wrongReservations(rows),
  'gateways go on': disturbances.complaints,
};
await installation.close();

const answered = (status: number) => requests.filter((request) => request.status === status).length;
const empty = searches.filter(({ found }) => found === 'nothing');
process.exitCode = verdict(
  broken,
  `empty: seed ${seed}, ${done.length} rounds in ${seconds.toFixed(0)} s, ${JSON.stringify(disturbances.done)}; ` +
    `${requests.length} requests: ${answered(201)} processed, ${answered(503)} not processed, ${answered(409)} repeated; ` +
    `${searches.length} searches: ${empty.length} empty, ${foundOutLate({ requests, searches }).length} of them for what had been sent`,
);
