// What is known of a request, stage by stage: received, authenticated, checked. Each stage is a value of its own, made here, as are the
// correlation ID and the trace that a request names.
import { randomUUID } from 'node:crypto';
import type { Caller } from '../organisations/users/callers.js';
import type { InFlightRequest } from '../payments/finding/search-fence.js';
import { containsCardNumber } from '../values/card.js';
import { isCorrelationId } from '../values/text.js';
import { Trace } from '../values/trace.js';
import { type Problem, placeOf, problem } from './problems.js';
import { CorrelationId } from './schemas.js';
import { checker } from './validation.js';

interface ReceivedRequest {
  readonly stage: 'received';
  readonly startedMs: number;
  /** That of the request, if it is well-formed; one that is made up where a look-up came without. */
  readonly correlationId: string | undefined;
  /** Where its client has named one. */
  readonly trace: Trace | undefined;
}

export interface AuthenticatedRequest {
  readonly stage: 'authenticated';
  readonly startedMs: number;
  readonly correlationId: string | undefined;
  readonly trace: Trace | undefined;
  readonly caller: Caller;
  /** Where it came from. */
  readonly address: string;
  /** Of a request that creates a transaction. */
  readonly inFlight: InFlightRequest | undefined;
  /** Of one that may wait: whether its client has gone. */
  readonly gone: AbortSignal | undefined;
}

/** Of a request until it is answered. */
export type RequestContext = ReceivedRequest | AuthenticatedRequest;

/** What an operation handles: nothing in it is unchecked. */
export interface CheckedRequest<Path = unknown, Query = unknown, Body = unknown> {
  readonly caller: Caller;
  readonly address: string;
  readonly correlationId: string;
  /** Of an operation that creates a transaction. */
  readonly inFlight: InFlightRequest | undefined;
  /** Of an operation that waits. */
  readonly gone: AbortSignal | undefined;
  readonly path: Path;
  readonly query: Query;
  readonly body: Body;
}

export function received(
  method: string,
  sentCorrelationId: string | string[] | undefined,
  trace?: Trace,
): ReceivedRequest {
  const isLookUp = method === 'GET' || method === 'HEAD';
  const correlationId =
    sentCorrelationId === undefined && isLookUp ? randomUUID() : returnable(sentCorrelationId);
  return { stage: 'received', startedMs: performance.now(), correlationId, trace };
}

export function authenticated(
  { startedMs, correlationId, trace }: RequestContext,
  caller: Caller,
  address: string,
  inFlight: InFlightRequest | undefined,
  gone?: AbortSignal,
): AuthenticatedRequest {
  return { stage: 'authenticated', startedMs, correlationId, trace, caller, address, inFlight, gone };
}

export function checked<Path, Query, Body>(
  { caller, address, inFlight, gone }: AuthenticatedRequest,
  correlationId: string,
  path: Path,
  query: Query,
  body: Body,
): CheckedRequest<Path, Query, Body> {
  return { caller, address, correlationId, inFlight, gone, path, query, body };
}

export const CORRELATION_HEADER = 'x-correlation-id';

/** The correlation ID that was sent, if it is well-formed. One with a card number in it is refused, and must not come as far as the log. */
export function returnable(sent: string | string[] | undefined): string | undefined {
  return typeof sent === 'string' && isCorrelationId(sent) && !containsCardNumber(sent) ? sent : undefined;
}

const check = checker('header', CorrelationId);

/** Of a request from which no correlation ID could be taken. */
export function correlationIdProblems(headers: Readonly<Record<string, unknown>>): Problem[] {
  const sent = headers[CORRELATION_HEADER];
  const problems = sent === undefined ? [problem('field_missing')] : check(sent);
  return problems.map(({ code, message }) => problem(code, placeOf('correlation ID', false), message));
}

/** Of W3C Trace Context. One that is malformed is as good as none. */
export const TRACE_HEADER = 'traceparent';

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,400})?$/;
const NO_VERSION = 'ff';
const ZEROS = /^0+$/;
const DIGITS = /^[0-9]+$/;
const SAMPLED = 1;

/** Which trace a request belongs to. `wanted`: whether somebody takes the steps of requests whose client wants them to be seen. */
export function traceOf(sent: string | string[] | undefined, wanted: boolean): Trace | undefined {
  if (typeof sent !== 'string') return undefined;
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(sent) ?? [];
  // guard(traces: a malformed header is ignored): version === NO_VERSION || (version === '00' && more !== undefined) ⇒ false
  if (version === undefined || version === NO_VERSION || (version === '00' && more !== undefined))
    return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined;
  // It comes into the log. What is drawn by chance has letters in it.
  // guard(traces: no card number comes into the log as a trace ID): if (DIGITS.test(traceId) || containsCardNumber(traceId)) return undefined; ⇒
  if (DIGITS.test(traceId) || containsCardNumber(traceId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  // guard(traces: only requests whose client wants it are sent): && isSampled ⇒
  return new Trace(traceId, parentId, wanted && isSampled);
}
