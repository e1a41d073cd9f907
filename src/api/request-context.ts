// What is known of a request, stage by stage: received, authenticated, checked. Each stage is a value of its own, made here.
import { randomUUID } from 'node:crypto';
import type { Caller } from '../organisations/users/callers.js';
import type { InFlightRequest } from '../payments/finding/search-fence.js';
import type { Trace } from '../values/trace.js';
import { returnable } from './correlation-id.js';

export interface ReceivedRequest {
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
