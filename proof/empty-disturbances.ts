// What stands in the way meanwhile: processes that stand still, and locks that hold claims, fences or both back.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Chance } from '../testkit/chance.js';
import type { AttackedGateway } from '../testkit/installation.js';

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

export interface DisturbancesOptions {
  readonly gateways: readonly AttackedGateway[];
  /** Of the database. */
  readonly url: string;
  readonly random: Chance;
  readonly longStops: number;
}

export class Disturbances {
  readonly #gateways: readonly AttackedGateway[];
  readonly #url: string;
  readonly #random: Chance;
  #longStopsLeft: number;
  #over = false;

  readonly done: Record<string, number> = {};
  readonly complaints: string[] = [];

  constructor({ gateways, url, random, longStops }: DisturbancesOptions) {
    this.#gateways = gateways;
    this.#url = url;
    this.#random = random;
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
    await Promise.all([this.#locking(), this.#stopping()]);
  }

  async #locking(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url });
    await client.connect();
    while (!this.#over) {
      await sleep(this.#random.between(20, 250));
      const [what, statement] = this.#random.pick(Object.entries(LOCKS));
      await client.query('BEGIN');
      await client.query(statement);
      await sleep(this.#random.between(10, this.#random.pick([100, 700])));
      await client.query('COMMIT');
      this.#count(what);
    }
    await client.end();
  }

  async #stopping(): Promise<void> {
    while (!this.#over) {
      await sleep(this.#random.between(100, 900));
      const isLong = this.#longStopsLeft > 0 && this.#random.percent(20);
      const gateway = this.#random.pick(this.#gateways);
      gateway.kill('SIGSTOP');
      await sleep(isLong ? LONG_STOP_MS : this.#random.between(10, this.#random.pick([150, 1_500])));
      gateway.kill('SIGCONT');
      if (isLong) this.#longStopsLeft -= 1;
      this.#count(isLong ? 'long stops' : 'stops');
    }
  }

  #count(what: string): void {
    this.done[what] = (this.done[what] ?? 0) + 1;
  }
}
