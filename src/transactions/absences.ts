// Keeps the promise that "there is no such transaction" is: a client may pay again because of it. A request that was
// received before that answer either is found by the search, or is not processed any more.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Batcher } from '../postgres/batcher.js';
import { numbers, texts } from '../postgres/columns.js';
import { type Database, isLockTimeout } from '../postgres/database.js';
import { fault } from '../values/faults.js';
import { FORGET_ABSENCES, MAKE_ABSENCES } from './absences.sql.js';

/** A request that creates a transaction, from its receipt until it is answered. */
export interface Presence {
  readonly correlationId: string;
  /** Every absence up to this number had been answered when the request was received. */
  readonly known: number;
  /** It stood behind another on its connection: received, and unseen by the searches of its own process. */
  readonly unseen: boolean;
  /** As soon as the caller is known, and the body. */
  organisationId?: number;
  merchantId?: number;
  /** It has arrived whole, and may be claimed at any moment. */
  begun: boolean;
  /** It must not begin any more. */
  turnedAway: boolean;
}

export interface CorrelationKey {
  readonly organisationId: number;
  readonly merchantId: number;
  readonly correlationId: string;
}

/** What a process tells the others, and what it hears of them. */
export interface AbsenceReport {
  readonly answered: number;
  readonly known: number;
}
export interface AbsenceNews {
  readonly newest: number;
  readonly forgotten: number;
  /** Up to this number every process has answered its own. */
  readonly answeredByAll: number;
}

export interface Looks<Found> {
  /** A glance: nothing found says nothing. */
  readonly look: () => Promise<Found | undefined>;
  /** By a server that commits after it looked. */
  readonly prove: () => Promise<Found | undefined>;
}

/** As many connections as the kernel keeps for a process that does not get round to accepting them. */
const BACKLOG = 4_096;
const FORGET_EVERY_MS = 60_000;
/** A request that takes longer to arrive is turned away. */
const ARRIVING_MS = 1_000;
/** One that has arrived is claimed or refused within milliseconds, as a rule; a slow database is waited for. */
const CLAIMING_MS = 5_000;
const PAUSE_MS = 10;
const LET_PASS_MS = 200;
const BATCHES = { maxBatch: 128, lanes: 1 };

export class Absences {
  #known: number;
  #answered = 0;
  #connections = 0;
  #forgetAtMs = performance.now() + FORGET_EVERY_MS;
  readonly #making: Batcher<CorrelationKey, undefined>;
  readonly #searches = new Set<Promise<unknown>>();
  /** By their correlation IDs. */
  readonly #present = new Map<string, Presence[]>();
  /** What is being searched for, and whether a request has arrived since that search began to look. */
  readonly #watches = new Set<{ readonly correlationId: string; arrived: boolean }>();

  constructor(
    private readonly database: Database,
    private readonly process: { readonly id: number; readonly reporting: boolean },
    { forgotten }: Pick<AbsenceNews, 'forgotten'>,
  ) {
    this.#known = forgotten;
    this.#making = new Batcher((keys) => this.#make(keys), BATCHES);
  }

  /** Up to here all are answered: what is received from now on is none of their business. */
  get known(): number {
    return this.#known;
  }

  /** A connection was accepted. */
  connected(): void {
    this.#connections += 1;
  }

  /** A request that creates a transaction is received just now, or was perhaps when only so much was known. */
  arrive(correlationId: string, knownBefore?: number): Presence {
    const presence = {
      correlationId,
      known: knownBefore ?? this.#known,
      unseen: knownBefore !== undefined,
      begun: false,
      turnedAway: false,
    };
    const others = this.#present.get(correlationId);
    if (others === undefined) this.#present.set(correlationId, [presence]);
    else others.push(presence);
    for (const watch of this.#watches) if (watch.correlationId === correlationId) watch.arrived = true;
    return presence;
  }

  /** It is answered, or its client has gone. */
  leave(presence: Presence): void {
    presence.turnedAway = true;
    const here = this.#present.get(presence.correlationId);
    if (here === undefined) return;
    const at = here.indexOf(presence);
    if (at !== -1) here.splice(at, 1);
    if (here.length === 0) this.#present.delete(presence.correlationId);
  }

  /** The transaction after all, or the promise that it is not there and will not be. */
  promise<Found>(key: CorrelationKey, looks: Looks<Found>): Promise<Found | undefined> {
    const search = this.#promise(key, looks).finally(() => this.#searches.delete(search));
    this.#searches.add(search);
    return search;
  }

  get report(): AbsenceReport {
    return { answered: this.#answered, known: this.#known };
  }

  hear({ newest, forgotten, answeredByAll }: AbsenceNews): void {
    // Ours up to the newest were made by searches that are answered, or are among these.
    void Promise.allSettled(this.#searches).then(() => {
      this.#answered = Math.max(this.#answered, newest);
    });
    void this.#everythingRead().then(() => {
      this.#known = Math.max(this.#known, answeredByAll, forgotten);
    });
  }

  async forget(): Promise<void> {
    if (performance.now() < this.#forgetAtMs) return;
    this.#forgetAtMs = performance.now() + FORGET_EVERY_MS;
    await this.database.query(FORGET_ABSENCES);
  }

  async #promise<Found>(key: CorrelationKey, { look, prove }: Looks<Found>): Promise<Found | undefined> {
    const startedMs = performance.now();
    const watch = { correlationId: key.correlationId, arrived: false };
    this.#watches.add(watch);
    try {
      for (let made = false; ; ) {
        // Claimed requests stay here until they are answered: they are found meanwhile.
        while (this.#anybodyHere(key)) {
          const found = await look();
          if (found !== undefined) return found;
          const waitedMs = performance.now() - startedMs;
          if (waitedMs > ARRIVING_MS) this.#turnAway(key);
          if (waitedMs > CLAIMING_MS) throw fault('not_processed');
          await sleep(PAUSE_MS);
        }
        watch.arrived = false;
        // For the other processes, and before the last look: here, searches wait for requests, or turn them away.
        if (!made) await this.#patiently(startedMs, () => this.#making.submit(key));
        made = true;
        const found = await prove();
        if (found !== undefined) return found;
        await this.#everythingRead();
        if (watch.arrived) continue;
        // The others may have given this process up, and no longer wait for its answers.
        if (!this.process.reporting) throw fault('not_processed');
        return undefined;
      }
    } finally {
      this.#watches.delete(watch);
    }
  }

  /** Tries again, with pauses in which claims go on, while a claim that is held up is in the way. */
  async #patiently(startedMs: number, make: () => Promise<undefined>): Promise<void> {
    for (;;) {
      try {
        return await make();
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        if (performance.now() - startedMs > CLAIMING_MS) throw fault('not_processed');
        await sleep(LET_PASS_MS);
      }
    }
  }

  #anybodyHere(key: CorrelationKey): boolean {
    return this.#whoIsHere(key).some((presence) => !presence.turnedAway);
  }

  /** Those of whom it is not known yet whose they are may be this merchant's. */
  #whoIsHere({ organisationId, merchantId, correlationId }: CorrelationKey): Presence[] {
    return (this.#present.get(correlationId) ?? []).filter(
      (presence) =>
        (presence.organisationId ?? organisationId) === organisationId &&
        (presence.merchantId ?? merchantId) === merchantId,
    );
  }

  /** Requests that take their time to arrive need not come any more. One that may be claimed has to be waited for. */
  #turnAway(key: CorrelationKey): void {
    for (const presence of this.#whoIsHere(key)) if (!presence.begun) presence.turnedAway = true;
  }

  /**
   * What is in the sockets now was sent before now: after a stall, or behind a crowd, that may be a while ago. At each
   * turn of the event loop all connections are read, but only one is accepted.
   */
  async #everythingRead(): Promise<void> {
    const last = this.#connections + BACKLOG;
    let before: number;
    do {
      before = this.#connections;
      // The first turn is the rest of the one under way.
      await nextTurn();
      await nextTurn();
    } while (before < this.#connections && before < last);
  }

  async #make(keys: readonly CorrelationKey[]): Promise<readonly undefined[]> {
    await this.database.query(MAKE_ABSENCES, [
      numbers(keys.map((key) => key.organisationId)),
      numbers(keys.map((key) => key.merchantId)),
      texts(keys.map((key) => key.correlationId)),
      this.process.id,
    ]);
    return keys.map(() => undefined);
  }
}
