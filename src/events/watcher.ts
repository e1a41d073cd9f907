// The watcher of a process: has positions given to new events, and wakes whoever waits for them. One look for all who wait,
// and a rare one where nobody does.
import type { Queryable } from '../postgres/database.js';
import { fault } from '../values/faults.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { slotsBetween } from './events.js';
import { MERCHANTS_BETWEEN, SEQUENCE_EVENTS } from './events.sql.js';

export interface WatcherOptions {
  readonly database: Queryable;
  /** How many requests may wait at once, and how many of one organisation. */
  readonly maxWaiting: number;
  readonly maxWaitingOfOrganisation: number;
  readonly onError: (error: unknown) => void;
  /** Events have come into the feed long after they were written. */
  readonly onLate: (late: { readonly seconds: number; readonly events: number }) => void;
}

const LOOK_EVERY_MS = 100;
const LOOK_UNASKED_EVERY_MS = 1_000;
/** Later than this is worth a line in the log; one a minute. */
const LATE_MS = 5_000;
const LATE_EVERY_MS = 60_000;

export interface FeedFigures {
  /** How long the oldest event of the last round had waited. */
  readonly lagSeconds: number;
  /** Since the last round that came to its end. */
  readonly roundAgeSeconds: number;
  /** Events that this process has given positions. */
  readonly events: number;
}

interface Round {
  readonly newest: number;
  readonly moved: number;
  readonly lateMs: number | null;
}

export class EventWatcher {
  readonly #waiting = new Map<MerchantId, Set<Waiter>>();
  readonly #waitingOf = new Map<OrganisationId, number>();
  readonly #listeners = new Set<(newest: number) => void>();
  #waiters = 0;
  /** Whoever waits has been told of everything up to here; undefined before the first look. */
  #told: number | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #begunMs = 0;
  #lateSaidMs = Number.NEGATIVE_INFINITY;
  #lagMs = 0;
  #roundAtMs = performance.now();
  #moved = 0;
  #stopped = false;

  constructor(private readonly options: WatcherOptions) {}

  start(): void {
    this.#schedule();
  }

  get figures(): FeedFigures {
    return {
      lagSeconds: this.#lagMs / 1_000,
      roundAgeSeconds: (performance.now() - this.#roundAtMs) / 1_000,
      events: this.#moved,
    };
  }

  /** Whoever still waits is let go. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.endWaiting();
    await this.#running?.catch(() => {});
  }

  /** Lets everybody go who waits: their process ends. */
  endWaiting(): void {
    this.#stopped = true;
    for (const waiters of this.#waiting.values()) for (const waiter of waiters) waiter.end();
  }

  /** Everything that was committed before this was called has a position when it is done. Several calls share a round. */
  advance(): Promise<void> {
    if (this.#running === undefined) return this.#begin();
    // The one under way may have looked already.
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  /** Calls back whenever there are new events, until it is told to stop. */
  onAdvance(listener: (newest: number) => void): () => void {
    this.#listeners.add(listener);
    this.#schedule();
    return () => this.#listeners.delete(listener);
  }

  /** Somebody who is going to wait, until it leaves. */
  enter(organisationId: OrganisationId, merchantId: MerchantId): Waiter {
    const { maxWaiting, maxWaitingOfOrganisation } = this.options;
    const ofOrganisation = this.#waitingOf.get(organisationId) ?? 0;
    // guard(events: an organisation has so many who wait, and no more): || ofOrganisation >= maxWaitingOfOrganisation ⇒
    if (this.#waiters >= maxWaiting || ofOrganisation >= maxWaitingOfOrganisation)
      throw fault('too_many_waiting');
    const waiters = this.#waiting.get(merchantId) ?? new Set();
    const waiter = new Waiter(() => {
      waiters.delete(waiter);
      if (waiters.size === 0) this.#waiting.delete(merchantId);
      this.#waiters -= 1;
      const left = (this.#waitingOf.get(organisationId) ?? 0) - 1;
      if (left > 0) this.#waitingOf.set(organisationId, left);
      else this.#waitingOf.delete(organisationId);
    });
    waiters.add(waiter);
    this.#waiting.set(merchantId, waiters);
    this.#waiters += 1;
    this.#waitingOf.set(organisationId, ofOrganisation + 1);
    if (this.#stopped) waiter.end();
    this.#schedule();
    return waiter;
  }

  get #asked(): boolean {
    return this.#waiters + this.#listeners.size > 0;
  }

  #begin(): Promise<void> {
    this.#begunMs = performance.now();
    this.#running = this.#round().finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
    return this.#running;
  }

  /** The next look, counted from the last. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#stopped || this.#running !== undefined) return;
    const pauseMs = this.#asked ? LOOK_EVERY_MS : LOOK_UNASKED_EVERY_MS;
    const leftMs = Math.max(this.#begunMs + pauseMs - performance.now(), 1);
    this.#timer = setTimeout(() => {
      if (this.#running === undefined) this.#begin().catch(this.options.onError);
    }, leftMs);
  }

  async #round(): Promise<void> {
    const { database } = this.options;
    const { rows } = await database.query<Round>(SEQUENCE_EVENTS);
    const { newest, moved, lateMs } = rows[0] as Round;
    this.#lagMs = Math.max(0, lateMs ?? 0);
    this.#roundAtMs = performance.now();
    this.#moved += moved;
    this.#sayLate(lateMs ?? 0, moved);
    const told = this.#told ?? newest;
    // Whoever came before the first look may have read before it.
    if (this.#told === undefined)
      for (const waiters of this.#waiting.values()) for (const waiter of waiters) waiter.wake();
    if (newest > told && this.#waiters > 0) {
      const values = [slotsBetween(told, newest), told, newest];
      const news = await database.query<{ merchantId: MerchantId }>(MERCHANTS_BETWEEN, values);
      for (const { merchantId } of news.rows)
        for (const waiter of this.#waiting.get(merchantId) ?? []) waiter.wake();
    }
    this.#told = newest;
    if (newest <= told) return;
    for (const listener of this.#listeners) listener(newest);
  }

  #sayLate(lateMs: number, events: number): void {
    if (lateMs < LATE_MS || performance.now() - this.#lateSaidMs < LATE_EVERY_MS) return;
    this.#lateSaidMs = performance.now();
    this.options.onLate({ seconds: Math.round(lateMs / 1000), events });
  }
}

export class Waiter {
  #news = false;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(readonly leave: () => void) {}

  /** Until there may be something new, the time is up, or nobody is there any more to be told. */
  async news(limitMs: number, gone?: AbortSignal): Promise<void> {
    if (!this.#news && !this.#ended && gone?.aborted !== true) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        // guard(events: whoever goes away gives its place among those who wait back): gone?.addEventListener('abort', () => resolve(), { once: true }); ⇒
        gone?.addEventListener('abort', () => resolve(), { once: true });
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake?.();
      this.#wake = undefined;
    }
    this.#news = false;
  }

  /** Its process ends. */
  get ended(): boolean {
    return this.#ended;
  }

  wake(): void {
    this.#news = true;
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}
