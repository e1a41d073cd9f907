// Counts what happens too often for a line of the log each: one line for each kind and second, and a bound on the kinds.

const TELL_EVERY_MS = 1_000;

interface Counted<First> {
  readonly first: First;
  count: number;
}

export class Tally<First> {
  readonly #kinds = new Map<string, Counted<First>>();
  #others = 0;

  /** `tell` gets each kind with what was said of its first; `tellOthers` how many were of further kinds. */
  constructor(
    private readonly mostKinds: number,
    private readonly tell: (first: First, count: number) => void,
    private readonly tellOthers: (count: number) => void = () => {},
  ) {}

  /** One more of a kind. `first` is what the line says, should this be the first of its kind. */
  add(kind: string, first: First): void {
    if (this.#kinds.size === 0) setTimeout(() => this.#tellAll(), TELL_EVERY_MS).unref();
    const counted = this.#kinds.get(kind);
    if (counted !== undefined) counted.count += 1;
    else if (this.#kinds.size < this.mostKinds) this.#kinds.set(kind, { first, count: 1 });
    else this.#others += 1;
  }

  #tellAll(): void {
    for (const { first, count } of this.#kinds.values()) this.tell(first, count);
    if (this.#others > 0) this.tellOthers(this.#others);
    this.#kinds.clear();
    this.#others = 0;
  }
}
