// Limits log lines about frequent events: one line for each kind and second, and a limit on the number of kinds.

const LOG_EVERY_MS = 1_000;

interface Counted<First> {
  readonly first: First;
  count: number;
}

export class LogThrottle<First> {
  readonly #kinds = new Map<string, Counted<First>>();
  #others = 0;

  /** `write` gets the first event of each kind and their number; `writeOthers` the number of events beyond the limit. */
  constructor(
    private readonly mostKinds: number,
    private readonly write: (first: First, count: number) => void,
    private readonly writeOthers: (count: number) => void = () => {},
  ) {}

  /** Counts one event of a kind. `first` describes it, if it is the first of its kind. */
  add(kind: string, first: First): void {
    if (this.#kinds.size === 0) setTimeout(() => this.#writeAll(), LOG_EVERY_MS).unref();
    const counted = this.#kinds.get(kind);
    if (counted !== undefined) counted.count += 1;
    else if (this.#kinds.size < this.mostKinds) this.#kinds.set(kind, { first, count: 1 });
    else this.#others += 1;
  }

  #writeAll(): void {
    for (const { first, count } of this.#kinds.values()) this.write(first, count);
    if (this.#others > 0) this.writeOthers(this.#others);
    this.#kinds.clear();
    this.#others = 0;
  }
}
