// A search that finds nothing is final: no earlier request appears after it. Requests arrive in pieces at two gateways on one database,
// searches ask for them at any moment, and processes and tables stand still in between. A client that was told "nothing" may have paid
// again.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { differences, wrongReservations } from '../../testkit/books.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { type AttackedGateway, Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { type BeforeGateways, proxyBefore } from '../arena/proxy.js';
import { verdict } from '../arena/verdict.js';
import { brokenPromises, foundOutLate } from './judge.js';
import { Round } from './round.js';

/** So long that the other process no longer waits for it. */
const LONG_STOP_MS = 34_000;

const LOCKS: Readonly<Record<string, string>> = {
  // Claims wait before the gate, and look-ups go on.
  'claims held': 'LOCK TABLE transaction IN SHARE ROW EXCLUSIVE MODE',
  'transactions held': 'LOCK TABLE transaction IN ACCESS EXCLUSIVE MODE',
  'gate closed': `SELECT pg_advisory_xact_lock(hashtext('tollgate absences'))`,
  // As a claim that takes its time: others pass, and no fence can be raised.
  'gate open': `SELECT pg_advisory_xact_lock_shared(hashtext('tollgate absences'))`,
  'fences held': 'LOCK TABLE absence IN SHARE ROW EXCLUSIVE MODE',
  'reports held': 'LOCK TABLE process IN SHARE ROW EXCLUSIVE MODE',
};

interface DisturbancesOptions {
  readonly gateways: readonly AttackedGateway[];
  /** Of the database. */
  readonly url: string;
  readonly random: Chance;
  readonly longStops: number;
  readonly proxy: BeforeGateways | undefined;
}

/** What stands in the way meanwhile: processes that stand still, and locks that hold claims, fences or both back. */
class Disturbances {
  #longStopsLeft: number;
  #over = false;

  readonly done: Record<string, number> = {};
  readonly complaints: string[] = [];

  constructor(private readonly options: DisturbancesOptions) {
    const { gateways, longStops } = options;
    this.#longStopsLeft = longStops;
    for (const [number, gateway] of gateways.entries()) {
      void gateway.ended.then(({ code, signal }) => {
        if (!this.#over)
          this.complaints.push(`gateway ${number} ended with ${signal ?? code}: ${gateway.output()}`);
      });
    }
  }

  /** Whether all of those that were asked for are over. */
  get finished(): boolean {
    return this.#longStopsLeft === 0;
  }

  end(): void {
    this.#over = true;
  }

  async run(): Promise<void> {
    await Promise.all([this.#locking(), this.#stopping(), this.#stoppingProxy()]);
  }

  async #locking(): Promise<void> {
    const client = new pg.Client({ connectionString: this.options.url });
    await client.connect();
    while (!this.#over) {
      await sleep(this.options.random.between(20, 250));
      const [what, statement] = this.options.random.pick(Object.entries(LOCKS));
      await client.query('BEGIN');
      await client.query(statement);
      await sleep(this.options.random.between(10, this.options.random.pick([100, 700])));
      await client.query('COMMIT');
      this.#count(what);
    }
    await client.end();
  }

  async #stopping(): Promise<void> {
    while (!this.#over) {
      await sleep(this.options.random.between(100, 900));
      const isLong = this.#longStopsLeft > 0 && this.options.random.percent(20);
      const gateway = this.options.random.pick(this.options.gateways);
      gateway.kill('SIGSTOP');
      await sleep(
        isLong ? LONG_STOP_MS : this.options.random.between(10, this.options.random.pick([150, 1_500])),
      );
      gateway.kill('SIGCONT');
      if (isLong) this.#longStopsLeft -= 1;
      this.#count(isLong ? 'long stops' : 'stops');
    }
  }

  async #stoppingProxy(): Promise<void> {
    const { proxy, random } = this.options;
    while (!this.#over && proxy !== undefined) {
      await sleep(random.between(100, 900));
      proxy.kill('SIGSTOP');
      await sleep(random.between(10, random.pick([150, 1_500])));
      proxy.kill('SIGCONT');
      this.#count('stops of the proxy');
    }
  }

  #count(what: string): void {
    this.done[what] = (this.done[what] ?? 0) + 1;
  }
}

const DECISION_LIMIT_MS = 60_000;

const values = programOptions({
  rounds: 500,
  seed: newSeed(),
  // How many rounds at once.
  lanes: 12,
  // How often a process stands still for so long that the other gives it up.
  'long-stops': 1,
  // HAProxy between clients and gateways.
  proxy: false,
});
const { seed, rounds } = values;
const random = new Chance(seed);
say(`empty: seed ${seed}`);

const installation = await Installation.open({
  ACQUIRER_DEADLINE_MS: '10000',
  RESOLVER_INTERVAL_MS: '100',
  RESOLVER_FIRST_PAUSE_MS: '100',
});
const gateways = [await installation.firstGateway(), await installation.startedGateway()];

const proxy = values.proxy ? await proxyBefore(gateways, temporaryFolder('proxy')) : undefined;
const called = proxy === undefined ? gateways : [proxy];
const startedMs = performance.now();
const disturbances = new Disturbances({
  gateways,
  url: installation.database.url,
  random: random.fork(),
  longStops: values['long-stops'],
  proxy,
});
const disturbing = disturbances.run();
const done: Round[] = [];
let begun = 0;
const lane = async (chance: Chance) => {
  while (begun < rounds || !disturbances.finished) {
    begun += 1;
    const round = new Round({
      installation,
      gateways: called,
      random: chance,
      name: `empty-${seed}-${begun}`,
    });
    await round.run();
    done.push(round);
    if (done.length % 100 === 0) say(`… ${done.length} rounds`);
  }
};
await Promise.all(Array.from({ length: values.lanes }, () => lane(random.fork())));
disturbances.end();
await disturbing;
proxy?.kill('SIGKILL');

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
