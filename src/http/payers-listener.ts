// The payers' listener: pages of checkouts, and nothing of the interface or of the console. Everybody can call it, so it has bounds of its
// own, and its share of the time.
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Moment } from '../payments/finding/search-fence.js';
import type { Networks } from '../values/network.js';
import { Turns } from './admission.js';
import type { ClientAddresses } from './authentication.js';
import { type ConnectionFigures, Connections } from './connections.js';
import type { Site } from './operators-listener.js';
import { acceptedSocket, type CertificatePair, contextOptions } from './tls.js';

interface ListenerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly backlog: number;
  /** If given, the listener speaks only TLS. */
  readonly certificate: CertificatePair | undefined;
  readonly site: Site;
  readonly clientAddresses: ClientAddresses;
  readonly trustedProxies: Networks | undefined;
  readonly now: () => Moment;
  readonly log: Pick<Logger, 'warn'>;
}

export interface PayersListener {
  /** For example `http://127.0.0.1:8082`. */
  readonly url: string;
  readonly connections: ConnectionFigures;
  /** Applies from the next handshake on. */
  useCertificate(pair: CertificatePair): void;
  /** Resolves when every request in progress is answered. */
  close(): Promise<void>;
}

const MOST_CONNECTIONS = 4_096;
/** A household, an office or a mobile network behind one address. */
const MOST_OF_NETWORK = 256;
const MOST_HANDSHAKES = 512;
const LIMITS = {
  requestTimeout: 15_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 15_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
};

/** Rejects if the address cannot be listened on. Workers share it. */
export async function listenForPayers(options: ListenerOptions): Promise<PayersListener> {
  const { host, port, backlog, certificate, site, clientAddresses } = options;
  const connections = new Connections(
    {
      listener: 'checkout',
      most: MOST_CONNECTIONS,
      mostOfNetwork: { count: MOST_OF_NETWORK, proxies: options.trustedProxies },
      mostHandshakes: MOST_HANDSHAKES,
    },
    options.log,
  );
  const turns = new Turns(options.now);
  const handle: ConstructorParameters<typeof Server>[1] = (request, response) => {
    connections.begin(request.socket, request, response);
    response.once('close', () => connections.end(request.socket));
    turns.take(clientAddresses.of(request), request, response, (begun, answer) => site.answer(begun, answer));
  };
  const server: Server =
    certificate === undefined
      ? createServer(LIMITS, handle)
      : createTlsServer({ ...LIMITS, ...contextOptions(certificate) }, handle);
  const isTls = server instanceof TlsServer;
  server.on('connection', (socket: Socket) => {
    connections.add(socket, isTls);
    turns.connectionAccepted();
  });
  server.on('secureConnection', (socket: Socket) => connections.secured(acceptedSocket(socket), socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port, backlog }, () => {
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
    close: async () => {
      connections.dismissSilent();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      });
      connections.close();
    },
  };
}
