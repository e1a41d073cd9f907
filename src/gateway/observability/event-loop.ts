// How late the event loop of this process is, and how busy.
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** Readers see the last whole interval of this length, so that frequent readers take nothing from the others. */
const STRETCH_MS = 10_000;
/** Each tick wakes the process: while it has little to do, it ticks less often. */
const RESOLUTION_MS = { busy: 20, idle: 200 };
/** The share of its time that a process is busy with more than itself. */
const BUSY = 0.03;
const NANOSECONDS = 1e9;
export const PERCENTILES = [50, 99, 100] as const;

export class EventLoop {
  #resolutionMs = RESOLUTION_MS.busy;
  #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: this.#resolutionMs });
  #used = performance.eventLoopUtilization();
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
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.#used);
    this.#used = used;
    this.#tickEvery(utilization < BUSY ? RESOLUTION_MS.idle : RESOLUTION_MS.busy);
  }

  #tickEvery(resolutionMs: number): void {
    if (resolutionMs === this.#resolutionMs) {
      this.#delays.reset();
      return;
    }
    this.#delays.disable();
    this.#resolutionMs = resolutionMs;
    this.#delays = monitorEventLoopDelay({ resolution: resolutionMs });
    this.#delays.enable();
  }

  /** The histogram holds the time between two ticks; the planned pause is not part of the delay. */
  #read(): number[] {
    if (this.#delays.count === 0) return PERCENTILES.map(() => 0);
    return PERCENTILES.map((percentile) =>
      Math.max(0, this.#delays.percentile(percentile) / NANOSECONDS - this.#resolutionMs / 1_000),
    );
  }
}
