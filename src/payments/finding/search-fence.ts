// The search fence. "There is no such transaction" tells a client that it may pay again, so a request that was received before
// that answer either is found by the search, or is not processed any more. A search that found nothing raises a fence: a numbered
// row, which refuses every claim of the same correlation ID whose request was received in an earlier epoch.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Batcher } from '../../postgres/batches.js';
import { type Database, isLockTimeout } from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { Trace } from '../../values/trace.js';
import { FENCED, FORGET_FENCES, RAISE_FENCES } from './search-fence.sql.js';

/** When something was received, as far as searches are concerned. */
export interface Moment {
  /** The search of every fence up to this number had been answered. */
  readonly epoch: number;
  /** So many searches of this process had been answered: there is none. */
  readonly toldAbsent: number;
  /** The newest fence of which this process had heard. */
  readonly heard: number;
}

/** A request that creates a transaction, from its receipt until it is answered. */
export interface InFlightRequest {
  readonly correlationId: string;
  /** The search of every fence up to this number had been answered when the request was received. */
  readonly epoch: number;
  /** The newest fence of which this process had heard by then. */
  readonly heard: number;
  /** It was held back, and a search of its own process that could not see it has been answered meanwhile: there is none. */
  readonly unseen: boolean;
  /** As soon as the caller is known, and the body. */
  organisationId?: OrganisationId;
  merchantId?: MerchantId;
  /** It has arrived whole, and may be claimed at any moment. */
  begun: boolean;
  /** It must not begin any more. */
  turnedAway: boolean;
  /** Where its client has named one. */
  trace?: Trace | undefined;
}

export interface Arrival {
  readonly received?: Moment | undefined;
  readonly sentAfter?: Moment | undefined;
  readonly trace?: Trace | undefined;
}

export interface CorrelationKey {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly correlationId: string;
}

/** What a process sends to the others with its heartbeat. */
export interface OwnEpochs {
  /** Up to this number the searches of this process are answered. */
  readonly answered: number;
  /** The epoch in which this process receives requests. */
  readonly current: number;
}

/** What a heartbeat brings back. */
export interface SharedEpochs {
  /** The number of the newest fence. */
  readonly newest: number;
  /** Fences up to this number are forgotten. */
  readonly forgotten: number;
  /** Up to this number the searches of every process are answered. */
  readonly answeredByAll: number;
}

export interface Looks<Found> {
  /** A glance: nothing found says nothing. */
  readonly look: () => Promise<Found | undefined>;
  /** By a server that commits after it looked. */
  readonly prove: () => Promise<Found | undefined>;
}

const FORGET_EVERY_MS = 60_000;
/** What was sent may arrive so much later: a network has lost it and sends it again, or a proxy has held it up. */
const LATE_MS = 10_000;
/** A request that takes longer to arrive is turned away. */
const ARRIVING_MS = 1_000;
/** One that has arrived is claimed or refused within milliseconds, as a rule; a slow database is waited for. */
const CLAIMING_MS = 5_000;
const PAUSE_MS = 10;
const LET_PASS_MS = 200;
const BATCHES = { maxBatch: 128, lanes: 1 };

export interface SearchFenceParts {
  readonly database: Database;
  /** This process in the registry. */
  readonly process: { readonly id: number; readonly alive: boolean };
  /** Fences up to this number are forgotten. */
  readonly forgotten: number;
  /** The newest fence, before this process listens. */
  readonly newest: number;
  /** As many connections as the kernel keeps for a process that does not get round to accepting them. */
  readonly backlog: number;
}

export class SearchFence {
  #now: Moment;
  /** What was now once, and when it began to be: the first of them lies back for as long as a request may be late. */
  readonly #past: { readonly moment: Moment; readonly sinceMs: number }[];
  #answered = 0;
  #connections = 0;
  #forgetAtMs = performance.now() + FORGET_EVERY_MS;
  readonly #raising: Batcher<CorrelationKey, undefined>;
  readonly #searches = new Set<Promise<unknown>>();
  /** By their correlation IDs. */
  readonly #inFlight = new Map<string, InFlightRequest[]>();
  /** What is being searched for, and whether a request has arrived since that search began to look. */
  readonly #watches = new Set<{ readonly correlationId: string; arrived: boolean }>();

  constructor(private readonly parts: SearchFenceParts) {
    this.#now = { epoch: parts.forgotten, toldAbsent: 0, heard: parts.newest };
    this.#past = [{ moment: this.#now, sinceMs: performance.now() }];
    this.#raising = new Batcher((keys) => this.#raise(keys), { ...BATCHES, database: parts.database });
  }

  /** Every search up to here is answered: its fence does not concern what is received from now on. */
  get now(): Moment {
    return this.#now;
  }

  /** A connection was accepted. */
  connected(): void {
    this.#connections += 1;
  }

  /**
   * The earliest moment at which what arrives now was sent: not before `known`, the last at which its connection certainly carried nothing,
   * and not longer ago than anything is late.
   */
  sentAfter(known?: Moment): Moment {
    const latestMs = performance.now() - LATE_MS;
    while (this.#past[1] !== undefined && this.#past[1].sinceMs <= latestMs) this.#past.shift();
    const { moment } = this.#past[0] as { moment: Moment };
    return known === undefined || known.toldAbsent < moment.toldAbsent || known.epoch < moment.epoch
      ? moment
      : known;
  }

  /** A request that creates a transaction is received just now, or was received earlier and held back. It may have been sent before that. */
  arrive(
    correlationId: string,
    { received = this.#now, sentAfter = received, trace }: Arrival = {},
  ): InFlightRequest {
    const request = {
      correlationId,
      epoch: Math.min(received.epoch, sentAfter.epoch),
      heard: received.heard,
      // guard(search: what was sent or held back before a search here found nothing is not processed): !== ⇒ >
      unseen: Math.min(received.toldAbsent, sentAfter.toldAbsent) !== this.#now.toldAbsent,
      begun: false,
      turnedAway: false,
      trace,
    };
    const others = this.#inFlight.get(correlationId);
    if (others === undefined) this.#inFlight.set(correlationId, [request]);
    else others.push(request);
    for (const watch of this.#watches) if (watch.correlationId === correlationId) watch.arrived = true;
    return request;
  }

  /** It is answered, or its client has gone. */
  leave(request: InFlightRequest): void {
    request.turnedAway = true;
    const others = this.#inFlight.get(request.correlationId);
    if (others === undefined) return;
    const at = others.indexOf(request);
    if (at !== -1) others.splice(at, 1);
    if (others.length === 0) this.#inFlight.delete(request.correlationId);
  }

  /** The transaction, or undefined as a promise: it is not there, and no request received until now will make it. */
  findOrFence<Found>(key: CorrelationKey, looks: Looks<Found>): Promise<Found | undefined> {
    const search = this.#findOrFence(key, looks).finally(() => this.#searches.delete(search));
    this.#searches.add(search);
    return search;
  }

  get epochs(): OwnEpochs {
    return { answered: this.#answered, current: this.#now.epoch };
  }

  /** After each heartbeat. */
  advance({ newest, forgotten, answeredByAll }: SharedEpochs): void {
    // Our fences up to the newest were raised by searches that are answered, or are among these.
    void Promise.allSettled(this.#searches).then(() => {
      this.#answered = Math.max(this.#answered, newest);
    });
    void this.#everythingRead().then(() => {
      const { epoch, heard } = this.#now;
      this.#now = {
        ...this.#now,
        epoch: Math.max(epoch, answeredByAll, forgotten),
        heard: Math.max(heard, newest),
      };
      // Each heartbeat, and not each search: what lies back may as well lie back a little further.
      this.#past.push({ moment: this.#now, sinceMs: performance.now() });
    });
  }

  async forget(): Promise<void> {
    if (performance.now() < this.#forgetAtMs) return;
    this.#forgetAtMs = performance.now() + FORGET_EVERY_MS;
    await this.parts.database.query(FORGET_FENCES);
  }

  async #findOrFence<Found>(key: CorrelationKey, { look, prove }: Looks<Found>): Promise<Found | undefined> {
    const startedMs = performance.now();
    const watch = { correlationId: key.correlationId, arrived: false };
    this.#watches.add(watch);
    try {
      for (let raised = false; ; ) {
        // Claimed requests stay here until they are answered: they are found meanwhile.
        while (this.#anyInFlight(key)) {
          const found = await look();
          if (found !== undefined) return found;
          const waitedMs = performance.now() - startedMs;
          if (waitedMs > ARRIVING_MS) this.#turnAway(key);
          if (waitedMs > CLAIMING_MS) throw fault('not_processed');
          await sleep(PAUSE_MS);
        }
        watch.arrived = false;
        // For the other processes, and before the last look: here, searches wait for requests, or turn them away.
        // guard(failover: the last look of a search ends with a commit): ) ⇒ && key.merchantId < 0)
        if (!raised) await this.#patiently(startedMs, () => this.#raising.submit(key));
        raised = true;
        // guard(failover: the last look of a search ends with a commit): prove ⇒ look
        const found = await prove();
        if (found !== undefined) return found;
        await this.#everythingRead();
        if (watch.arrived) continue;
        // The others may presume this process dead, and no longer wait for its answers.
        if (!this.parts.process.alive) throw fault('not_processed');
        // What is being held back has not arrived here, and does not pass our fence from now on.
        this.#now = { ...this.#now, toldAbsent: this.#now.toldAbsent + 1 };
        return undefined;
      }
    } finally {
      this.#watches.delete(watch);
    }
  }

  /** Tries again, with pauses in which claims go on, while a claim that is held up is in the way. */
  async #patiently(startedMs: number, raise: () => Promise<undefined>): Promise<void> {
    for (;;) {
      try {
        return await raise();
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        if (performance.now() - startedMs > CLAIMING_MS) throw fault('not_processed');
        await sleep(LET_PASS_MS);
      }
    }
  }

  #anyInFlight(key: CorrelationKey): boolean {
    return this.#inFlightUnder(key).some((request) => !request.turnedAway);
  }

  /** A request whose merchant is not yet known may belong to this one. */
  #inFlightUnder({ organisationId, merchantId, correlationId }: CorrelationKey): InFlightRequest[] {
    return (this.#inFlight.get(correlationId) ?? []).filter(
      (request) =>
        (request.organisationId ?? organisationId) === organisationId &&
        (request.merchantId ?? merchantId) === merchantId,
    );
  }

  /** Requests that take their time to arrive need not come any more. One that may be claimed has to be waited for. */
  #turnAway(key: CorrelationKey): void {
    for (const request of this.#inFlightUnder(key)) if (!request.begun) request.turnedAway = true;
  }

  /**
   * What is in the sockets now was sent before now: after a stall, or behind a crowd, that may be a while ago. At each
   * turn of the event loop all connections are read, but only one is accepted.
   */
  async #everythingRead(): Promise<void> {
    const last = this.#connections + this.parts.backlog;
    let before: number;
    do {
      before = this.#connections;
      // The first turn is the rest of the one under way.
      await nextTurn();
      await nextTurn();
    } while (before < this.#connections && before < last);
  }

  async #raise(keys: readonly CorrelationKey[]): Promise<readonly undefined[]> {
    await this.parts.database.query(RAISE_FENCES, [this.parts.process.id, ...FENCED.encode(keys)]);
    return keys.map(() => undefined);
  }
}
