// Answers input that never becomes a whole request: bytes that are not a request, requests that do not arrive, and input that the
// server refuses. The answers have the body and log line of any other refusal.
import { type Addresses, allowed } from '../api/addresses.js';
import { CORRELATION_HEADER, returnable } from '../api/operation.js';
import type { RefusedRequest } from '../api/problems.js';
import { refusalResponse } from '../api/refusals.js';
import { JSON_TYPE, type RequestFigures, type RequestLog, refusalOfConnection } from './answers.js';
import type { ClientAddresses } from './authentication.js';
import type { Handlers, Refusal } from './connection-queue.js';
import type { Route } from './exchange.js';

export function refusing(
  requestLog: RequestLog,
  addresses: Addresses<Route>,
  clientAddresses: ClientAddresses,
  figures: RequestFigures,
): Handlers['refuse'] {
  return ({ error, request }, socket) => {
    const refusal = refusalOfConnection(error);
    const { status, headers, text } = rawRefusal(refusal);
    figures.noteUnreadable(status);
    const correlationId =
      request === undefined
        ? correlationIdInHead(error.rawPacket ?? Buffer.alloc(0), error.bytesParsed ?? 0)
        : returnable(request.headers[CORRELATION_HEADER]);
    requestLog.note({
      method: request?.method,
      route: addresses.patternAt(request?.url ?? ''),
      status,
      address: clientAddresses.of({ socket, headers: request?.headers ?? {} }),
      correlationId,
      outcome: refusal.code,
    });
    const allow = status === 405 ? { ...headers, allow: allowed(addresses.methods) } : headers;
    return { status, headers: withCorrelationId(allow, correlationId), text };
  };
}

export function rawRefusal(refusal: RefusedRequest): Refusal {
  const { status, headers, body } = refusalResponse(refusal);
  const text = JSON.stringify(body);
  return {
    status,
    headers: {
      ...headers,
      'cache-control': 'no-store',
      'content-type': JSON_TYPE,
      'content-length': String(text.length),
    },
    text,
  };
}

/** Adds the request's correlation ID, if it has a valid one. */
export function withCorrelationId(headers: Refusal['headers'], id: string | undefined): Refusal['headers'] {
  return id === undefined ? headers : { ...headers, [CORRELATION_HEADER]: id };
}

const REQUEST_LINE = /^(?:\r\n)*[A-Z]+ \S+ HTTP\/[^\r\n]*\r\n/;
const HEADER_LINE = /^x-correlation-id:[ \t]*(.*?)[ \t]*\r\n/gim;
const END_OF_HEAD = '\r\n\r\n';

/**
 * The correlation ID of an unreadable head, if the packet begins with this head and the error is in it. The ID of an earlier request
 * would say that that request was refused.
 */
function correlationIdInHead(packet: Buffer, troubleAt: number): string | undefined {
  const text = packet.toString('latin1');
  const end = text.indexOf(END_OF_HEAD);
  if (!REQUEST_LINE.test(text) || (end !== -1 && troubleAt > end + END_OF_HEAD.length)) return undefined;
  const head = end === -1 ? text : text.slice(0, end + 2);
  const [sent, another] = [...head.matchAll(HEADER_LINE)].map(([, value]) => value);
  return another === undefined ? returnable(sent) : undefined;
}
