// How long a client goes on: pauses that grow, an end to all of them, and a caller who may cancel.
import { tell } from './observed.js';
import { pause } from './runtime.js';
import type { Settings } from './settings.js';
import { type Answered, inWords, type Unanswered } from './transport.js';

export class Patience {
  readonly #untilMs: number;
  #nextMs: number;
  /** What the last request came to, and why it was not answered. */
  last = 'nothing was sent';
  cause: Error | undefined;

  constructor(
    private readonly settings: Settings,
    private readonly about: { readonly operation: string; readonly correlationId: string },
    private readonly signal: AbortSignal | undefined,
    limitMs: number = settings.outcomeTimeoutMs,
  ) {
    this.#untilMs = performance.now() + limitMs;
    this.#nextMs = settings.firstPauseMs;
  }

  note(result: Answered | Unanswered): void {
    this.last = inWords(result);
    this.cause = result.kind === 'unanswered' ? result.cause : undefined;
  }

  get leftMs(): number {
    return this.#untilMs - performance.now();
  }

  get end(): 'time_is_up' | 'cancelled' | undefined {
    if (this.signal?.aborted) return 'cancelled';
    return this.leftMs > 0 ? undefined : 'time_is_up';
  }

  /** Each pause is twice the one before; chance shortens it, so that many clients do not come back at once. */
  async wait(
    because: string,
    { atLeastMs = 0, atMostMs = Infinity }: { atLeastMs?: number; atMostMs?: number } = {},
  ): Promise<void> {
    const grownMs = this.#nextMs * (0.5 + Math.random() / 2);
    this.#nextMs = Math.min(this.#nextMs * 2, this.settings.longestPauseMs);
    const pauseMs = Math.ceil(Math.max(Math.min(Math.max(grownMs, atLeastMs), atMostMs, this.leftMs), 1));
    tell(this.settings, { kind: 'pause', ...this.about, because, pauseMs });
    await pause(pauseMs, this.signal);
  }
}
