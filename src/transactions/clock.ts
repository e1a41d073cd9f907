// The gateway's one clock. It runs with real time, ahead of it by as much as the operator has advanced it.

export class Clock {
  #advancedMs = 0;

  now(): number {
    return Date.now() + this.#advancedMs;
  }

  /** True where that is a change. */
  advancedBy(ms: number): boolean {
    const moved = ms !== this.#advancedMs;
    this.#advancedMs = ms;
    return moved;
  }
}
