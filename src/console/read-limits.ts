// How much operators may look at at the same time, so that reading does not slow payments.
import { ConsoleProblem } from './problems.js';

/** A browser has six connections. */
const MOST_OF_OPERATOR = 8;
const MOST = 32;
/** What reads all of something: an export, or the whole journal. */
const MOST_LONG_OF_OPERATOR = 1;
const MOST_LONG = 2;
const RETRY_AFTER_SECONDS = 2;

interface Read {
  readonly operator: string;
  readonly long: boolean;
}

export class ReadLimits {
  readonly #reads = new Set<Read>();

  /** Refuses one too many. To be called when the read is over: what this returns. */
  begin(operator: string, long: boolean): () => void {
    // guard(console: an operator reads little at a time): >= MOST_LONG_OF_OPERATOR ⇒ < 0
    const isOneTooMany =
      this.#count((read) => read.operator === operator) >= MOST_OF_OPERATOR ||
      this.#reads.size >= MOST ||
      (long && this.#count((read) => read.long && read.operator === operator) >= MOST_LONG_OF_OPERATOR) ||
      (long && this.#count((read) => read.long) >= MOST_LONG);
    if (isOneTooMany) throw new ConsoleProblem('too_many_reads', [], RETRY_AFTER_SECONDS);
    const read = { operator, long };
    this.#reads.add(read);
    return () => this.#reads.delete(read);
  }

  #count(counts: (read: Read) => boolean): number {
    return [...this.#reads].filter(counts).length;
  }
}
