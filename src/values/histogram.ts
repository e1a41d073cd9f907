// A histogram: how many values there were of each size. To count one costs a few comparisons, so that payments can.

export class Histogram {
  /** One more than there are bounds: the last is for what lies beyond all of them. */
  readonly counts: number[];
  sum = 0;

  /** Each bound belongs to what lies below it. */
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

/** For times, in seconds: from what the gateway itself takes to what an acquirer is waited for. */
export const DURATIONS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
