// Room for transactions: how many may be under way, and how many may wait for this process, shared among organisations.
// When it is short, whoever has most of it is refused first.
import { fault } from '../../values/faults.js';
import type { OrganisationId } from '../../values/ids.js';

/** An organisation; before it is known whose a request is, where it comes from. */
export type Tenant = number | string;

export interface RoomOptions {
  /** How many transactions may be under way at once, those that wait for an acquirer included. */
  readonly maxInFlight: number;
  /**
   * How long a transaction may wait for this process, as a rule: a burst may wait for longer, a lasting queue may not. Where several
   * organisations are there, a part of it.
   */
  readonly maxDelayMs: number;
}

/**
 * One tenant may have this many times of what it leaves free. So one alone has four fifths, several share them, and
 * there is always some room left for whoever comes next.
 */
const TIMES_OF_WHAT_IS_FREE = 4;
/** What one alone has by this rule. */
const SHARE_OF_A_TENANT = TIMES_OF_WHAT_IS_FREE / (TIMES_OF_WHAT_IS_FREE + 1);
/** The same for acquirer links: one alone has nine tenths. However many do not answer, there is some room left for the next. */
const TIMES_FOR_A_LINK = 9;
const SHARE_OF_A_LINK = TIMES_FOR_A_LINK / (TIMES_FOR_A_LINK + 1);
/** A queue that was never short for this long is no burst. */
const BURST_MS = 4_000;
/** An overload is over when the queue has been short for so long: each batch that is answered leaves it short for a moment. */
const CALM_MS = 500;
/** Beside other organisations, the part of the delay that one may fill: the others wait for its batches, too. */
const SHARE_BESIDE_OTHERS = 0.2;
/** An organisation that has asked for nothing for so long is not there. */
const PRESENT_MS = 1_000;
/** So many may wait in this process however slow the database is, whosever they are. */
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

  /** Which organisation has asked last, and since when no other has. */
  #present: Tenant | undefined;
  #aloneSinceMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: RoomOptions) {}

  /** Whether one more of this tenant has to be refused. */
  refuses(tenant: Tenant): boolean {
    const own = this.#underWay.of(tenant);
    if (tooMany(own, this.options.maxInFlight - this.#underWay.total)) return true;
    const waiting = this.#underWay.total - this.#asking.total;
    const most = this.#mostWaiting(waiting, tenant);
    if (most === undefined || waiting < LEAST_WAITING) return false;
    const ownWaiting = own - this.#asking.of(tenant);
    // Where a burst of somebody else has filled more than there is by now, everybody still has an equal share.
    return tooMany(ownWaiting, most - waiting) && ownWaiting >= most / (this.#underWay.tenants + 1);
  }

  /** How many are under way. */
  get inFlight(): number {
    return this.#underWay.total;
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

  /**
   * Whether one more of this organisation has room on the link. Links share what there is, organisations share a link, and the links
   * of an organisation share what it may have: so whoever waits for a link that does not answer leaves room for every other link.
   */
  hasRoom(organisationId: OrganisationId, link: string): boolean {
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
      count.total >= TIMES_FOR_A_LINK * (maxInFlight - all) ||
      tooMany(ownOnLink, ofLink - count.total) ||
      // guard(room: links that do not answer leave some for the others): ownOnLink >= TIMES_FOR_A_LINK * (ofOrganisation - own) ⇒ ofOrganisation < 0
      ownOnLink >= TIMES_FOR_A_LINK * (ofOrganisation - own)
    );
  }

  /** Until `leaveLink`. */
  enterLink(organisationId: OrganisationId, link: string): void {
    if (!this.hasRoom(organisationId, link)) throw fault('not_processed');
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

  /** Whose credentials nobody knows is no other organisation: anybody could make everybody's room small. */
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

/** The place of one transaction on whichever link it is about to go over. */
export class LinkPlace {
  #link: string | undefined;

  constructor(
    private readonly room: Room,
    private readonly organisationId: OrganisationId,
  ) {}

  /** In place of the one that it had before. Throws where there is no room. */
  take(link: string): void {
    this.room.enterLink(this.organisationId, link);
    this.leave();
    this.#link = link;
  }

  leave(): void {
    if (this.#link !== undefined) this.room.leaveLink(this.organisationId, this.#link);
    this.#link = undefined;
  }
}

function tooMany(own: number, free: number): boolean {
  return own >= TIMES_OF_WHAT_IS_FREE * free;
}
