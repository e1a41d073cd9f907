// Payments come first: a process that is busy with payments sends only a few webhooks a second, and catches up afterwards.
import { setTimeout as sleep } from 'node:timers/promises';

export interface PaceOptions {
  readonly perSecondWhileBusy: number;
  /** Whether payments wait for this process. */
  readonly paymentsWait: () => boolean;
}

/** A process counts as busy from this share of its time. */
const BUSY = 0.7;
const LOOK_EVERY_MS = 200;

export class Pace {
  #measured = performance.eventLoopUtilization();
  #measuredAtMs = performance.now();
  #busy = false;
  #nextMs = 0;

  constructor(private readonly options: PaceOptions) {}

  /** Time spent on webhooks does not count: they may use all that payments leave. */
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

  /** Called before each webhook. */
  async wait(): Promise<void> {
    if (!this.busy) return;
    const nowMs = performance.now();
    this.#nextMs = Math.max(this.#nextMs + 1_000 / this.options.perSecondWhileBusy, nowMs);
    if (this.#nextMs > nowMs) await sleep(this.#nextMs - nowMs);
  }
}
