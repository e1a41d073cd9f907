// Payments come first: a process that they keep busy sends only so many webhooks a second, and catches up afterwards.
import { setTimeout as sleep } from 'node:timers/promises';

export interface PaceOptions {
  readonly perSecondWhileBusy: number;
  /** Whether payments wait for this process. */
  readonly paymentsWait: () => boolean;
}

/** From this share of its time on a process counts as busy. */
const BUSY = 0.7;
const LOOK_EVERY_MS = 200;

export class Pace {
  #measured = performance.eventLoopUtilization();
  #measuredAtMs = performance.now();
  #busy = false;
  #nextMs = 0;

  constructor(private readonly options: PaceOptions) {}

  /** What webhooks themselves keep busy is not: they may take what payments leave. */
  get busy(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#measuredAtMs >= LOOK_EVERY_MS) {
      const measured = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(measured, this.#measured);
      this.#busy = utilization >= BUSY && this.options.paymentsWait();
      this.#measured = measured;
      this.#measuredAtMs = nowMs;
    }
    return this.#busy;
  }

  /** Before each webhook. */
  async wait(): Promise<void> {
    if (!this.busy) return;
    const nowMs = performance.now();
    this.#nextMs = Math.max(this.#nextMs + 1_000 / this.options.perSecondWhileBusy, nowMs);
    if (this.#nextMs > nowMs) await sleep(this.#nextMs - nowMs);
  }
}
