// Serves the merchants' port while the gateway waits for its database at start. It answers like a gateway that has lost its database:
// live, not ready, and nothing is processed.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../api/limits.js';
import { CORRELATION_HEADER, returnable } from '../api/operation.js';
import { refused } from '../api/problems.js';
import { refusalForMethod } from '../api/refusals.js';
import { JSON_TYPE, overwrite } from './answers.js';
import type { Refusal } from './connection-queue.js';
import { rawRefusal, withCorrelationId } from './refused-connections.js';
import { type CertificatePair, serverOptions } from './tls.js';

export interface WaitingRoomOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  /** If given, it speaks TLS, as the gateway will. */
  readonly certificate: CertificatePair | undefined;
  /** Why the gateway is not ready. */
  readonly reason: string;
}

export interface WaitingRoom {
  /** Frees the port. */
  close(): Promise<void>;
}

/** Rejects if the address cannot be listened on. */
export async function openWaitingRoom(options: WaitingRoomOptions): Promise<WaitingRoom> {
  const { host, port, maxConnections, certificate, reason } = options;
  const handle = answering(reason);
  const limits = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS };
  const server =
    certificate === undefined
      ? createServer(limits, handle)
      : createTlsServer({ ...limits, ...serverOptions(certificate) }, handle);
  server.maxConnections = maxConnections;
  // Not shared with workers, which listen after this is closed.
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port, exclusive: true }, () => {
      // A connection that cannot be accepted, without file descriptors, must not end the process.
      server.off('error', reject).on('error', () => {});
      resolve();
    });
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answering(reason: string): RequestListener {
  const pages: Readonly<Record<string, Refusal>> = {
    '/livez': page(200, { status: 'live' }),
    '/readyz': page(503, { status: 'not ready', reason }),
  };
  const notProcessed = refused('not_processed');
  return (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '' } = request;
    const { status, headers, text } = pages[url] ?? rawRefusal(refusalForMethod(method, notProcessed));
    const id = returnable(request.headers[CORRELATION_HEADER]);
    // The body may contain a card number.
    request.on('data', overwrite);
    // The next request should reach the gateway.
    response.writeHead(status, { ...withCorrelationId(headers, id), connection: 'close' }).end(text);
  };
}

function page(status: number, body: object): Refusal {
  return {
    status,
    headers: { 'cache-control': 'no-store', 'content-type': JSON_TYPE },
    text: JSON.stringify(body),
  };
}
