// Checks at every heartbeat whether this machine's clock and the database's agree. The log says once that they differ and once
// that they agree again. On one machine they always agree, however wrong.
import type { Logger } from 'pino';
import { CLOCKS_AGREE_WITHIN_MS } from '../../clock/clock.js';

/** Why a gateway is not ready. */
export const CLOCKS_APART = 'the clocks of gateway and database differ by more than five minutes';

export class ClockWatch {
  #apartMs = 0;
  #told = false;

  constructor(private readonly log: Logger) {}

  /** The absolute difference. */
  get differenceMs(): number {
    return Math.abs(this.#apartMs);
  }

  get apart(): boolean {
    return this.differenceMs > CLOCKS_AGREE_WITHIN_MS;
  }

  /** Positive if the database's clock is ahead. */
  see(apartMs: number): void {
    this.#apartMs = apartMs;
    if (this.apart === this.#told) return;
    this.#told = this.apart;
    if (this.apart)
      this.log.error(
        { seconds: Math.round(apartMs / 1_000) },
        'the clocks of gateway and database differ: not ready',
      );
    else this.log.warn('the clocks of gateway and database agree again');
  }
}
