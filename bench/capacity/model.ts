// A small simulation of purchases on given machines: gateways, each with one thread, that batch; databases, whose cores do the batches; a
// disk that takes its time for each commit. Costs come from measurements (capacity-costs.ts), so that what it says can be checked.
import type { Chance } from '../../testkit/chance.js';

/** What a purchase costs. Microseconds of a core, unless it says otherwise. */
export interface Costs {
  readonly gatewayEach: number;
  readonly gatewayBatch: number;
  readonly databaseEach: number;
  readonly databaseBatch: number;
  /** Of whoever asks, where that is on the same machine. */
  readonly load: number;
  /** How long a commit waits for the disk, or for the standby. */
  readonly commit: number;
}

export interface Machines {
  readonly gateways: number;
  /** Of each machine with gateways, or of the one machine. */
  readonly gatewayCores: number;
  /** Undefined: everything, also the load, is on the one machine. */
  readonly databaseCores: number | undefined;
  readonly acquirerUs: number;
  readonly maxBatch: number;
}

/** Either so many connections of which each asks again as soon as it is answered, or so many purchases a second by chance. */
export type Demand = { readonly connections: number } | { readonly perSecond: number };

export interface Outcome {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly batch: number;
  /** Shares of what there is. */
  readonly gatewayBusy: number;
  readonly databaseBusy: number;
}

/** What the gateway does for a purchase: before commit A, between A and the acquirer's answer, and after commit B. */
const STEPS = { before: 0.5, between: 0.2, after: 0.3 };

/** Whoever comes while a batch is under way goes with the next one. */
class Batches {
  sent = 0;
  entries = 0;
  #isUnderWay = false;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly gateway: Thread,
    readonly session: Thread,
    readonly costs: Costs,
    readonly maxBatch: number,
  ) {}

  join(then: () => void): void {
    this.#waiting.push(then);
    if (!this.#isUnderWay) this.#send();
  }

  #send(): void {
    const { costs, gateway, session } = this;
    this.#isUnderWay = true;
    gateway.work(costs.gatewayBatch / 2, () => {
      const batch = this.#waiting.splice(0, this.maxBatch);
      this.sent += 1;
      this.entries += batch.length;
      session.work(costs.databaseBatch / 2 + (batch.length * costs.databaseEach) / 2, () =>
        session.machine.time.after(costs.commit, () => {
          for (const then of batch) then();
          this.#isUnderWay = false;
          if (this.#waiting.length > 0) this.#send();
        }),
      );
    });
  }
}

const WARM_UP_SHARE = 0.2;
const FINE = 2 ** 32;

/** `seconds` of it, of which the first fifth does not count. */
export function simulate(
  costs: Costs,
  machines: Machines,
  demand: Demand,
  { seconds, chance }: { readonly seconds: number; readonly chance: Chance },
): Outcome {
  const time = new Time();
  const host = new Machine(time, machines.gatewayCores);
  const database = machines.databaseCores === undefined ? host : new Machine(time, machines.databaseCores);
  const asking = machines.databaseCores === undefined ? new Thread(host) : undefined;
  const gateways = Array.from({ length: machines.gateways }, () => {
    const thread = new Thread(host);
    const batches = () => new Batches(thread, new Thread(database), costs, machines.maxBatch);
    return { thread, claims: batches(), records: batches() };
  });
  const countFromUs = WARM_UP_SHARE * seconds * 1e6;
  const tookUs: number[] = [];

  function purchase(index: number, answered: () => void): void {
    const beganUs = time.nowUs;
    const { thread, claims, records } = gateways[index % gateways.length] as (typeof gateways)[number];
    thread.work(costs.gatewayEach * STEPS.before, () =>
      claims.join(() =>
        thread.work(costs.gatewayEach * STEPS.between, () =>
          time.after(machines.acquirerUs, () =>
            records.join(() =>
              thread.work(costs.gatewayEach * STEPS.after, () => {
                if (time.nowUs >= countFromUs) tookUs.push(time.nowUs - beganUs);
                answered();
              }),
            ),
          ),
        ),
      ),
    );
  }

  if ('connections' in demand) {
    for (let connection = 0; connection < demand.connections; connection += 1) {
      const again = (): void => {
        if (asking === undefined) purchase(connection, again);
        else asking.work(costs.load, () => purchase(connection, again));
      };
      again();
    }
  } else {
    let made = 0;
    const arrive = (): void => {
      purchase(made++, () => {});
      time.after((-Math.log(1 - chance.below(FINE) / FINE) * 1e6) / demand.perSecond, arrive);
    };
    arrive();
  }
  time.runUntil(seconds * 1e6);

  const sorted = tookUs.toSorted((one, other) => one - other);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0) / 1000;
  const all = gateways.flatMap(({ claims, records }) => [claims, records]);
  const sum = (of: (one: Batches) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    perSecond: Math.round(tookUs.length / (seconds * (1 - WARM_UP_SHARE))),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    batch:
      sum(({ entries }) => entries) /
      Math.max(
        1,
        sum(({ sent }) => sent),
      ),
    gatewayBusy: host.busyUs / (seconds * 1e6 * machines.gatewayCores),
    databaseBusy: database.busyUs / (seconds * 1e6 * database.cores),
  };
}

/** Everything that happens, in order. Equal times keep the order in which they were asked for. */
class Time {
  nowUs = 0;
  #order = 0;
  readonly #heap: { readonly at: number; readonly order: number; readonly then: () => void }[] = [];

  after(us: number, then: () => void): void {
    const heap = this.#heap;
    heap.push({ at: this.nowUs + us, order: this.#order++, then });
    for (let child = heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!this.#isBefore(child, parent)) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  runUntil(endUs: number): void {
    const heap = this.#heap;
    for (let next = heap[0]; next !== undefined && next.at <= endUs; next = heap[0]) {
      const last = heap.pop() as (typeof heap)[number];
      if (heap.length > 0) {
        heap[0] = last;
        this.#sink();
      }
      this.nowUs = next.at;
      next.then();
    }
  }

  #sink(): void {
    for (let parent = 0; ; ) {
      let least = parent;
      for (const child of [2 * parent + 1, 2 * parent + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, least)) least = child;
      }
      if (least === parent) return;
      this.#swap(parent, least);
      parent = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    return a.at === b.at ? a.order < b.order : a.at < b.at;
  }

  #swap(one: number, other: number): void {
    const kept = this.#heap[one];
    this.#heap[one] = this.#heap[other] as typeof kept & {};
    this.#heap[other] = kept as typeof kept & {};
  }
}

/** Who waits gets the next core that is free. */
class Machine {
  busyUs = 0;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly time: Time,
    readonly cores: number,
  ) {
    this.#free = cores;
  }

  work(us: number, then: () => void): void {
    const begin = () => {
      this.#free -= 1;
      this.time.after(us, () => {
        this.busyUs += us;
        this.#free += 1;
        then();
        if (this.#free > 0) this.#waiting.shift()?.();
      });
    };
    if (this.#free > 0) begin();
    else this.#waiting.push(begin);
  }
}

/** One thing after the other, whatever cores there are. */
class Thread {
  #isBusy = false;
  readonly #waiting: (() => void)[] = [];

  constructor(readonly machine: Machine) {}

  work(us: number, then: () => void): void {
    const begin = () => {
      this.#isBusy = true;
      this.machine.work(us, () => {
        this.#isBusy = false;
        then();
        if (!this.#isBusy) this.#waiting.shift()?.();
      });
    };
    if (this.#isBusy) this.#waiting.push(begin);
    else begin();
  }
}
