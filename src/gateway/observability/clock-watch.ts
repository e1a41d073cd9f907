// Whether the clock of this machine and the database's agree, by every heartbeat. The operator is told once that they do not and once
// that they do. Where both are one machine's they always agree, however wrong.
import type { Logger } from 'pino';
import { CLOCKS_AGREE_WITHIN_MS } from '../../clock/clock.js';

/** Why a gateway is not ready. */
export const CLOCKS_APART = 'the clocks of gateway and database differ by more than five minutes';

export class ClockWatch {
  #apartMs = 0;
  #told = false;

  constructor(private readonly log: Logger) {}

  /** By how much they differ, whichever is ahead. */
  get differenceMs(): number {
    return Math.abs(this.#apartMs);
  }

  get apart(): boolean {
    return this.differenceMs > CLOCKS_AGREE_WITHIN_MS;
  }

  /** The database's is ahead by so much, or behind. */
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
