// What a client tells about its work: enough for a log and a trace, and nothing of a card, a body or a query.
import type { Settings } from './settings.js';

interface About {
  /** For example `purchase` or `search`. */
  readonly operation: string;
  readonly correlationId: string;
}

interface Sent extends About {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
}

export type Observed =
  | (Sent & { readonly kind: 'request' })
  | (Sent & {
      readonly kind: 'answer';
      readonly status: number;
      readonly errorCodes: readonly string[];
      readonly durationMs: number;
    })
  | (Sent & { readonly kind: 'no_answer'; readonly reason: string; readonly durationMs: number })
  /** Before the next try: why, and for how long. */
  | (About & { readonly kind: 'pause'; readonly because: string; readonly pauseMs: number })
  /** The memory could not store an outcome. The outcome stands, and `recoverAll` will come upon it again. */
  | (About & { readonly kind: 'memory_failed' });

/** No observer can change what happens. */
export function tell({ observe }: Pick<Settings, 'observe'>, observed: Observed): void {
  try {
    observe?.(observed);
  } catch {
    // Its own affair.
  }
}
