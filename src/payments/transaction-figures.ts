// Metrics of transactions: counts by outcome, and how long acquirers took. They are kept in fields and read on demand. The
// number of labels is bounded, whatever clients or acquirers send.
import { DURATIONS, Histogram } from '../values/histogram.js';
import type { Resolved } from './doubt/resolution.js';
import type { Intent, Outcome } from './transaction.js';

/** A combination of labels and its count. */
export interface OutcomeCount {
  readonly operation: string;
  readonly acquirer: string;
  readonly cardType: string;
  readonly status: string;
  readonly responseCode: string;
  count: number;
}

export interface ResolutionCount {
  readonly acquirer: string;
  readonly found: string;
  readonly by: string;
  count: number;
}

type Counted = Pick<Intent, 'transactionType' | 'acquirer' | 'cardType'>;
type CountedOutcome = Pick<Outcome, 'status' | 'responseCode'>;

/** More combinations than any installation has of links, card types and codes; beyond this, codes are counted together. */
const MOST_KINDS = 5_000;
const OTHER_CODE = 'other';
const NO_CODE = 'none';
const NO_CARD = 'none';

type Nested<Leaf> = Map<string, Leaf>;

export class TransactionFigures {
  /** By link, operation, card type, status and code: nested small maps, which build no key strings. */
  readonly #tree: Nested<Nested<Nested<Nested<Nested<OutcomeCount>>>>> = new Map();
  readonly #outcomes: OutcomeCount[] = [];
  readonly #resolutions = new Map<string, ResolutionCount>();
  readonly #durations = new Map<string, Histogram>();

  /** Codes outside this set are counted together. */
  constructor(private readonly knownCodes: ReadonlySet<string>) {}

  get outcomes(): readonly OutcomeCount[] {
    return this.#outcomes;
  }

  get resolutions(): Iterable<ResolutionCount> {
    return this.#resolutions.values();
  }

  /** By link. */
  get durations(): ReadonlyMap<string, Histogram> {
    return this.#durations;
  }

  /** Counts the outcome that the client receives. */
  note({ acquirer, transactionType, cardType = NO_CARD }: Counted, outcome: CountedOutcome): void {
    const byOperation = within(this.#tree, acquirer);
    const byCardType = within(byOperation, transactionType);
    const byStatus = within(byCardType, cardType);
    const byCode = within(byStatus, outcome.status);
    const responseCode = this.#codeOf(outcome.responseCode);
    let counted = byCode.get(responseCode);
    if (counted === undefined) {
      const { status } = outcome;
      counted = { operation: transactionType, acquirer, cardType, status, responseCode, count: 0 };
      byCode.set(responseCode, counted);
      this.#outcomes.push(counted);
    }
    counted.count += 1;
  }

  noteResolved({ acquirer, found, by }: Resolved): void {
    const name = `${acquirer}\n${found}\n${by}`;
    const counted = this.#resolutions.get(name) ?? { acquirer, found, by, count: 0 };
    counted.count += 1;
    this.#resolutions.set(name, counted);
  }

  noteDuration(acquirer: string, durationMs: number): void {
    let durations = this.#durations.get(acquirer);
    if (durations === undefined) {
      durations = new Histogram(DURATIONS);
      this.#durations.set(acquirer, durations);
    }
    durations.observe(durationMs / 1_000);
  }

  #codeOf(code: string | undefined): string {
    if (code === undefined) return NO_CODE;
    // guard(metrics: an acquirer makes no new series with its response codes): this.knownCodes.has(code) && this.#outcomes.length < MOST_KINDS ? code : OTHER_CODE ⇒ code
    return this.knownCodes.has(code) && this.#outcomes.length < MOST_KINDS ? code : OTHER_CODE;
  }
}

function within<Leaf>(map: Nested<Nested<Leaf>>, key: string): Nested<Leaf> {
  let found = map.get(key);
  if (found === undefined) {
    found = new Map();
    map.set(key, found);
  }
  return found;
}
