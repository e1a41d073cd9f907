// The batcher: entries that are submitted while a batch is under way share the next one, and with it one statement. Where the
// statement writes, that is a group commit. There is no timer: a lone entry waits for nobody.
import { Histogram } from '../values/histogram.js';
import { DatabaseUnavailable, isDeadlock, isLockTimeout } from './database.js';

const DEADLOCK_ATTEMPTS = 5;
const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000];

/** Whose entry it is: batches are filled in turns over organisations. */
export interface Owned {
  readonly organisationId: number;
}

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatcherOptions<Entry> {
  /** How many entries one statement carries at most. 1 turns batching off. */
  readonly maxBatch: number;
  /** How many batches may be under way at once. */
  readonly lanes: number;
  /** Entries with the same key never share a batch: a statement can change a row only once. */
  readonly exclusiveKey?: (entry: Entry) => string;
  /** Where it says that organisations are not to be mixed, each batch is one organisation's. */
  readonly database?: { readonly mixesOrganisations: boolean };
}

export class Batcher<Entry extends Owned, Result> {
  /** By organisation, in the order in which they have their turns. None is empty. */
  readonly #waiting = new Map<number, Waiting<Entry, Result>[]>();
  #underWay = 0;
  /** Of the batches, how many entries they had. */
  readonly sizes = new Histogram(SIZES);

  constructor(
    private readonly run: (entries: readonly Entry[]) => Promise<readonly Result[]>,
    private readonly options: BatcherOptions<Entry>,
  ) {}

  submit(entry: Entry): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiting = { entry, resolve, reject };
      // Entries that are submitted in the same turn of the event loop share the first batch too.
      if (this.#waiting.size === 0 && this.#underWay < this.options.lanes) setImmediate(() => this.#flush());
      const line = this.#waiting.get(entry.organisationId);
      if (line === undefined) this.#waiting.set(entry.organisationId, [waiting]);
      else line.push(waiting);
    });
  }

  #flush(): void {
    while (this.#waiting.size > 0 && this.#underWay < this.options.lanes) {
      void this.#runBatch(this.#nextBatch());
    }
  }

  /**
   * In turns: what is left of the batch is divided among the organisations that wait, until it is full. However much
   * one of them has waiting, the entries of the others are in the next batch.
   */
  #nextBatch(): Waiting<Entry, Result>[] {
    const batch: Waiting<Entry, Result>[] = [];
    const keys = new Set<string>();
    const { maxBatch, database } = this.options;
    if (database?.mixesOrganisations === false) return this.#nextOfOne();
    for (let before = -1; before < batch.length && batch.length < maxBatch && this.#waiting.size > 0; ) {
      before = batch.length;
      const share = Math.ceil((maxBatch - before) / this.#waiting.size);
      for (const [organisationId, line] of [...this.#waiting]) {
        const room = Math.min(share, maxBatch - batch.length);
        if (room === 0) break;
        const rest = this.#take(line, room, batch, keys);
        // Behind those that have not had their turn yet.
        this.#waiting.delete(organisationId);
        if (rest.length > 0) this.#waiting.set(organisationId, rest);
      }
    }
    return batch;
  }

  #nextOfOne(): Waiting<Entry, Result>[] {
    const batch: Waiting<Entry, Result>[] = [];
    for (const [organisationId, line] of this.#waiting) {
      const rest = this.#take(line, this.options.maxBatch, batch, new Set());
      this.#waiting.delete(organisationId);
      if (rest.length > 0) this.#waiting.set(organisationId, rest);
      break;
    }
    return batch;
  }

  /** Moves the first entries of a line that may share the batch into it, and returns those that stay. */
  #take(
    line: Waiting<Entry, Result>[],
    room: number,
    batch: Waiting<Entry, Result>[],
    keys: Set<string>,
  ): Waiting<Entry, Result>[] {
    const { exclusiveKey } = this.options;
    if (exclusiveKey === undefined) {
      for (const waiting of line.splice(0, room)) batch.push(waiting);
      return line;
    }
    const full = batch.length + room;
    return line.filter((waiting) => {
      if (batch.length === full) return true;
      const key = exclusiveKey(waiting.entry);
      if (keys.has(key)) return true;
      keys.add(key);
      batch.push(waiting);
      return false;
    });
  }

  async #runBatch(batch: readonly Waiting<Entry, Result>[]): Promise<void> {
    this.#underWay += 1;
    this.sizes.observe(batch.length);
    await this.#send(batch);
    this.#underWay -= 1;
    this.#flush();
  }

  #rejectWaiting(error: DatabaseUnavailable): void {
    const lines = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const waiting of lines.flat()) waiting.reject(error);
  }

  async #send(batch: readonly Waiting<Entry, Result>[], attempt = 1): Promise<void> {
    try {
      const results = await this.run(batch.map((waiting) => waiting.entry));
      for (const [index, waiting] of batch.entries()) waiting.resolve(results[index] as Result);
    } catch (error) {
      if (isDeadlock(error) && attempt < DEADLOCK_ATTEMPTS) {
        // Its victim has only met somebody at a bad moment.
        await this.#send(batch, attempt + 1);
      } else if (error instanceof DatabaseUnavailable || isLockTimeout(error) || batch.length === 1) {
        for (const waiting of batch) waiting.reject(error);
        // Others have waited behind this batch for long enough, and would now wait for as long again.
        if (error instanceof DatabaseUnavailable && error.silent) this.#rejectWaiting(error);
      } else {
        // An entry spoilt the statement, and nothing was committed. No client can bring that about; should it happen all
        // the same, halves find the entry in a few statements.
        const half = batch.length >> 1;
        await this.#send(batch.slice(0, half));
        await this.#send(batch.slice(half));
      }
    }
  }
}
