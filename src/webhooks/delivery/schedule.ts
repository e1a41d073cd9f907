// When a failed webhook is retried: ten attempts over about three days.

/**
 * The pauses between attempts, as multiples of the first. With five seconds: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24
 * h.
 */
const GROWTH = [1, 60, 360, 1_440, 3_600, 7_200, 10_080, 14_400, 17_280];

export const MOST_ATTEMPTS = GROWTH.length + 1;

/** Each pause varies by this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;

/** A receiver that asks for a longer pause is called again all the same. */
const LONGEST_WISH_MS = 24 * 3_600_000;

export interface Failure {
  /** How many attempts there have been, this one included. */
  readonly attempts: number;
  /** The pause that the receiver asked for, if any. */
  readonly retryAfterMs?: number | undefined;
}

/** Undefined after the last attempt. */
export function pauseAfter(
  { attempts, retryAfterMs = 0 }: Failure,
  firstPauseMs: number,
): number | undefined {
  const growth = GROWTH[attempts - 1];
  if (growth === undefined) return undefined;
  const jitter = 1 + JITTER * (2 * Math.random() - 1);
  return Math.round(Math.max(firstPauseMs * growth * jitter, Math.min(retryAfterMs, LONGEST_WISH_MS)));
}

/** No pause is longer, whatever a receiver asks for; with an hour to spare. */
export function longestPauseMs(firstPauseMs: number): number {
  return Math.max(firstPauseMs * Math.max(...GROWTH) * (1 + JITTER), LONGEST_WISH_MS) + 3_600_000;
}

/** The header `Retry-After`, in seconds or as a date. Undefined if it is unreadable or in the past. */
export function readRetryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\s*\d{1,9}\s*$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return ms > 0 ? ms : undefined;
}
