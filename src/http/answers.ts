// Sends every answer, with its headers, its one log line and its metrics.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type DestinationStream, type Logger, pino } from 'pino';
import { CORRELATION_HEADER, type Reply, received, TRACE_HEADER, traceOf } from '../api/operation.js';
import { type ProblemCode, type RefusedRequest, refused } from '../api/problems.js';
import { refusalForMethod, refusalOf, refusalResponse } from '../api/refusals.js';
import { DURATIONS, Histogram } from '../values/histogram.js';
import { isoNow } from '../values/time.js';
import type { Trace } from '../values/trace.js';
import { secretsWereUsed } from '../values/traces-of-secrets.js';
import type { ClientAddresses } from './authentication.js';
import { Exchange } from './exchange.js';
import { LogThrottle } from './observability/log-throttle.js';

export interface AnswerServices {
  readonly log: Logger;
  readonly requestLog: RequestLog;
  readonly failedAnswers: FailedAnswers;
  readonly clientAddresses: ClientAddresses;
  readonly requests: RequestFigures;
  readonly spans: Spans;
  /** True as soon as the process is told to stop. */
  readonly draining: () => boolean;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** What is known of an answer besides its text. */
type Answered = Pick<Reply, 'status' | 'audit' | 'merchantId' | 'outcome'>;

/** The first thing that is known of every request. */
export function receive(
  request: IncomingMessage,
  response: ServerResponse,
  { spans }: AnswerServices,
): Exchange {
  const { method = '', headers } = request;
  const trace =
    headers[TRACE_HEADER] === undefined ? undefined : traceOf(headers[TRACE_HEADER], spans.wanted);
  const context = received(method, headers[CORRELATION_HEADER], trace);
  const exchange = new Exchange(request, response, context);
  return context.correlationId === undefined
    ? exchange
    : exchange.set(CORRELATION_HEADER, context.correlationId);
}

/** Handles anything thrown while processing a request. */
export function refuse(services: AnswerServices, exchange: Exchange, error: unknown): void {
  const { log, failedAnswers } = services;
  const { request } = exchange;
  const refusal = refusalForMethod(exchange.method, refusalOfRequest(error));
  if (refusal.code === 'internal_error') logInternal(log, exchange, error);
  const { status, headers, body } = refusalResponse(refusal);
  // An endless body may follow.
  if (refusal.code === 'body_too_large' && !request.complete) exchange.set('connection', 'close');
  for (const [name, value] of Object.entries(headers)) exchange.set(name, value);
  exchange.set('content-type', JSON_TYPE);
  // An unread body may contain a card number. It is read to its end, as Node would do.
  request.on('data', overwrite);
  const { links, code: outcome } = refusal;
  const { audit } = links;
  failedAnswers.note(exchange, status, outcome, audit);
  send(services, exchange, { status, ...(audit !== undefined && { audit }), outcome }, JSON.stringify(body));
}

export function send(
  services: AnswerServices,
  exchange: Exchange,
  answered: Answered,
  text: string | Buffer | undefined,
): void {
  // If its connection was refused in the meantime, the request is already answered and logged.
  if (exchange.isAnswered) return;
  if (services.draining()) exchange.set('connection', 'close');
  secretsWereUsed();
  exchange.answer(answered.status, text);
  // Logged even if the answer does not arrive: a client that hung up is the one who will ask. After sending, because nobody waits for the
  // log line.
  noteRequest(services, exchange, answered);
}

/** Wipes a piece of an unread body. */
export function overwrite(piece: Buffer): void {
  piece.fill(0);
}

/** Writes one log line, and counts the request. */
function noteRequest(
  { requestLog, clientAddresses, requests, spans }: AnswerServices,
  { method, route, context, request }: Exchange,
  answered: Answered,
): void {
  const { startedMs, trace } = context;
  const endedMs = performance.now();
  const durationMs = endedMs - startedMs;
  const pattern = route?.pattern ?? 'unknown';
  // guard(metrics: a client makes no new series with its addresses): nowhere ⇒ of(request.url ?? "")
  (route?.figures ?? requests.nowhere).note(answered.status, durationMs);
  if (trace?.recording) {
    const { status } = answered;
    spans.take({ trace, method, route: pattern, status, failed: status >= 500, startedMs, endedMs });
  }
  requestLog.note({
    method,
    route: pattern,
    status: answered.status,
    address: clientAddresses.of(request),
    correlationId: context.correlationId,
    traceId: trace?.traceId,
    user: context.stage === 'authenticated' ? context.caller.username : undefined,
    merchantId: answered.merchantId,
    audit: answered.audit,
    outcome: answered.outcome,
    durationMs,
  });
}

/** Logs the place in the code, not the message: a database message can repeat what was sent. */
function logInternal(log: Logger, { context }: Exchange, error: unknown): void {
  const { name, code, constraint, stack = '' } = error as Error & { code?: string; constraint?: string };
  const frames = stack.split('\n').filter((line) => line.startsWith('    at '));
  log.error(
    {
      correlation_id: context.correlationId,
      trace_id: context.trace?.traceId,
      name,
      code,
      constraint,
      at: frames.slice(0, 6),
    },
    'internal error',
  );
}

/** Errors of Node about requests and connections, as problems of the API. */
const PROBLEM_OF: Readonly<Record<string, ProblemCode>> = {
  ECONNRESET: 'malformed_request',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_INVALID_VERSION: 'http_version_not_supported',
  HPE_PAUSED_H2_UPGRADE: 'http_version_not_supported',
};

/** Anything thrown while processing a request; unexpected errors become an internal error. */
function refusalOfRequest(error: unknown): RefusedRequest {
  return refusalOf(error, false) ?? reported(error as { code?: string }, 'internal_error');
}

/** For input that is not a request, or cannot be read. */
export function refusalOfConnection(error: { code?: string }): RefusedRequest {
  return refusalOf(error, false) ?? reported(error, 'malformed_request');
}

function reported({ code }: { code?: string }, otherwise: ProblemCode): RefusedRequest {
  return refused((code !== undefined && PROBLEM_OF[code]) || otherwise);
}

/** More kinds than exist. */
const MOST_KINDS = 20;

interface FirstOfKind {
  readonly status: number;
  /** The error code, or what is wrong. */
  readonly outcome: string;
  readonly route: string;
  readonly correlation_id: string | undefined;
  readonly trace_id: string | undefined;
  readonly audit: number | undefined;
}

/**
 * Answers that mean trouble in the gateway, its database or an acquirer (502, 503 and 504): at most one warning for each kind and second.
 * Each request still has its own log line.
 */
export class FailedAnswers {
  readonly #throttle: LogThrottle<FirstOfKind>;

  constructor(log: Logger) {
    this.#throttle = new LogThrottle(MOST_KINDS, (first, count) => {
      const { status, outcome, route, correlation_id, trace_id, audit } = first;
      log.warn({ status, outcome, route, correlation_id, trace_id, audit, count }, 'failed answers');
    });
  }

  note({ route, context }: Exchange, status: number, outcome: string, audit?: number): void {
    if (status < 502 || status > 504) return;
    this.#throttle.add(`${status} ${outcome}`, {
      status,
      outcome,
      route: route?.pattern ?? 'unknown',
      correlation_id: context.correlationId,
      trace_id: context.trace?.traceId,
      audit,
    });
  }
}

/** The metrics of one operation. */
class OperationFigures {
  readonly #byStatus = new Map<number, Histogram>();

  /** By HTTP status. */
  get byStatus(): ReadonlyMap<number, Histogram> {
    return this.#byStatus;
  }

  note(status: number, durationMs: number): void {
    let durations = this.#byStatus.get(status);
    if (durations === undefined) {
      durations = new Histogram(DURATIONS);
      this.#byStatus.set(status, durations);
    }
    durations.observe(durationMs / 1_000);
  }
}

/** Requests by operation and status, and their durations: counted in fields, and read only on request. */
export class RequestFigures {
  readonly #byOperation = new Map<string, OperationFigures>();
  /** For requests that match no operation. */
  readonly nowhere = this.of('none');
  /** By status: input that was not a request, or did not arrive completely. */
  readonly unreadable = new Map<number, number>();

  get byOperation(): ReadonlyMap<string, OperationFigures> {
    return this.#byOperation;
  }

  of(operation: string): OperationFigures {
    let figures = this.#byOperation.get(operation);
    if (figures === undefined) {
      figures = new OperationFigures();
      this.#byOperation.set(operation, figures);
    }
    return figures;
  }

  noteUnreadable(status: number): void {
    this.unreadable.set(status, (this.unreadable.get(status) ?? 0) + 1);
  }
}

/** Undefined fields are left out. */
export interface LoggedRequest {
  readonly method: string | undefined;
  /** The pattern, not the address, which can contain anything. */
  readonly route: string | undefined;
  readonly status: number;
  readonly address: string;
  readonly correlationId: string | undefined;
  readonly traceId?: string | undefined;
  readonly user?: string | undefined;
  readonly merchantId?: number | undefined;
  readonly audit?: number | undefined;
  readonly outcome?: string | undefined;
  readonly durationMs?: number;
}

/**
 * The log line of every request. Not written by pino, which writes the rest of the log: pino takes 3 µs for a line with twelve fields,
 * this less than one. Every purchase and lookup writes such a line.
 */
export class RequestLog {
  readonly #output: DestinationStream;

  constructor(private readonly log: Logger) {
    this.#output = (log as unknown as { [pino.symbols.streamSym]: DestinationStream })[
      pino.symbols.streamSym
    ];
  }

  note(request: LoggedRequest): void {
    if (this.log.isLevelEnabled('info')) this.#output.write(lineOf(request));
  }
}

function lineOf(request: LoggedRequest): string {
  const { status, durationMs, merchantId, audit } = request;
  const duration = durationMs === undefined ? '' : `,"duration_ms":${Math.round(durationMs * 100) / 100}`;
  return (
    `{"level":"info","time":"${isoNow()}"${member('method', request.method)}${member('route', request.route)},"status":${status}` +
    `${member('address', request.address)}${member('correlation_id', request.correlationId)}${member('trace_id', request.traceId)}` +
    `${member('user', request.user)}${merchantId === undefined ? '' : `,"merchant":${merchantId}`}` +
    `${audit === undefined ? '' : `,"audit":${audit}`}${member('outcome', request.outcome)}${duration},"msg":"request"}\n`
  );
}

/** Contains nothing that JSON would escape. */
const PLAIN = /^[\w .:,+/*-]*$/;

function member(name: string, text: string | undefined): string {
  if (text === undefined) return '';
  return PLAIN.test(text) ? `,"${name}":"${text}"` : `,"${name}":${JSON.stringify(text)}`;
}

export interface TracedRequest {
  readonly trace: Trace;
  readonly method: string;
  /** The pattern, not the address. */
  readonly route: string;
  readonly status: number;
  /** Because of a fault of ours or of an acquirer. */
  readonly failed: boolean;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Takes the spans of traced requests after their answer. */
export interface Spans {
  /** Whether more spans are accepted now. If not, requests need not record any. */
  readonly wanted: boolean;
  take(request: TracedRequest): void;
}

export const NO_SPANS: Spans = { wanted: false, take: () => {} };
