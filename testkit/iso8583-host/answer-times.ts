// How long the host took for each answer, from reading the request to writing the answer: any further wait of a client is not
// the host's.

export class AnswerTimes {
  readonly #readMs = new Map<string, number>();
  readonly #tookMs = new Map<string, number>();

  read(key: string): void {
    this.#readMs.set(key, performance.now());
  }

  written(key: string): void {
    const readMs = this.#readMs.get(key);
    if (readMs === undefined) return;
    this.#readMs.delete(key);
    this.#tookMs.set(key, performance.now() - readMs);
  }

  /** In milliseconds, by terminal, day and STAN. */
  get all(): Record<string, number> {
    return Object.fromEntries(this.#tookMs);
  }
}
