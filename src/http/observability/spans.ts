// What is told of a request that is traced: to whoever takes spans, once it is answered.
import type { Trace } from '../../values/trace.js';

export interface TracedRequest {
  readonly trace: Trace;
  readonly method: string;
  /** The pattern, not the address. */
  readonly route: string;
  readonly status: number;
  /** By a fault of ours or of an acquirer. */
  readonly failed: boolean;
  readonly startedMs: number;
  readonly endedMs: number;
}

export interface Spans {
  /** Whether more are taken now. Where not, nobody need write any down. */
  readonly wanted: boolean;
  take(request: TracedRequest): void;
}

export const NO_SPANS: Spans = { wanted: false, take: () => {} };
