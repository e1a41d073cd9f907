// Destroys sealed cards that no operation can need any more. It runs in the background in small steps, one process at a time,
// and merchants take turns. Declined, failed and voided transactions have lost their cards before (status.sql.ts).
import { CLOCKS_AGREE_WITHIN_MS, type Clock } from '../../clock/clock.js';
import {
  type Database,
  DatabaseUnavailable,
  type Queryable,
  type Statement,
} from '../../postgres/database.js';
import type { CustomerId, MerchantId, OrganisationId } from '../../values/ids.js';
import {
  ADD_CARD_REVIEWS,
  CARDS_OF_DELETED_CUSTOMER,
  CARDS_REVIEWED,
  FIRST_LOOK_AT_CARDS,
  LAST_LOOK_AT_CARDS,
  LEAVE_CARDS_OF_DELETED_CUSTOMER,
  LOCK_CARD_DESTRUCTION,
  LOOK_AT_CARDS_OF_DELETED_CUSTOMERS,
  LOOK_AT_HELD_CARDS,
  LOOK_FOR_CARD_REVIEW,
  MEND_CARD_REVIEWS,
  NEXT_CARD_REVIEW,
  POSTPONE_CARD_REVIEW,
} from './card-destruction.sql.js';
import { DESTROY_ENDED_CARDS, LOCK_CARDS } from './card-ends.sql.js';

/** Rows that one query of a review reads: a few milliseconds of PostgreSQL's time. */
const PAGE = 1_000;
/** How long a run continues while there is work: a quarter of the time, since it runs once a second. */
const RUN_MS = 250;
/** How often new merchants are looked for. */
const ADD_EVERY_MS = 60_000;
/** After this long behind, the operator is warned. */
const BEHIND_MS = 3_600_000;
/** By then every process has learnt of a clock that was moved. */
const CLOCKS_AGREE_AFTER_MS = 60_000;
/** After the machine's clock jumps, somebody has this long to correct it. */
const STEADY_AFTER_MS = 86_400_000;
const LOOKS = [
  FIRST_LOOK_AT_CARDS,
  LAST_LOOK_AT_CARDS,
  LOOK_AT_HELD_CARDS,
  LOOK_AT_CARDS_OF_DELETED_CUSTOMERS,
];

export interface CardOwner {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}

interface Seen {
  readonly more: boolean;
  /** The transactions whose cards must be judged. */
  readonly cards: readonly number[];
}

export interface CardDestructionEvents {
  /** The review of one merchant failed. The others continue. */
  readonly onFailed: (owner: CardOwner, error: unknown) => void;
  /** Work has been left over for this long. */
  readonly onBehind: (hours: number) => void;
  /** The database's clock and this process's differ by this much: nothing is destroyed. */
  readonly onClocksApart: (seconds: number) => void;
  /** The machine's clock jumped by this much, forward or back: nothing is destroyed for a day. */
  readonly onClockJumped: (seconds: number) => void;
}

export class CardDestruction {
  #addAtMs = 0;
  /** When there was last nothing left to do. */
  #doneMs = performance.now();
  #warnedMs = Number.NEGATIVE_INFINITY;
  #clocksApartMs: number | undefined;
  /** How far the machine's clock was ahead of the monotonic clock. */
  #aheadMs = Date.now() - performance.now();
  #steadyFromMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly events: CardDestructionEvents,
  ) {}

  async run(): Promise<void> {
    const begunMs = performance.now();
    // guard(card destruction: not after the clock has jumped): if (this.#jumped(begunMs)) return; ⇒
    if (this.#jumped(begunMs)) return;
    if (begunMs >= this.#addAtMs) {
      await this.database.query(ADD_CARD_REVIEWS);
      await this.database.query(MEND_CARD_REVIEWS);
      this.#addAtMs = begunMs + ADD_EVERY_MS;
    }
    do {
      if (await this.#reviewNext()) {
        this.#doneMs = performance.now();
        return;
      }
    } while (performance.now() - begunMs < RUN_MS);
    const behindMs = performance.now() - this.#doneMs;
    if (behindMs < BEHIND_MS || performance.now() - this.#warnedMs < BEHIND_MS) return;
    this.#warnedMs = performance.now();
    this.events.onBehind(Math.round(behindMs / BEHIND_MS));
  }

  /** Reviews one merchant. True when none is due, or another process is reviewing. */
  async #reviewNext(): Promise<boolean> {
    const { rows: looks } = await this.database.query<{ due: boolean; nowMs: number }>(LOOK_FOR_CARD_REVIEW);
    const [look] = looks;
    // guard(card destruction: clocks that differ are told of, though nothing is due): look === undefined || this.#clocksApart(look.nowMs) || !look ⇒ !look?
    if (look === undefined || this.#clocksApart(look.nowMs) || !look.due) return true;
    let owner: CardOwner | undefined;
    try {
      return await this.database.transaction(async (connection) => {
        const { rows } = await connection.query<{ locked: boolean; nowMs: number }>(LOCK_CARD_DESTRUCTION);
        // guard(card destruction: not when the clocks differ by the time of the turn): || this.#clocksApart(rows[0].nowMs) ⇒
        // guard(card destruction: one process at a time): !rows[0]?.locked || ⇒ rows[0] !== undefined &&
        if (!rows[0]?.locked || this.#clocksApart(rows[0].nowMs)) return true;
        [owner] = (await connection.query<CardOwner>(NEXT_CARD_REVIEW)).rows;
        if (owner === undefined) return true;
        await reviewMerchant(connection, owner);
        return false;
      });
    } catch (error) {
      if (owner === undefined || error instanceof DatabaseUnavailable) throw error;
      // guard(card destruction: a turn that fails is put back): await this.database.query(POSTPONE_CARD_REVIEW, [owner.organisationId, owner.merchantId]); ⇒
      await this.database.query(POSTPONE_CARD_REVIEW, [owner.organisationId, owner.merchantId]);
      this.events.onFailed(owner, error);
      return false;
    }
  }

  /** Where the database and the gateway share a clock, only a jump shows that the clock is wrong. */
  #jumped(nowMs: number): boolean {
    const aheadMs = Date.now() - nowMs;
    const byMs = aheadMs - this.#aheadMs;
    this.#aheadMs = aheadMs;
    if (Math.abs(byMs) >= CLOCKS_AGREE_WITHIN_MS) {
      this.#steadyFromMs = nowMs + STEADY_AFTER_MS;
      this.events.onClockJumped(Math.round(byMs / 1_000));
    }
    return nowMs < this.#steadyFromMs;
  }

  /** A wrong clock would destroy cards that are still needed. */
  #clocksApart(databaseMs: number): boolean {
    const apartMs = databaseMs - this.clock.now();
    // guard(card destruction: not while the clocks differ): Math.abs(apartMs) < CLOCKS_AGREE_WITHIN_MS ⇒ Number.isFinite(apartMs)
    if (Math.abs(apartMs) < CLOCKS_AGREE_WITHIN_MS) {
      this.#clocksApartMs = undefined;
      return false;
    }
    const nowMs = performance.now();
    this.#clocksApartMs ??= nowMs;
    if (nowMs - this.#clocksApartMs >= CLOCKS_AGREE_AFTER_MS && nowMs - this.#warnedMs >= BEHIND_MS) {
      this.#warnedMs = nowMs;
      this.events.onClocksApart(Math.round(apartMs / 1_000));
    }
    return true;
  }
}

async function reviewMerchant(connection: Queryable, owner: CardOwner): Promise<void> {
  const { organisationId, merchantId } = owner;
  const cards = new Set<number>();
  let more = false;
  for (const look of LOOKS) {
    const seen = await lookAt(connection, look, [organisationId, merchantId, PAGE]);
    for (const card of seen.cards) cards.add(card);
    more ||= seen.more;
  }
  // In one statement: two runs that locked cards in several statements could deadlock.
  const destroyed = await destroyEnded(connection, owner, [...cards]);
  await connection.query(CARDS_REVIEWED, [organisationId, merchantId, more, destroyed]);
}

/**
 * Destroys the cards in the transactions of a deleted customer: they are no longer kept for refunds. Returns how many. The
 * background run destroys the rest if there are very many, and those that can still be completed or voided.
 */
export async function destroyCardsOfCustomer(
  connection: Queryable,
  { organisationId, merchantId, customerId }: CardOwner & { readonly customerId: CustomerId },
): Promise<number> {
  const values = [organisationId, merchantId, customerId];
  const { more, cards } = await lookAt(connection, CARDS_OF_DELETED_CUSTOMER, [...values, PAGE]);
  // guard(card destruction: what a deletion leaves is worked off): if (more) await connection.query(LEAVE_CARDS_OF_DELETED_CUSTOMER, values); ⇒
  if (more) await connection.query(LEAVE_CARDS_OF_DELETED_CUSTOMER, values);
  return destroyEnded(connection, { organisationId, merchantId }, cards);
}

async function lookAt(connection: Queryable, look: Statement, values: readonly unknown[]): Promise<Seen> {
  const { rows } = await connection.query<Seen>(look, values);
  return rows[0] as Seen;
}

async function destroyEnded(
  connection: Queryable,
  { organisationId, merchantId }: CardOwner,
  cards: readonly number[],
): Promise<number> {
  if (cards.length === 0) return 0;
  const values = [organisationId, merchantId, cards];
  const { rows: locked } = await connection.query<Pick<Seen, 'cards'>>(LOCK_CARDS, values);
  // A statement of its own, so that it sees every claim made before the locks were taken.
  const { rows } = await connection.query<{ destroyed: number }>(DESTROY_ENDED_CARDS, [
    ...values,
    locked[0]?.cards ?? [],
  ]);
  return rows[0]?.destroyed ?? 0;
}
