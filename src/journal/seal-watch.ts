// What a process knows of sealed rows: which were found to fit their seals, and what was reported of others.

/** Everything that a row says: texts, numbers and lists of them. Null: there is no such row. */
export type SealedState = readonly unknown[] | null;

/** A row as it is. */
export interface SealedRow {
  /** What the journal calls it, such as `merchant/17`. */
  readonly subject: string;
  readonly state: SealedState;
}

/** A row as a statement reads it, beside its newest seal (`newestSeal`). */
export interface ReadRow extends SealedRow {
  readonly newest: Buffer | null;
}

/** Why a row is not used. */
export type Misfit =
  | 'not sealed'
  | 'changed'
  | 'removed, and is back'
  | 'is gone'
  | 'no genuine seal among the newest';

/** What a process reports. */
export interface SealProblem {
  readonly subject: string;
  readonly problem: Misfit | typeof FORGED;
}

export const FORGED = 'a seal in the journal is forged';

/** The same is reported again after this time. */
const AGAIN_AFTER_MS = 60_000;
const MOST_REMEMBERED = 10_000;
const LONGEST_REMEMBERED = 4_096;

interface SealKnown {
  readonly version: number;
  readonly seal: string;
}

interface Fitting {
  readonly newest: Buffer;
  readonly state: string;
  readonly known: SealKnown;
}

export class SealWatch {
  readonly #fitting = new Map<string, Fitting>();
  readonly #reported = new Map<string, number>();
  readonly #forged = new Set<number>();
  #count = 0;
  #forgedEntries = 0;

  /** `onProblem`: once a minute for as long as it lasts. `onForgedEntry`: once for each entry. */
  constructor(
    private readonly onProblem: (problem: SealProblem, isFirst: boolean) => void,
    private readonly onForgedEntry: (entry: number) => void,
  ) {}

  /** How often a row did not fit. */
  get count(): number {
    return this.#count;
  }

  /** How often a forged journal entry was passed over, or found by the chain. */
  get forgedEntries(): number {
    return this.#forgedEntries;
  }

  /** An entry that would have decided something has a wrong MAC. */
  passedOver(entry: number): void {
    this.#forgedEntries += 1;
    if (this.#forged.has(entry) || this.#forged.size >= MOST_REMEMBERED) return;
    this.#forged.add(entry);
    this.onForgedEntry(entry);
  }

  /** The chain has found entries that Tollgate did not write. */
  foreign(entries: number): void {
    this.#forgedEntries += entries;
  }

  /** The seal of a row that is as it was when it was found to fit. */
  known({ subject, state, newest }: ReadRow): SealKnown | undefined {
    const known = this.#fitting.get(subject);
    if (known === undefined || newest === null || !known.newest.equals(newest)) return undefined;
    return known.state === JSON.stringify(state) ? known.known : undefined;
  }

  fits({ subject, state, newest }: ReadRow, { version, seal }: SealKnown): void {
    const text = JSON.stringify(state);
    if (newest === null || text.length > LONGEST_REMEMBERED) return;
    remember(this.#fitting, subject, { newest, state: text, known: { version, seal } });
  }

  report(subject: string, problem: SealProblem['problem']): void {
    this.#count += 1;
    const what = `${subject} ${problem}`;
    const nowMs = performance.now();
    const reportedMs = this.#reported.get(what);
    if (reportedMs !== undefined && nowMs - reportedMs < AGAIN_AFTER_MS) return;
    remember(this.#reported, what, nowMs);
    this.onProblem({ subject, problem }, reportedMs === undefined);
  }
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MOST_REMEMBERED) map.delete(map.keys().next().value as string);
}
