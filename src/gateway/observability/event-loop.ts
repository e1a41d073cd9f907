// How late the event loop of this process is, and how busy.
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** Readers see the last whole interval of this length, so that frequent readers take nothing from the others. */
const STRETCH_MS = 10_000;
const RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;
export const PERCENTILES = [50, 99, 100] as const;

export class EventLoop {
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #timer = setInterval(() => this.#turn(), STRETCH_MS).unref();
  #last: readonly number[] | undefined;

  constructor() {
    this.#delays.enable();
  }

  /** In seconds, for each of the percentiles. */
  get delays(): readonly number[] {
    return this.#last ?? this.#read();
  }

  /** Since the start. */
  get busySeconds(): number {
    return performance.eventLoopUtilization().active / 1_000;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#delays.disable();
  }

  #turn(): void {
    this.#last = this.#read();
    this.#delays.reset();
  }

  /** The histogram holds the time between two ticks; the planned pause is not part of the delay. */
  #read(): number[] {
    if (this.#delays.count === 0) return PERCENTILES.map(() => 0);
    return PERCENTILES.map((percentile) =>
      Math.max(0, this.#delays.percentile(percentile) / NANOSECONDS - RESOLUTION_MS / 1_000),
    );
  }
}
