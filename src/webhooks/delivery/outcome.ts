// The result of an attempt, in the words of the log.
import type { Attempt, FailureReason } from './sender.js';

export type AttemptResult = 'delivered' | 'refused' | FailureReason;

export interface LoggedAttempt {
  readonly atMs: number;
  readonly eventId: string;
  readonly type: string;
  readonly version: number;
  /** Counts the attempts for this event from 1. A probe does not count: 0. */
  readonly attempt: number;
  readonly result: AttemptResult;
  readonly httpStatus: number | undefined;
  readonly durationMs: number;
  /** The beginning of an unsuccessful answer. */
  readonly response: string | undefined;
}

/** 2XX and nothing else is success. */
export function isDelivered(attempt: Attempt): boolean {
  return attempt.kind === 'answered' && Math.trunc(attempt.httpStatus / 100) === 2;
}

/** The part of an attempt that the log keeps. */
export function outcomeOf(
  attempt: Attempt,
): Pick<LoggedAttempt, 'result' | 'httpStatus' | 'durationMs' | 'response'> {
  const { durationMs } = attempt;
  if (attempt.kind === 'failed') {
    return { result: attempt.reason, httpStatus: undefined, durationMs, response: undefined };
  }
  const { httpStatus, excerpt } = attempt;
  return isDelivered(attempt)
    ? { result: 'delivered', httpStatus, durationMs, response: undefined }
    : { result: 'refused', httpStatus, durationMs, response: excerpt };
}
