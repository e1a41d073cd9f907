// A listener beside the merchants' port: with or without TLS, with bounds of its own, and renewed certificates.
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Networks } from '../values/network.js';
import { type ConnectionFigures, type ConnectionLimits, Connections } from './connections.js';
import { acceptedSocket, type CertificatePair, contextOptions } from './tls.js';

/** What every listener is told by the settings. */
export interface ListenerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** If given, the listener speaks only TLS. */
  readonly certificate: CertificatePair | undefined;
  /** Proxies whose connections are of many clients. */
  readonly trustedProxies?: Networks | undefined;
  readonly log: Pick<Logger, 'warn'>;
}

export interface Listener {
  /** For example `http://127.0.0.1:8081`. */
  readonly url: string;
  readonly connections: ConnectionFigures;
  /** Applies from the next handshake on. */
  useCertificate(pair: CertificatePair): void;
  close(): Promise<void>;
}

/** What a kind of listener bounds. */
export interface Bounds extends Pick<ConnectionLimits, 'listener' | 'most' | 'mostHandshakes'> {
  /** Of one address, or one IPv6 /64. */
  readonly mostOfNetwork: number;
  readonly limits: ServerOptions;
}

interface How extends Pick<ListenOptions, 'exclusive' | 'backlog'> {
  readonly bounds: Bounds;
  readonly handle: RequestListener;
  readonly connectionAccepted?: () => void;
  /** Requests in progress are answered before it is closed. */
  readonly finishes?: boolean;
}

/** Rejects if the address cannot be listened on. */
export async function openListener(options: ListenerOptions, how: How): Promise<Listener> {
  const { host, port, certificate, trustedProxies, log } = options;
  const { bounds, handle, connectionAccepted, finishes = false, exclusive, backlog } = how;
  const { mostOfNetwork, limits, ...counted } = bounds;
  const connections = new Connections(
    { ...counted, mostOfNetwork: { count: mostOfNetwork, proxies: trustedProxies } },
    log,
  );
  const handleOne: RequestListener = (request, response) => {
    connections.begin(request.socket, request, response);
    response.once('close', () => connections.end(request.socket));
    handle(request, response);
  };
  const server: Server =
    certificate === undefined
      ? createServer(limits, handleOne)
      : createTlsServer({ ...limits, ...contextOptions(certificate) }, handleOne);
  const isTls = server instanceof TlsServer;
  server.on('connection', (socket: Socket) => {
    connections.add(socket, isTls);
    connectionAccepted?.();
  });
  server.on('secureConnection', (socket: Socket) => connections.secured(acceptedSocket(socket), socket));
  const at = { host, port, ...(exclusive && { exclusive }), ...(backlog !== undefined && { backlog }) };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(at, () => {
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
        server.close(() => {
          connections.close();
          resolve();
        });
        if (finishes) server.closeIdleConnections();
        else server.closeAllConnections();
        // Node does not know those in a handshake.
        connections.dismissSilent();
      }),
  };
}
