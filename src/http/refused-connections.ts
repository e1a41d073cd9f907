// Answers to what the framework never sees or never sees whole: bytes that are no request, requests that do not arrive,
// and what the server does not take. Each has the body and the log line of any other refusal.
import { type Addresses, allowed } from '../api/addresses.js';
import { CORRELATION_HEADER, returnable } from '../api/request-context.js';
import type { ClientAddresses } from './client-address.js';
import { refusalOfConnection } from './framework-errors.js';
import type { RequestFigures } from './observability/request-figures.js';
import type { RequestLog } from './observability/request-log.js';
import type { Handlers } from './one-at-a-time.js';
import { rawRefusal, withCorrelationId } from './raw-refusal.js';
import { correlationIdInHead } from './unreadable-head.js';

export function refusing(
  requestLog: RequestLog,
  addresses: Addresses,
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
