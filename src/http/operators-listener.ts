// The operators' listener, separate from the merchants' port. It serves a few pages by path, and the console on all other paths; each
// decides who may see it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import { isLoopback, type Networks } from '../values/network.js';
import { type ConnectionFigures, Connections } from './connections.js';
import { acceptedSocket, type CertificatePair, contextOptions } from './tls.js';

export interface PageAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Page {
  readonly path: string;
  /** Answers a GET. If it throws, the answer is 500 without a reason. */
  answer(request: IncomingMessage): Promise<PageAnswer>;
}

/** Serves every path that has no page. */
export interface Site {
  /** Handles any method, and never throws. */
  answer(request: IncomingMessage, response: ServerResponse): void;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** If given, the listener speaks only TLS. */
  readonly certificate: CertificatePair | undefined;
  readonly pages: readonly Page[];
  /** Undefined while there is none. */
  site(): Site | undefined;
  /** Another name that it may be called by on loopback: the proxy's. */
  readonly publicHost?: string | undefined;
  /** Proxies whose connections are of many clients. */
  readonly trustedProxies?: Networks | undefined;
  readonly log: Pick<Logger, 'warn'>;
}

export interface OperatorsListener {
  /** For example `http://127.0.0.1:8081`. */
  readonly url: string;
  readonly connections: ConnectionFigures;
  /** Applies from the next handshake on. */
  useCertificate(pair: CertificatePair): void;
  close(): Promise<void>;
}

/** Operators and scrapers are few. Connections that hang here take nothing from payments. */
const MOST_CONNECTIONS = 256;
/** An office behind one address has several browsers, with up to six connections each. */
const MOST_OF_NETWORK = 128;
const MOST_HANDSHAKES = 64;
const HEADERS_WITHIN_MS = 10_000;
/** An operator may upload a file over a slow line. */
const REQUEST_WITHIN_MS = 120_000;
const IDLE_MS = 75_000;
const PLAIN = 'text/plain; charset=utf-8';

/** Rejects if the address cannot be listened on. */
export async function listenForOperators(options: ListenerOptions): Promise<OperatorsListener> {
  const { host, port, certificate, pages, publicHost } = options;
  const byPath = new Map(pages.map((page) => [page.path, page]));
  // guard(operators’ listener: nobody reads it by a name of their own): !isLoopback(host) || isLoopback(name) || name === publicHost ⇒ name !== '' || publicHost === ''
  const mayBeCalled = (name: string) => !isLoopback(host) || isLoopback(name) || name === publicHost;
  const connections = new Connections(
    {
      listener: 'operators',
      most: MOST_CONNECTIONS,
      mostOfNetwork: { count: MOST_OF_NETWORK, proxies: options.trustedProxies },
      mostHandshakes: MOST_HANDSHAKES,
    },
    options.log,
  );
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    connections.begin(request.socket, request, response);
    response.once('close', () => connections.end(request.socket));
    // Prevents DNS rebinding: a foreign page in an operator's browser could give this machine a name of its own and read the pages.
    if (!mayBeCalled(hostIn(request.headers.host)))
      return send(request, response, said(421, 'call this listener by localhost or its address'));
    const page = byPath.get((request.url ?? '/').split('?', 1)[0] as string);
    const site = options.site();
    if (page === undefined && site !== undefined) return site.answer(request, response);
    void answerOf(byPath, page, request).then((answer) => send(request, response, answer));
  };
  const limits = {
    requestTimeout: REQUEST_WITHIN_MS,
    headersTimeout: HEADERS_WITHIN_MS,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: 16_384,
  };
  const server: Server =
    certificate === undefined
      ? createServer(limits, handle)
      : createTlsServer({ ...limits, ...contextOptions(certificate) }, handle);
  const isTls = server instanceof TlsServer;
  server.on('connection', (socket: Socket) => connections.add(socket, isTls));
  server.on('secureConnection', (socket: Socket) => connections.secured(acceptedSocket(socket), socket));
  // Not shared with workers: it belongs to the first process.
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port, exclusive: true }, () => {
      // A connection that cannot be accepted, without file descriptors, must not end the process.
      server.off('error', reject).on('error', () => {});
      resolve();
    });
  });
  const address = server.address() as AddressInfo;
  const scheme = certificate === undefined ? 'http' : 'https';
  return {
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    get connections() {
      return connections.figures;
    },
    useCertificate(pair) {
      if (server instanceof TlsServer) server.setSecureContext(contextOptions(pair));
    },
    close: () =>
      new Promise((resolve) => {
        connections.close();
        server.close(() => resolve());
        server.closeAllConnections();
        // Node does not know those in a handshake.
        connections.dismissSilent();
      }),
  };
}

async function answerOf(
  pages: ReadonlyMap<string, Page>,
  page: Page | undefined,
  request: IncomingMessage,
): Promise<PageAnswer> {
  if (page === undefined) return said(404, `there is nothing here; see ${[...pages.keys()].join(', ')}`);
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return { ...said(405, 'only GET is served here'), headers: { allow: 'GET, HEAD' } };
  try {
    return await page.answer(request);
  } catch {
    return said(500, 'this cannot be shown now; the log of the gateway says more');
  }
}

/** The name or address without the port. */
export function hostIn(host = ''): string {
  return host.replace(/:\d+$/, '');
}

export function said(status: number, words: string): PageAnswer {
  return { status, type: PLAIN, text: `${words}\n` };
}

function send({ method }: IncomingMessage, response: ServerResponse, answer: PageAnswer): void {
  const { status, type, text, headers } = answer;
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(method === 'HEAD' ? undefined : text);
}
