// Every answer to a request goes out here, with its headers and its one line in the log.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Reply } from '../api/operation.js';
import { refusalResponse, saidTo } from '../api/refusals.js';
import {
  CORRELATION_HEADER,
  type RequestContext,
  received,
  TRACE_HEADER,
  traceOf,
} from '../api/request-context.js';
import type { ClientAddresses } from './client-address.js';
import { refusalOfRequest } from './framework-errors.js';
import type { FailedAnswers } from './observability/failed-answers.js';
import type { RequestFigures } from './observability/request-figures.js';
import type { RequestLog } from './observability/request-log.js';
import type { Spans } from './observability/spans.js';

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext;
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
  const refusal = saidTo(request.method, refusalOfRequest(error));
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
