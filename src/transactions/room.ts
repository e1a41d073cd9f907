// Room for transactions: how many may be under way, and how many may wait for this process, shared among organisations.
// When it is short, whoever has most of it is refused first.
import { fault } from '../values/faults.js';
import type { OrganisationId } from '../values/ids.js';

/** An organisation; before it is known whose a request is, where it comes from. */
export type Tenant = number | string;

export interface RoomOptions {
  /** How many transactions may be under way at once, those that wait for an acquirer included. */
  readonly maxInFlight: number;
  /** How long a transaction may wait for this process, as a rule: a burst may wait for longer, a lasting queue may not. */
  readonly maxDelayMs: number;
}

/**
 * One tenant may have this many times of what it leaves free. So one alone has four fifths, several share them, and
 * there is always some room left for whoever comes next.
 */
const TIMES_OF_WHAT_IS_FREE = 4;
/** Of all that may be under way, how much for one acquirer link: one that does not answer cannot fill the room. */
const SHARE_OF_A_LINK = 0.9;
/** A queue that was never short for this long is no burst. */
const BURST_MS = 4_000;
/** An overload is over when the queue has been short for so long: each batch that is answered leaves it short for a moment. */
const CALM_MS = 500;
/** So many may wait however slow the database is. */
const LEAST_WAITING = 128;
const RATE_WINDOW_MS = 100;
const WEIGHT_OF_A_WINDOW = 0.3;

/** How many of something there are, in all and of each. */
class Count {
  #total = 0;
  readonly #of = new Map<Tenant, number>();

  get total(): number {
    return this.#total;
  }

  get tenants(): number {
    return this.#of.size;
  }

  of(tenant: Tenant): number {
    return this.#of.get(tenant) ?? 0;
  }

  add(tenant: Tenant): void {
    this.#total += 1;
    this.#of.set(tenant, this.of(tenant) + 1);
  }

  remove(tenant: Tenant): void {
    this.#total -= 1;
    const left = this.of(tenant) - 1;
    if (left > 0) this.#of.set(tenant, left);
    else this.#of.delete(tenant);
  }
}

export class Room {
  readonly #underWay = new Count();
  /** Those of them that wait for an acquirer. */
  readonly #asking = new Count();
  readonly #links = new Map<string, Count>();
  #answered = 0;
  #perMs = 0;
  #windowFromMs = performance.now();
  /** When the queue was short for the last time. */
  #shortAtMs = performance.now();
  /** When it was long for the last time. */
  #longAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: RoomOptions) {}

  /** Whether one more of this tenant has to be refused. */
  refuses(tenant: Tenant): boolean {
    const own = this.#underWay.of(tenant);
    if (tooMany(own, this.options.maxInFlight - this.#underWay.total)) return true;
    const waiting = this.#underWay.total - this.#asking.total;
    const most = this.#mostWaiting(waiting);
    if (most === undefined) return false;
    const ownWaiting = own - this.#asking.of(tenant);
    // Where a burst of somebody else has filled more than there is by now, everybody still has an equal share.
    return tooMany(ownWaiting, most - waiting) && ownWaiting >= most / (this.#underWay.tenants + 1);
  }

  /** How many wait for this process, and not for an acquirer. */
  get waiting(): number {
    return this.#underWay.total - this.#asking.total;
  }

  enter(tenant: Tenant): void {
    this.#underWay.add(tenant);
  }

  leave(tenant: Tenant): void {
    this.#underWay.remove(tenant);
    this.#answered += 1;
  }

  /** For as long as `work` goes on, which asks an acquirer over this link in the end. */
  async within<Result>(
    organisationId: OrganisationId,
    link: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    let count = this.#links.get(link);
    if (count === undefined) {
      count = new Count();
      this.#links.set(link, count);
    }
    const most = Math.ceil(this.options.maxInFlight * SHARE_OF_A_LINK);
    if (tooMany(count.of(organisationId), most - count.total)) throw fault('not_processed');
    count.add(organisationId);
    try {
      return await work();
    } finally {
      count.remove(organisationId);
    }
  }

  /** Who waits for an acquirer does not wait for us. */
  async asking<Result>(organisationId: OrganisationId, ask: () => Promise<Result>): Promise<Result> {
    this.#asking.add(organisationId);
    try {
      return await ask();
    } finally {
      this.#asking.remove(organisationId);
    }
  }

  /** How many may wait, if that has to be limited: as many as are served within the delay. A burst is not limited. */
  #mostWaiting(waiting: number): number | undefined {
    const nowMs = performance.now();
    this.#measure(nowMs);
    const most = Math.max(LEAST_WAITING, this.#perMs * this.options.maxDelayMs);
    const lasts = nowMs - this.#shortAtMs > BURST_MS;
    if (waiting > most / 4) this.#longAtMs = nowMs;
    else if (!lasts || nowMs - this.#longAtMs > CALM_MS) this.#shortAtMs = nowMs;
    return nowMs - this.#shortAtMs > BURST_MS ? most : undefined;
  }

  #measure(nowMs: number): void {
    const windowMs = nowMs - this.#windowFromMs;
    if (windowMs < RATE_WINDOW_MS) return;
    this.#perMs += (this.#answered / windowMs - this.#perMs) * WEIGHT_OF_A_WINDOW;
    this.#windowFromMs = nowMs;
    this.#answered = 0;
  }
}

function tooMany(own: number, free: number): boolean {
  return own >= TIMES_OF_WHAT_IS_FREE * free;
}
