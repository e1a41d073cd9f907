// Every answer to a request goes out here, with its headers, its one line in the log and its figures.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DestinationStream, type Logger, pino } from 'pino';
import {
  CORRELATION_HEADER,
  type Reply,
  type RequestContext,
  received,
  TRACE_HEADER,
  traceOf,
} from '../api/operation.js';
import { type ProblemCode, type RefusedRequest, refused } from '../api/problems.js';
import { refusalForMethod, refusalOf, refusalResponse } from '../api/refusals.js';
import { DURATIONS, Histogram } from '../values/histogram.js';
import { isoNow } from '../values/time.js';
import type { Trace } from '../values/trace.js';
import type { ClientAddresses } from './authentication.js';
import { Tally } from './observability/tally.js';

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext;
  }
  interface FastifyContextConfig {
    figures?: OperationFigures;
  }
}

export interface AnswerServices {
  readonly log: Logger;
  readonly requestLog: RequestLog;
  readonly failedAnswers: FailedAnswers;
  readonly clientAddresses: ClientAddresses;
  readonly requests: RequestFigures;
  readonly spans: Spans;
  /** True from the moment that the process was told to stop. */
  readonly draining: () => boolean;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** What is known of an answer beside its text. */
type Answered = Pick<Reply, 'status' | 'audit' | 'merchantId' | 'outcome'>;

/** Before anything else happens with a request. */
export function receive(request: FastifyRequest, reply: FastifyReply, { spans }: AnswerServices): void {
  const { headers } = request;
  const trace =
    headers[TRACE_HEADER] === undefined ? undefined : traceOf(headers[TRACE_HEADER], spans.wanted);
  const context = received(request.method, headers[CORRELATION_HEADER], trace);
  request.context = context;
  // What is answered here may have card holders' data in it, and is true for the moment only.
  reply.header('cache-control', 'no-store');
  if (context.correlationId !== undefined) reply.header(CORRELATION_HEADER, context.correlationId);
}

/** Whatever was thrown on the way of a request. */
export function refuse(
  services: AnswerServices,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): FastifyReply {
  const { log, failedAnswers, draining } = services;
  if (request.context === undefined) receive(request, reply, services);
  const refusal = refusalForMethod(request.method, refusalOfRequest(error));
  if (refusal.code === 'internal_error') logInternal(log, request, error);
  const { status, headers, body } = refusalResponse(refusal);
  const isCutShort = refusal.code === 'body_too_large' && !request.raw.complete;
  // More than is read may follow, without end.
  if (draining() || isCutShort) reply.header('connection', 'close');
  // The framework means to close it after every body that it does not like, with whatever was sent behind. Said and not
  // left out: without the header Node forgets that the client has closed its side.
  else if (reply.hasHeader('connection') && request.raw.complete && reply.raw.shouldKeepAlive)
    reply.header('connection', 'keep-alive');
  reply.headers(headers).header('content-type', JSON_TYPE);
  // Of a body that was not read: there may be a card number in it. It is read to its end, as Node would.
  request.raw.on('data', overwrite);
  const { audit, code: outcome } = refusal;
  failedAnswers.note(request, status, outcome, audit);
  return send(
    services,
    request,
    reply,
    { status, ...(audit !== undefined && { audit }), outcome },
    JSON.stringify(body),
  );
}

export function send(
  services: AnswerServices,
  request: FastifyRequest,
  reply: FastifyReply,
  answered: Answered,
  text: string | Buffer | undefined,
): FastifyReply {
  // One whose connection was refused meanwhile has been answered and logged.
  const isFirst = !reply.sent;
  reply.code(answered.status).send(text);
  // Whether it arrives or not: a client that hung up is the one who will ask what happened. Behind the answer, since nobody waits
  // for the line.
  if (isFirst) noteRequest(services, request, answered);
  return reply;
}

/** A piece of a body that is not read. */
export function overwrite(piece: Buffer): void {
  piece.fill(0);
}

/** One line of the log, and one more of its kind. */
function noteRequest(
  { requestLog, clientAddresses, requests, spans }: AnswerServices,
  { method, routeOptions, context, raw }: FastifyRequest,
  answered: Answered,
): void {
  const { startedMs, trace } = context;
  const endedMs = performance.now();
  const durationMs = endedMs - startedMs;
  const { url = 'unknown', config } = routeOptions;
  // guard(metrics: a client makes no new series with its addresses): nowhere ⇒ of(raw.url ?? "")
  (config?.figures ?? requests.nowhere).note(answered.status, durationMs);
  if (trace?.recording) {
    const { status } = answered;
    spans.take({ trace, method, route: url, status, failed: status >= 500, startedMs, endedMs });
  }
  requestLog.note({
    method,
    route: url,
    status: answered.status,
    address: clientAddresses.of(raw),
    correlationId: context.correlationId,
    traceId: trace?.traceId,
    user: context.stage === 'authenticated' ? context.caller.username : undefined,
    merchantId: answered.merchantId,
    audit: answered.audit,
    outcome: answered.outcome,
    durationMs,
  });
}

/** The place, not the message: a message of the database can repeat what was sent. */
function logInternal(log: Logger, { context }: FastifyRequest, error: unknown): void {
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

/** What Fastify and Node report about requests and connections, as problems of the interface. */
const PROBLEM_OF: Readonly<Record<string, ProblemCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'malformed_request',
  FST_ERR_MAX_PARAM_LENGTH: 'route_not_found',
  ECONNRESET: 'malformed_request',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_INVALID_VERSION: 'http_version_not_supported',
  HPE_PAUSED_H2_UPGRADE: 'http_version_not_supported',
};

/** Anything that was thrown on the way of a request. What nobody foresaw is an internal error. */
function refusalOfRequest(error: unknown): RefusedRequest {
  return refusalOf(error, false) ?? reported(error as { code?: string }, 'internal_error');
}

/** For what came on a connection and is no request, or none that could be read. */
export function refusalOfConnection(error: { code?: string }): RefusedRequest {
  return refusalOf(error, false) ?? reported(error, 'malformed_request');
}

function reported({ code }: { code?: string }, otherwise: ProblemCode): RefusedRequest {
  return refused((code !== undefined && PROBLEM_OF[code]) || otherwise);
}

/** More than there are. */
const MOST_KINDS = 20;

interface FirstOfKind {
  readonly status: number;
  /** The error code, or what is the matter. */
  readonly outcome: string;
  readonly route: string;
  readonly correlation_id: string | undefined;
  readonly trace_id: string | undefined;
  readonly audit: number | undefined;
}

/**
 * Answers that mean that something is wrong with the gateway, its database or an acquirer (502, 503 and 504): a warning for each
 * kind and second, however many there are. Each request has its own line all the same.
 */
export class FailedAnswers {
  readonly #tally: Tally<FirstOfKind>;

  constructor(log: Logger) {
    this.#tally = new Tally(MOST_KINDS, (first, count) => {
      const { status, outcome, route, correlation_id, trace_id, audit } = first;
      log.warn({ status, outcome, route, correlation_id, trace_id, audit, count }, 'failed answers');
    });
  }

  note({ routeOptions, context }: FastifyRequest, status: number, outcome: string, audit?: number): void {
    if (status < 502 || status > 504) return;
    this.#tally.add(`${status} ${outcome}`, {
      status,
      outcome,
      route: routeOptions.url ?? 'unknown',
      correlation_id: context.correlationId,
      trace_id: context.trace?.traceId,
      audit,
    });
  }
}

/** Of one operation. */
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

/** Requests by operation and status, and how long they took: counted in fields, and read when somebody looks. */
export class RequestFigures {
  readonly #byOperation = new Map<string, OperationFigures>();
  /** For what leads to no operation. */
  readonly nowhere = this.of('none');
  /** By status: what was no request, or did not come whole. */
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

/** What is undefined is left out. */
export interface LoggedRequest {
  readonly method: string | undefined;
  /** The pattern, not the address: an address can hold anything. */
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
 * The line of the log that every request leaves. Not by pino, which writes the rest of the log: it takes 3 µs for a line of twelve
 * members, and this less than one. There is one for each purchase and each look-up.
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

/** Nothing in it that JSON writes otherwise. */
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
  /** By a fault of ours or of an acquirer. */
  readonly failed: boolean;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Who takes the spans of traced requests, once they are answered. */
export interface Spans {
  /** Whether more are taken now. Where not, nobody need write any down. */
  readonly wanted: boolean;
  take(request: TracedRequest): void;
}

export const NO_SPANS: Spans = { wanted: false, take: () => {} };
