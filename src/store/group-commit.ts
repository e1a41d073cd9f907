// Group commit: entries that arrive while a batch is on its way to PostgreSQL travel together in the next one.
// There is no timer: a lone entry waits for nobody.
import { DatabaseUnavailable, isDeadlock } from './database.js';

const DEADLOCK_ATTEMPTS = 5;

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommitOptions<Entry> {
  /** How many entries one statement carries at most. 1 turns grouping off. */
  readonly maxBatch: number;
  /** How many batches may be on their way at once. */
  readonly lanes: number;
  /** Entries with the same key never share a batch: a statement can change a row only once. */
  readonly exclusiveKey?: (entry: Entry) => string;
}

export class GroupCommit<Entry, Result> {
  #waiting: Waiting<Entry, Result>[] = [];
  #underWay = 0;

  constructor(
    private readonly run: (entries: readonly Entry[]) => Promise<readonly Result[]>,
    private readonly options: GroupCommitOptions<Entry>,
  ) {}

  submit(entry: Entry): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      // Entries that are submitted in the same turn of the event loop share the first batch too.
      if (this.#waiting.length === 1 && this.#underWay < this.options.lanes)
        setImmediate(() => this.#depart());
    });
  }

  #depart(): void {
    while (this.#waiting.length > 0 && this.#underWay < this.options.lanes) {
      void this.#travel(this.#board());
    }
  }

  #board(): Waiting<Entry, Result>[] {
    const { maxBatch, exclusiveKey } = this.options;
    if (exclusiveKey === undefined) return this.#waiting.splice(0, maxBatch);
    const batch: Waiting<Entry, Result>[] = [];
    const left: Waiting<Entry, Result>[] = [];
    const keys = new Set<string>();
    for (const waiting of this.#waiting) {
      const key = exclusiveKey(waiting.entry);
      if (batch.length < maxBatch && !keys.has(key)) {
        keys.add(key);
        batch.push(waiting);
      } else {
        left.push(waiting);
      }
    }
    this.#waiting = left;
    return batch;
  }

  async #travel(batch: readonly Waiting<Entry, Result>[]): Promise<void> {
    this.#underWay += 1;
    try {
      const results = await this.run(batch.map((waiting) => waiting.entry));
      for (const [index, waiting] of batch.entries()) waiting.resolve(results[index] as Result);
    } catch (error) {
      if (error instanceof DatabaseUnavailable || (batch.length === 1 && !isDeadlock(error))) {
        for (const waiting of batch) waiting.reject(error);
      } else {
        // One entry spoilt the statement (a constraint, a deadlock) and nothing was committed: each goes alone.
        for (const waiting of batch) await this.#alone(waiting);
      }
    } finally {
      this.#underWay -= 1;
      this.#depart();
    }
  }

  async #alone(waiting: Waiting<Entry, Result>, attempt = 1): Promise<void> {
    try {
      const [result] = await this.run([waiting.entry]);
      waiting.resolve(result as Result);
    } catch (error) {
      // The victim of a deadlock has only met somebody at a bad moment.
      if (isDeadlock(error) && attempt < DEADLOCK_ATTEMPTS) await this.#alone(waiting, attempt + 1);
      else waiting.reject(error);
    }
  }
}
