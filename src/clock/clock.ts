// The gateway's one clock. It runs with real time, ahead of it by as much as the operator has advanced it.

/** Some times of a payment are this machine's, others the database's: further apart than that, one of the two is wrong. */
export const CLOCKS_AGREE_WITHIN_MS = 300_000;

/**
 * By how much the database's clock is ahead of this machine's, or behind. How long the answer was on its way is not known: at most from
 * when it was asked until now.
 */
export function clocksApart(databaseMs: number, askedMs: number, nowMs = Date.now()): number {
  if (databaseMs > nowMs) return databaseMs - nowMs;
  return Math.min(0, databaseMs - askedMs);
}

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
