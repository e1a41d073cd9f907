// A histogram, cheap enough for the path of a payment: one value costs a few comparisons.

export class Histogram {
  /** One count for each bound, and one for values beyond the last. */
  readonly counts: number[];
  sum = 0;

  /** A value equal to a bound counts below it. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let place = 0;
    while (place < bounds.length && value > (bounds[place] as number)) place += 1;
    (counts[place] as number) += 1;
    this.sum += value;
  }
}

/** In seconds: from the gateway's own time to the longest wait for an acquirer. */
export const DURATIONS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
