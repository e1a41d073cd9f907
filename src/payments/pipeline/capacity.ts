// Capacity for transactions: how many may be in flight, and how many may queue in this process, shared among organisations.
// When capacity is short, the largest user is refused first.
import { fault } from '../../values/faults.js';
import type { OrganisationId } from '../../values/ids.js';

/** An organisation; or, before authentication, the client's address. */
export type Tenant = number | string;

export interface CapacityOptions {
  /** How many transactions may be in flight at once, including those waiting for an acquirer. */
  readonly maxInFlight: number;
  /**
   * How long a transaction may usually queue in this process. A burst may queue longer, a lasting queue may not. Beside other
   * organisations, one gets only a part of this.
   */
  readonly maxDelayMs: number;
}

/**
 * A tenant may use this many times what it leaves free. So one alone has four fifths, several share them, and newcomers always
 * find some capacity.
 */
const MULTIPLE_OF_FREE_CAPACITY = 4;
/** The share of a single tenant by this rule. */
const SHARE_OF_A_TENANT = MULTIPLE_OF_FREE_CAPACITY / (MULTIPLE_OF_FREE_CAPACITY + 1);
/** The same for acquirer links: one alone has nine tenths. However many links do not answer, the next still has capacity. */
const MULTIPLE_FOR_A_LINK = 9;
const SHARE_OF_A_LINK = MULTIPLE_FOR_A_LINK / (MULTIPLE_FOR_A_LINK + 1);
/** A queue that has not been short for this long is not a burst. */
const BURST_MS = 4_000;
/** An overload ends when the queue has been short for this long: each answered batch leaves it short for a moment. */
const CALM_MS = 500;
/** The part of the delay that one organisation may fill beside others: they wait for its batches, too. */
const SHARE_BESIDE_OTHERS = 0.2;
/** An organisation without requests for this long counts as absent. */
const PRESENT_MS = 1_000;
/** This many may always queue, however slow the database is. */
const LEAST_WAITING = 128;
const RATE_WINDOW_MS = 100;
const WEIGHT_OF_A_WINDOW = 0.3;

/** Counts in total and per key. */
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

export class Capacity {
  readonly #underWay = new Count();
  /** The in-flight transactions that wait for an acquirer. */
  readonly #asking = new Count();
  readonly #links = new Map<string, Count>();
  #answered = 0;
  #perMs = 0;
  #windowFromMs = performance.now();
  /** When the queue was last short. */
  #shortAtMs = performance.now();
  /** When the queue was last long. */
  #longAtMs = Number.NEGATIVE_INFINITY;

  /** The organisation that asked last, and since when no other has. */
  #present: Tenant | undefined;
  #aloneSinceMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: CapacityOptions) {}

  /** Whether one more transaction of this tenant must be refused. */
  refuses(tenant: Tenant): boolean {
    const own = this.#underWay.of(tenant);
    if (tooMany(own, this.options.maxInFlight - this.#underWay.total)) return true;
    const waiting = this.#underWay.total - this.#asking.total;
    const most = this.#mostWaiting(waiting, tenant);
    if (most === undefined || waiting < LEAST_WAITING) return false;
    const ownWaiting = own - this.#asking.of(tenant);
    // If another tenant's burst has used up the queue, everybody still gets an equal share.
    return tooMany(ownWaiting, most - waiting) && ownWaiting >= most / (this.#underWay.tenants + 1);
  }

  get inFlight(): number {
    return this.#underWay.total;
  }

  /** How many queue in this process, as opposed to waiting for an acquirer. */
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

  /**
   * Whether the link has capacity for one more transaction of this organisation. Links share the total, organisations share a
   * link, and an organisation's links share its part. So a link that does not answer leaves capacity for every other link.
   */
  hasCapacity(organisationId: OrganisationId, link: string): boolean {
    const count = this.#links.get(link);
    if (count === undefined) return true;
    let all = 0;
    let own = 0;
    for (const each of this.#links.values()) {
      all += each.total;
      own += each.of(organisationId);
    }
    const { maxInFlight } = this.options;
    const ofLink = (maxInFlight - all + count.total) * SHARE_OF_A_LINK;
    const ofOrganisation = (maxInFlight - all + own) * SHARE_OF_A_TENANT;
    const ownOnLink = count.of(organisationId);
    return !(
      count.total >= MULTIPLE_FOR_A_LINK * (maxInFlight - all) ||
      tooMany(ownOnLink, ofLink - count.total) ||
      // guard(room: links that do not answer leave some for the others): ownOnLink >= MULTIPLE_FOR_A_LINK * (ofOrganisation - own) ⇒ ofOrganisation < 0
      ownOnLink >= MULTIPLE_FOR_A_LINK * (ofOrganisation - own)
    );
  }

  /** Until `leaveLink`. */
  enterLink(organisationId: OrganisationId, link: string): void {
    if (!this.hasCapacity(organisationId, link)) throw fault('not_processed');
    let count = this.#links.get(link);
    if (count === undefined) {
      count = new Count();
      this.#links.set(link, count);
    }
    count.add(organisationId);
  }

  leaveLink(organisationId: OrganisationId, link: string): void {
    this.#links.get(link)?.remove(organisationId);
  }

  /** A transaction that waits for an acquirer does not queue in this process. */
  async asking<Result>(organisationId: OrganisationId, ask: () => Promise<Result>): Promise<Result> {
    this.#asking.add(organisationId);
    try {
      return await ask();
    } finally {
      this.#asking.remove(organisationId);
    }
  }

  /** How many may queue, if there is a limit: as many as are served within the delay. A burst has no limit. */
  #mostWaiting(waiting: number, tenant: Tenant): number | undefined {
    const nowMs = performance.now();
    this.#measure(nowMs);
    const share = this.#isAlone(tenant, nowMs) ? 1 : SHARE_BESIDE_OTHERS;
    const most = Math.max(LEAST_WAITING, this.#perMs * this.options.maxDelayMs * share);
    const lasts = nowMs - this.#shortAtMs > BURST_MS;
    if (waiting > most / 4) this.#longAtMs = nowMs;
    else if (!lasts || nowMs - this.#longAtMs > CALM_MS) this.#shortAtMs = nowMs;
    return nowMs - this.#shortAtMs > BURST_MS ? most : undefined;
  }

  /**
   * Requests with unknown credentials do not count as another organisation: otherwise anybody could shrink everybody's share.
   */
  #isAlone(tenant: Tenant, nowMs: number): boolean {
    if (typeof tenant === 'number' && tenant !== this.#present) {
      if (this.#present !== undefined) this.#aloneSinceMs = nowMs;
      this.#present = tenant;
    }
    return nowMs - this.#aloneSinceMs >= PRESENT_MS;
  }

  #measure(nowMs: number): void {
    const windowMs = nowMs - this.#windowFromMs;
    if (windowMs < RATE_WINDOW_MS) return;
    this.#perMs += (this.#answered / windowMs - this.#perMs) * WEIGHT_OF_A_WINDOW;
    this.#windowFromMs = nowMs;
    this.#answered = 0;
  }
}

/** The capacity that one transaction holds on the link that it is about to use. */
export class LinkPlace {
  #link: string | undefined;

  constructor(
    private readonly capacity: Capacity,
    private readonly organisationId: OrganisationId,
  ) {}

  /** Replaces the link held before. Throws if there is no capacity. */
  take(link: string): void {
    this.capacity.enterLink(this.organisationId, link);
    this.leave();
    this.#link = link;
  }

  leave(): void {
    if (this.#link !== undefined) this.capacity.leaveLink(this.organisationId, this.#link);
    this.#link = undefined;
  }
}

function tooMany(own: number, free: number): boolean {
  return own >= MULTIPLE_OF_FREE_CAPACITY * free;
}
