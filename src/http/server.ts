// The merchants' port: a server that handles one request of a connection at a time, its limits, the checks of every request, and the path
// of a request to its operation: authenticate, register in flight, read, handle, answer. Without a framework: finding a route and answering
// by one took a fifth of the gateway's time for a purchase.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Addresses, allowed, parseQuery, patternOf, splitTarget } from '../api/addresses.js';
import { HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../api/limits.js';
import { type AuthenticatedRequest, authenticated, type Operation } from '../api/operation.js';
import { OPERATIONS, type OperationServices } from '../api/operations/operations.js';
import { type RefusedRequest, refused } from '../api/problems.js';
import { merchantIn, refusalOfOperation } from '../api/refusals.js';
import type { Caller } from '../organisations/users/callers.js';
import { bitOf } from '../organisations/users/permissions.js';
import type { InFlightRequest, SearchFence } from '../payments/finding/search-fence.js';
import type { Capacity } from '../payments/pipeline/capacity.js';
import { admission, Shedding, Turns, whenReceived } from './admission.js';
import { type AnswerServices, JSON_TYPE, receive, refuse, send } from './answers.js';
import {
  type AuthenticationServices,
  isForwarded,
  knownCaller,
  provenCaller,
  refusedLogIn,
} from './authentication.js';
import { readBody } from './body.js';
import { freeSince, makeServer, receivedAfter } from './connection-queue.js';
import { type ConnectionFigures, Connections } from './connections.js';
import type { Exchange, Route } from './exchange.js';
import { type PageServices, pagesOf } from './pages.js';
import { refusing } from './refused-connections.js';
import { acceptedSocket, type CertificatePair, contextOptions, FailedHandshakes } from './tls.js';

interface ServerServices extends RouteServices, PageServices {
  readonly capacity: Capacity;
  readonly maxConnections: number;
  /** If given, the server speaks only TLS. */
  readonly certificate: CertificatePair | undefined;
}

export interface ServerFigures {
  readonly connections: ConnectionFigures;
  readonly shed: number;
  readonly failedHandshakes: number;
}

interface ListenOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly backlog: number;
}

export interface HttpServer {
  /** Returns the port. Rejects if the address cannot be listened on. */
  listen(options: ListenOptions): Promise<number>;
  /** Resolves when every request in progress is answered. */
  close(): Promise<void>;
  figures(): ServerFigures;
  /** Applies from the next handshake on. Open connections continue unchanged. */
  useCertificate(pair: CertificatePair): void;
}

const KEEP_ALIVE_MS = 75_000;
/** A name with up to two addresses, of which clients may try either. */
const LOCALHOST = 'localhost';

export function buildServer(services: ServerServices): HttpServer {
  const connections = new Connections({ listener: 'api', most: services.maxConnections }, services.log);
  const turns = new Turns(() => services.searchFence.now);
  const shedding = new Shedding(services.log);
  const failedHandshakes = new FailedHandshakes(services.log);
  const addresses = new Addresses<Route>();
  for (const operation of OPERATIONS) addOperation(addresses, services, operation);
  const handle = admission(answering(addresses, pagesOf(services), services), {
    ...services,
    connections,
    turns,
    shedding,
  });
  /** One for each address. */
  const servers: Server[] = [];
  let { certificate } = services;

  async function open(options: ListenOptions): Promise<AddressInfo> {
    const server = makeServer(
      {
        requestTimeout: REQUEST_TIMEOUT_MS,
        headersTimeout: HEADERS_TIMEOUT_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connectionsCheckingInterval: 1_000,
      },
      {
        handle,
        refuse: refusing(services.requestLog, addresses, services.clientAddresses, services.requests),
        now: () => services.searchFence.now,
        handshakeFailed: (error, socket) => failedHandshakes.note(error, socket),
      },
      certificate,
    );
    const isTls = server instanceof TlsServer;
    server.on('connection', (socket: Socket) => {
      services.searchFence.connected();
      connections.add(socket, isTls);
      turns.connectionAccepted();
    });
    server.on('secureConnection', (socket: Socket) => connections.secured(acceptedSocket(socket), socket));
    await once(server.listen(options), 'listening');
    // A connection that cannot be accepted, without file descriptors, must not end the process.
    server.on('error', () => {});
    servers.push(server);
    return server.address() as AddressInfo;
  }

  return {
    async listen(options) {
      const { address: first, port } = await open(options);
      const others = options.host === LOCALHOST ? await lookup(LOCALHOST, { all: true }) : [];
      for (const { address } of others) {
        // Not every machine has both.
        if (address !== first) await open({ ...options, host: address, port }).catch(() => {});
      }
      return port;
    },
    async close() {
      connections.dismissSilent();
      await Promise.all(servers.map(closed));
      connections.close();
    },
    figures: () => ({
      connections: connections.figures,
      shed: shedding.total,
      failedHandshakes: failedHandshakes.total,
    }),
    useCertificate(pair) {
      certificate = pair;
      for (const server of servers)
        if (server instanceof TlsServer) server.setSecureContext(contextOptions(pair));
    },
  };
}

/** Node closes idle connections with it, and the others after their answers. */
function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

interface RouteServices extends OperationServices, AuthenticationServices, AnswerServices {}

function answering(
  addresses: Addresses<Route>,
  pages: ReadonlyMap<string, Route>,
  services: AnswerServices,
): RequestListener {
  function begin(exchange: Exchange): void {
    const { request, response } = exchange;
    const unclear = refusalOfFraming(request, response);
    if (unclear !== undefined) throw unclear;
    if (!hostNamedOnce(request)) throw refused('malformed_request', ['header', 'Host']);
    const { path, query } = splitTarget(request.url ?? '/');
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    const found = decoding(() => addresses.find(method, path));
    const route = found?.route ?? (method === 'GET' ? pages.get(path) : undefined);
    // Requests to unknown addresses are refused before their body is read.
    if (route === undefined) throw nowhere(exchange, path);
    exchange.route = route;
    if (found !== undefined) exchange.params = found.parameters;
    if (query !== '') exchange.query = parseQuery(query);
    route.begin(exchange);
  }

  function nowhere(exchange: Exchange, path: string): RefusedRequest {
    const methods = addresses.methodsAt(path);
    if (methods.length === 0) return refused('route_not_found');
    exchange.set('allow', allowed(methods));
    return refused('method_not_allowed');
  }

  return (request, response) => {
    const exchange = receive(request, response, services);
    try {
      begin(exchange);
    } catch (error) {
      refuse(services, exchange, error);
    }
  };
}

/** A path may be no UTF-8. */
function decoding<Result>(find: () => Result): Result {
  try {
    return find();
  } catch {
    throw refused('malformed_request');
  }
}

/** Where such a request ends is ambiguous, so nothing behind it is read as another request. */
function refusalOfFraming(
  { httpVersion, headers }: IncomingMessage,
  response: ServerResponse,
): RefusedRequest | undefined {
  if (httpVersion === '1.1') return undefined;
  const isOld = httpVersion === '1.0';
  if (isOld && headers['transfer-encoding'] === undefined) return undefined;
  response.shouldKeepAlive = false;
  return isOld
    ? refused('malformed_request', ['header', 'Transfer-Encoding'])
    : refused('http_version_not_supported');
}

/** Node joins duplicates with a comma and a space. */
function hostNamedOnce({ httpVersion, headers }: IncomingMessage): boolean {
  return headers.host === undefined ? httpVersion !== '1.1' : !headers.host.includes(' ');
}

function addOperation(
  addresses: Addresses<Route>,
  services: RouteServices,
  operation: Operation<OperationServices>,
): void {
  const { searchFence, lookup: transactions } = services;
  const permission = bitOf(operation.permission);
  const pattern = patternOf(operation.route);
  const writes = operation.method !== 'GET';

  async function handle(exchange: Exchange): Promise<void> {
    const context = authenticatedContext(exchange);
    const { inFlight } = context;
    if (inFlight !== undefined) {
      // A search has answered that there is no such transaction, or may have if its client has gone.
      // guard(search: what was turned away by a search is not processed): ) ⇒ && inFlight.begun)
      if (inFlight.turnedAway) throw refused('not_processed');
      inFlight.begun = true;
    }
    try {
      // guard(operations: only with the permission for it): (context.caller.permissions & permission) ⇒ context.caller.permissions + permission
      if ((context.caller.permissions & permission) === 0) throw refused('operation_not_permitted');
      const said = await operation.answer(context, exchange, services);
      if (said.location !== undefined) exchange.set('location', said.location);
      if (said.body !== undefined) exchange.set('content-type', JSON_TYPE);
      send(services, exchange, said, said.body === undefined ? undefined : JSON.stringify(said.body));
    } catch (error) {
      const { body } = exchange;
      // The body may contain a card number, and the next steps take time.
      exchange.body = undefined;
      throw (await refusalOfOperation(operation, context, merchantIn(body), error, transactions)) ?? error;
    } finally {
      if (inFlight !== undefined) searchFence.leave(inFlight);
    }
  }

  addresses.add(operation.method, pattern, {
    pattern,
    figures: services.requests.of(operation.id),
    // Not a promise, because there is nearly always nothing to wait for.
    begin(exchange) {
      const { request, response } = exchange;
      // While the process stops, it finishes requests in progress and starts no new ones.
      if (services.draining()) throw refused('not_processed');
      const inFlight = operation.creates ? arrive(searchFence, exchange) : undefined;
      const fail = (error: unknown) => refuse(services, exchange, error);
      const admit = (caller: Caller) => {
        if (inFlight !== undefined) inFlight.organisationId = caller.organisationId;
        const gone = operation.waits ? untilGone(request, response) : undefined;
        const address = services.clientAddresses.of(request);
        exchange.context = authenticated(exchange.context, caller, address, inFlight, gone);
        readBody(request, (error, body) => {
          if (error !== null) return fail(error);
          // Refused meanwhile, because its connection was.
          if (exchange.isAnswered) return;
          exchange.body = body;
          handle(exchange).catch(fail);
        });
      };
      const asked = { writes, inFlight };
      const known = knownCaller(services, request, asked);
      if (known === undefined) logIn(services, request, asked).then(admit).catch(fail);
      else admit(known);
    },
  });
}

/** For credentials that have to be verified. */
async function logIn(
  services: RouteServices,
  request: IncomingMessage,
  asked: { readonly writes: boolean; readonly inFlight: InFlightRequest | undefined },
): Promise<Caller> {
  const caller = await provenCaller(services, request, asked);
  if (caller !== undefined) return caller;
  if (asked.inFlight !== undefined) services.searchFence.leave(asked.inFlight);
  throw await refusedLogIn(services, request);
}

function authenticatedContext({ context }: Exchange): AuthenticatedRequest {
  if (context.stage !== 'authenticated') throw new Error('a request is handled before it is authenticated');
  return context;
}

/** From here on a search for the correlation ID waits for this request, until it is answered or given up. */
function arrive(
  searchFence: SearchFence,
  { context, request, response }: Exchange,
): InFlightRequest | undefined {
  if (context.correlationId === undefined) return undefined;
  const inFlight = searchFence.arrive(context.correlationId, {
    received: receivedAfter(request) ?? whenReceived(request),
    // A proxy may have held it up while its connection to us was free.
    sentAfter: searchFence.sentAfter(isForwarded(request) ? undefined : freeSince(request)),
    trace: context.trace,
  });
  response.once('close', () => {
    if (!inFlight.begun) searchFence.leave(inFlight);
  });
  return inFlight;
}

/** Aborted when the answer is sent, or the client has closed its side. */
function untilGone({ socket }: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  socket.once('end', abort);
  response.once('close', () => {
    socket.off('end', abort);
    abort();
  });
  return controller.signal;
}
