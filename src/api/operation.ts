// What an API operation is: one entry gives the route, the checks and the documentation. Also what is known of a request stage by stage:
// received, authenticated, checked. Each stage is a value of its own, made here.
import { randomUUID } from 'node:crypto';
import type { Caller } from '../organisations/users/callers.js';
import type { Permission } from '../organisations/users/permissions.js';
import type { InFlightRequest } from '../payments/finding/search-fence.js';
import { containsCardNumber } from '../values/card.js';
import type { Audit, MerchantId } from '../values/ids.js';
import { isCorrelationId } from '../values/text.js';
import { Trace } from '../values/trace.js';
import { type Problem, type ProblemCode, placeOf, problem, refusedFor } from './problems.js';
import { CorrelationId } from './schemas.js';
import type { Static, TObject, TSchema } from './typebox.js';
import { type Check, checker, reader } from './validation.js';

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly location?: string;
  /** For the log. */
  readonly audit?: Audit;
  readonly merchantId?: MerchantId;
  readonly outcome?: string;
}

export type Tag =
  | 'Transactions'
  | 'Checkouts'
  | 'Schedules'
  | 'Settlements'
  | 'Customers'
  | 'Tokens'
  | 'Events';

interface Success {
  readonly status: number;
  readonly description: string;
  readonly schema?: TSchema;
  /** Whether the answer has the header `Location`. */
  readonly located?: true;
}

interface Description<Path, Query, Body> {
  /** Becomes a function name in generated clients, so it must not be a reserved word. */
  readonly id: string;
  readonly tag: Tag;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base path; parameters in braces. */
  readonly route: string;
  readonly summary: string;
  readonly description: string;
  /** What the caller must be allowed to do. */
  readonly permission: Permission;
  readonly path?: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly success: Success;
  /** A second successful answer. */
  readonly alsoSuccess?: Success;
  /** In addition to those of any operation. */
  readonly problems: readonly ProblemCode[];
  /** Whether it creates a transaction, made idempotent by its correlation ID. */
  readonly creates?: boolean;
  /** Whether it may wait before answering; then it learns when the client has gone. */
  readonly waits?: boolean;
  /** For the documentation: a body to send, and the answer with the demo's first merchant. A deletion has neither. */
  readonly example?: unknown;
  readonly exampleAnswer?: unknown;
}

interface Definition<Services, Path extends TObject, Query extends TObject, Body extends TSchema>
  extends Description<Path, Query, Body> {
  /** Checks that a schema cannot express: takes the schema's problems and returns those that count. Must accept any body. */
  readonly reviewBody?: (body: unknown, problems: Problem[]) => Problem[];
  handle(
    request: CheckedRequest<Static<Path>, Static<Query>, Static<Body>>,
    services: Services,
  ): Promise<Reply>;
}

/** The parts of a request as they arrived. */
interface UncheckedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export interface Operation<Services> extends Description<TObject, TObject, TSchema> {
  readonly checkBody: Check;
  /** Checks the request and handles it. Throws a refusal that lists all of its problems. */
  answer(context: AuthenticatedRequest, request: UncheckedRequest, services: Services): Promise<Reply>;
}

const UNCHANGED = (_body: unknown, problems: Problem[]) => problems;

export function operation<
  Services,
  Path extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
>(definition: Definition<Services, Path, Query, Body>): Operation<Services> {
  const { reviewBody = UNCHANGED, handle, ...description } = definition;
  const { path: pathSchema, query: querySchema, body: bodySchema } = description;
  const readPath = reader(pathSchema);
  const readQuery = reader(querySchema);
  const checkPath = checker('path', pathSchema);
  const checkQuery = checker('query', querySchema);
  const checkSchema = checker('body', bodySchema);
  const checkBody: Check = (value) => reviewBody(value, checkSchema(value));
  return {
    ...description,
    checkBody,
    answer(context, { headers, params, query: sentQuery, body }, services) {
      const path = readPath(params);
      const query = readQuery(sentQuery);
      const ofPath = checkPath(path);
      const ofQuery = checkQuery(query);
      const ofBody = checkBody(body);
      const { correlationId } = context;
      if (correlationId === undefined || ofPath.length + ofQuery.length + ofBody.length > 0) {
        const ofCorrelationId = correlationId === undefined ? correlationIdProblems(headers) : [];
        throw refusedFor([...ofCorrelationId, ...ofPath, ...ofQuery, ...ofBody]);
      }
      const { caller, address, inFlight, gone } = context;
      return handle(
        {
          caller,
          address,
          correlationId,
          inFlight,
          gone,
          // The only place where data checked by a schema gets the schema's type.
          path: path as Static<Path>,
          query: query as Static<Query>,
          body: body as Static<Body>,
        },
        services,
      );
    },
  };
}

interface ReceivedRequest {
  readonly stage: 'received';
  readonly startedMs: number;
  /** The request's own if it is well-formed; a generated one for a lookup without. */
  readonly correlationId: string | undefined;
  /** If the client named a trace. */
  readonly trace: Trace | undefined;
}

export interface AuthenticatedRequest {
  readonly stage: 'authenticated';
  readonly startedMs: number;
  readonly correlationId: string | undefined;
  readonly trace: Trace | undefined;
  readonly caller: Caller;
  /** The client's address. */
  readonly address: string;
  /** For a request that creates a transaction. */
  readonly inFlight: InFlightRequest | undefined;
  /** For a request that may wait: aborted when the client has gone. */
  readonly gone: AbortSignal | undefined;
}

/** A request until it is answered. */
export type RequestContext = ReceivedRequest | AuthenticatedRequest;

/** The input of an operation; all of it is checked. */
export interface CheckedRequest<Path = unknown, Query = unknown, Body = unknown> {
  readonly caller: Caller;
  readonly address: string;
  readonly correlationId: string;
  /** For an operation that creates a transaction. */
  readonly inFlight: InFlightRequest | undefined;
  /** For an operation that waits. */
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

export const CORRELATION_HEADER = 'x-correlation-id';

/** The correlation ID that was sent, if it is well-formed. An ID with a card number is refused, and must not reach the log. */
export function returnable(sent: string | string[] | undefined): string | undefined {
  return typeof sent === 'string' && isCorrelationId(sent) && !containsCardNumber(sent) ? sent : undefined;
}

const check = checker('header', CorrelationId);

/** For a request without a usable correlation ID. */
function correlationIdProblems(headers: Readonly<Record<string, unknown>>): Problem[] {
  const sent = headers[CORRELATION_HEADER];
  const problems = sent === undefined ? [problem('field_missing')] : check(sent);
  return problems.map(({ code, message }) => problem(code, placeOf('correlation ID', false), message));
}

/** W3C Trace Context. A malformed header is ignored. */
export const TRACE_HEADER = 'traceparent';

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,400})?$/;
const NO_VERSION = 'ff';
const ZEROS = /^0+$/;
const DIGITS = /^[0-9]+$/;
const SAMPLED = 1;

/** The trace of a request. `wanted`: whether the steps of sampled requests are recorded. */
export function traceOf(sent: string | string[] | undefined, wanted: boolean): Trace | undefined {
  if (typeof sent !== 'string') return undefined;
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(sent) ?? [];
  // guard(traces: a malformed header is ignored): version === NO_VERSION || (version === '00' && more !== undefined) ⇒ false
  if (version === undefined || version === NO_VERSION || (version === '00' && more !== undefined))
    return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined;
  // The ID goes into the log. Random IDs contain letters.
  // guard(traces: no card number comes into the log as a trace ID): if (DIGITS.test(traceId) || containsCardNumber(traceId)) return undefined; ⇒
  if (DIGITS.test(traceId) || containsCardNumber(traceId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  // guard(traces: only requests whose client wants it are sent): && isSampled ⇒
  return new Trace(traceId, parentId, wanted && isSampled);
}
