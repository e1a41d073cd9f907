// The watcher of a process: assigns positions to new events, and wakes requests that wait for them. One poll serves all waiting requests;
// without any, polls are rare.
import type { Queryable } from '../postgres/database.js';
import { fault } from '../values/faults.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { slotsBetween } from './events.js';
import { MERCHANTS_BETWEEN, SEQUENCE_EVENTS } from './events.sql.js';

export interface WatcherOptions {
  readonly database: Queryable;
  /** Of short statements, over and over: assigns positions. */
  readonly looks: Queryable;
  /** How many requests may wait at once, in all and for one organisation. */
  readonly maxWaiting: number;
  readonly maxWaitingOfOrganisation: number;
  readonly onError: (error: unknown) => void;
  /** Events reached the feed long after they were written. */
  readonly onLate: (late: { readonly seconds: number; readonly events: number }) => void;
}

const POLL_EVERY_MS = 100;
const POLL_UNASKED_EVERY_MS = 1_000;
/** A longer delay is logged, at most once a minute. */
const LATE_MS = 5_000;
const LATE_EVERY_MS = 60_000;

export interface FeedFigures {
  /** How long the oldest event of the last round had waited. */
  readonly lagSeconds: number;
  /** Since the last completed round. */
  readonly roundAgeSeconds: number;
  /** Events to which this process has assigned positions. */
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
  /** Waiting requests know of everything up to here; undefined before the first round. */
  #announced: number | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #begunMs = 0;
  #lateReportedMs = Number.NEGATIVE_INFINITY;
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

  /** Also ends all waiting. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.endWaiting();
    await this.#running?.catch(() => {});
  }

  /** Ends all waiting, because the process stops. */
  endWaiting(): void {
    this.#stopped = true;
    for (const waiters of this.#waiting.values()) for (const waiter of waiters) waiter.end();
  }

  /** Everything committed before the call has a position when it resolves. Several calls share a round. */
  advance(): Promise<void> {
    if (this.#running === undefined) return this.#begin();
    // The current round may have read already.
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  /** Calls the listener whenever there are new events. Returns a function that stops it. */
  onAdvance(listener: (newest: number) => void): () => void {
    this.#listeners.add(listener);
    this.#schedule();
    return () => this.#listeners.delete(listener);
  }

  /** Registers a request that is going to wait, until its `leave`. */
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

  /** Schedules the next round, counted from the start of the last. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#stopped || this.#running !== undefined) return;
    const pauseMs = this.#asked ? POLL_EVERY_MS : POLL_UNASKED_EVERY_MS;
    const leftMs = Math.max(this.#begunMs + pauseMs - performance.now(), 1);
    this.#timer = setTimeout(() => {
      if (this.#running === undefined) this.#begin().catch(this.options.onError);
    }, leftMs);
  }

  async #round(): Promise<void> {
    const { database, looks } = this.options;
    const { rows } = await looks.query<Round>(SEQUENCE_EVENTS);
    const { newest, moved, lateMs } = rows[0] as Round;
    this.#lagMs = Math.max(0, lateMs ?? 0);
    this.#roundAtMs = performance.now();
    this.#moved += moved;
    this.#reportLate(lateMs ?? 0, moved);
    const announced = this.#announced ?? newest;
    // Requests from before the first round may have read before it.
    if (this.#announced === undefined)
      for (const waiters of this.#waiting.values()) for (const waiter of waiters) waiter.wake();
    if (newest > announced && this.#waiters > 0) {
      const values = [slotsBetween(announced, newest), announced, newest];
      const news = await database.query<{ merchantId: MerchantId }>(MERCHANTS_BETWEEN, values);
      for (const { merchantId } of news.rows)
        for (const waiter of this.#waiting.get(merchantId) ?? []) waiter.wake();
    }
    this.#announced = newest;
    if (newest <= announced) return;
    for (const listener of this.#listeners) listener(newest);
  }

  #reportLate(lateMs: number, events: number): void {
    if (lateMs < LATE_MS || performance.now() - this.#lateReportedMs < LATE_EVERY_MS) return;
    this.#lateReportedMs = performance.now();
    this.options.onLate({ seconds: Math.round(lateMs / 1000), events });
  }
}

export class Waiter {
  #woken = false;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(readonly leave: () => void) {}

  /** Resolves when there may be new events, the time is up, or the client has gone. */
  async wait(limitMs: number, gone?: AbortSignal): Promise<void> {
    if (!this.#woken && !this.#ended && gone?.aborted !== true) {
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
    this.#woken = false;
  }

  /** The process is stopping. */
  get ended(): boolean {
    return this.#ended;
  }

  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}
