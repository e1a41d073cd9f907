// The HTTP server: Fastify on a server that handles one request of a connection at a time, its limits, the checks of every request, and
// the path of a request to its operation: authenticate, register in flight, handle, answer.
import type { IncomingMessage, Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { allowed, originForm, parseQuery, patternOf } from '../api/addresses.js';
import { BODY_LIMIT_BYTES, HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../api/limits.js';
import { type AuthenticatedRequest, authenticated, type Operation } from '../api/operation.js';
import { ADDRESSES, OPERATIONS, type OperationServices } from '../api/operations/operations.js';
import { type RefusedRequest, refused } from '../api/problems.js';
import { merchantIn, refusalOfOperation } from '../api/refusals.js';
import type { Caller } from '../organisations/users/callers.js';
import { bitOf } from '../organisations/users/permissions.js';
import type { InFlightRequest, SearchFence } from '../payments/finding/search-fence.js';
import type { Capacity } from '../payments/pipeline/capacity.js';
import { parseJson } from '../values/json.js';
import { admission, Shedding, Turns, whenReceived } from './admission.js';
import { type AnswerServices, JSON_TYPE, receive, refuse, send } from './answers.js';
import { type AuthenticationServices, knownCaller, provenCaller, refusedLogIn } from './authentication.js';
import { makeServer, receivedAfter } from './connection-queue.js';
import { type ConnectionFigures, Connections } from './connections.js';
import { NO_SCHEMAS } from './no-schemas.js';
import { addPages, type PageServices } from './pages.js';
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

export interface HttpServer {
  readonly app: FastifyInstance;
  figures(): ServerFigures;
  /** Applies from the next handshake on. Open connections continue unchanged. */
  useCertificate(pair: CertificatePair): void;
}

const KEEP_ALIVE_MS = 75_000;

export function buildServer(services: ServerServices): HttpServer {
  const connections = new Connections({ listener: 'api', most: services.maxConnections }, services.log);
  const turns = new Turns(() => services.searchFence.now);
  const shedding = new Shedding(services.log);
  const failedHandshakes = new FailedHandshakes(services.log);
  /** Several if the name to listen on has several addresses. */
  const servers: Server[] = [];
  let { certificate } = services;
  const app = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: 'idle',
    schemaController: NO_SCHEMAS,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16_384, querystringParser: parseQuery },
    rewriteUrl: ({ url = '/' }) => originForm(url),
    serverFactory: (handle) => {
      const server = makeServer(
        {
          requestTimeout: REQUEST_TIMEOUT_MS,
          headersTimeout: HEADERS_TIMEOUT_MS,
          keepAliveTimeout: KEEP_ALIVE_MS,
          connectionsCheckingInterval: 1_000,
        },
        {
          handle: admission(handle, { ...services, connections, turns, shedding }),
          refuse: refusing(services.requestLog, ADDRESSES, services.clientAddresses, services.requests),
          now: () => services.searchFence.now,
          handshakeFailed: (error, socket) => failedHandshakes.note(error, socket),
        },
        certificate,
      );
      servers.push(server);
      const isTls = server instanceof TlsServer;
      server.on('connection', (socket: Socket) => {
        services.searchFence.connected();
        connections.add(socket, isTls);
        turns.connectionAccepted();
      });
      server.on('secureConnection', (socket: Socket) => connections.secured(acceptedSocket(socket), socket));
      return server;
    },
    // Refused in its turn by the server made above.
    clientErrorHandler: () => {},
    frameworkErrors: (error, request, reply) => {
      refuse(services, request, reply as FastifyReply, error);
    },
  });

  app.addHook('preClose', async () => connections.dismissSilent());
  app.addHook('onClose', async () => connections.close());

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', readJson);

  app.decorateRequest('context');
  app.addHook('onRequest', (request, reply, done) => {
    receive(request, reply, services);
    const unclear = refusalOfFraming(request, reply);
    if (unclear !== undefined) return done(unclear);
    if (!hostNamedOnce(request)) return done(refused('malformed_request', ['header', 'Host']));
    // Requests to unknown addresses are refused before their body is read.
    done(request.is404 ? notFound(request, reply) : undefined);
  });
  app.setErrorHandler((error, request, reply) => refuse(services, request, reply, error));

  addOperations(app, services);
  addPages(app, services);
  return {
    app,
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

/** Where such a request ends is ambiguous, so nothing behind it is read as another request. */
function refusalOfFraming(
  { raw: { httpVersion, headers } }: FastifyRequest,
  { raw: response }: FastifyReply,
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
function hostNamedOnce({ raw: { httpVersion, headers } }: FastifyRequest): boolean {
  return headers.host === undefined ? httpVersion !== '1.1' : !headers.host.includes(' ');
}

function notFound(request: FastifyRequest, reply: FastifyReply): RefusedRequest {
  const methods = ADDRESSES.methodsAt(request.url);
  if (methods.length === 0) return refused('route_not_found');
  reply.header('allow', allowed(methods));
  return refused('method_not_allowed');
}

interface RouteServices extends OperationServices, AuthenticationServices, AnswerServices {}

function addOperations(app: FastifyInstance, services: RouteServices): void {
  for (const operation of OPERATIONS) addOperation(app, services, operation);
  for (const [url, methods] of ADDRESSES.literal) refuseOtherMethods(app, url, methods);
}

function addOperation(
  app: FastifyInstance,
  services: RouteServices,
  operation: Operation<OperationServices>,
): void {
  const { searchFence, lookup } = services;
  const permission = bitOf(operation.permission);
  const writes = operation.method !== 'GET';
  app.route({
    method: operation.method,
    url: patternOf(operation.route),
    config: { figures: services.requests.of(operation.id) },
    // Not a promise, because there is nearly always nothing to wait for.
    onRequest: (request, reply, done) => {
      // While the process stops, it finishes requests in progress and starts no new ones.
      if (services.draining()) throw refused('not_processed');
      const inFlight = operation.creates ? arrive(searchFence, request, reply) : undefined;
      const admit = (caller: Caller) => {
        if (inFlight !== undefined) inFlight.organisationId = caller.organisationId;
        const gone = operation.waits ? untilGone(request, reply) : undefined;
        const address = services.clientAddresses.of(request.raw);
        request.context = authenticated(request.context, caller, address, inFlight, gone);
        done();
      };
      const known = knownCaller(services, request, writes);
      if (known === undefined) logIn(services, request, inFlight, writes).then(admit, done);
      else admit(known);
    },
    handler: async (request, reply) => {
      const context = authenticatedContext(request);
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
        const said = await operation.answer(context, request, services);
        if (said.location !== undefined) reply.header('location', said.location);
        if (services.draining()) reply.header('connection', 'close');
        if (said.body !== undefined) reply.header('content-type', JSON_TYPE);
        // Not returned: the framework would wait for an answer that is already sent.
        send(services, request, reply, said, said.body === undefined ? undefined : JSON.stringify(said.body));
      } catch (error) {
        const { body } = request;
        // The body may contain a card number, and the next steps take time.
        request.body = undefined;
        throw (await refusalOfOperation(operation, context, merchantIn(body), error, lookup)) ?? error;
      } finally {
        if (inFlight !== undefined) searchFence.leave(inFlight);
      }
    },
  });
}

/** For credentials that have to be verified. */
async function logIn(
  services: RouteServices,
  request: FastifyRequest,
  inFlight: InFlightRequest | undefined,
  writes: boolean,
): Promise<Caller> {
  const caller = await provenCaller(services, request, writes);
  if (caller !== undefined) return caller;
  if (inFlight !== undefined) services.searchFence.leave(inFlight);
  throw await refusedLogIn(services, request);
}

function authenticatedContext({ context }: FastifyRequest): AuthenticatedRequest {
  if (context.stage !== 'authenticated') throw new Error('a request is handled before it is authenticated');
  return context;
}

/** From here on a search for the correlation ID waits for this request, until it is answered or given up. */
function arrive(
  searchFence: SearchFence,
  { context, raw }: FastifyRequest,
  reply: FastifyReply,
): InFlightRequest | undefined {
  if (context.correlationId === undefined) return undefined;
  const received = receivedAfter(raw) ?? whenReceived(raw);
  const inFlight = searchFence.arrive(context.correlationId, received, context.trace);
  reply.raw.once('close', () => {
    if (!inFlight.begun) searchFence.leave(inFlight);
  });
  return inFlight;
}

/** Aborted when the answer is sent, or the client has closed its side. */
function untilGone({ raw: { socket } }: FastifyRequest, reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  socket.once('end', abort);
  reply.raw.once('close', () => {
    socket.off('end', abort);
    abort();
  });
  return controller.signal;
}

/** GET /transactions/purchase is a wrong method, not a lookup of an audit called "purchase". */
function refuseOtherMethods(app: FastifyInstance, url: string, methods: readonly string[]): void {
  app.route({
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !methods.includes(method)),
    url,
    onRequest: (_request, reply, done) => {
      reply.header('allow', allowed(methods));
      done(refused('method_not_allowed'));
    },
    handler: async () => {},
  });
}

type Done = (error: Error | null, body?: unknown) => void;

/**
 * A body may contain card numbers and CVVs: each piece is overwritten once it is read. Fastify's own parser copies the pieces and leaves
 * them behind.
 */
function readJson(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
  const announced = Number(request.headers['content-length']);
  if (announced > BODY_LIMIT_BYTES) {
    done(refused('body_too_large'));
    return;
  }
  const pieces: Buffer[] = [];
  let length = 0;

  function onData(piece: Buffer): void {
    length += piece.length;
    pieces.push(piece);
    if (length > BODY_LIMIT_BYTES) end(refused('body_too_large'));
  }

  function onEnd(): void {
    const text = textOf(pieces, length);
    if (length !== announced && !Number.isNaN(announced)) end(refused('malformed_request'));
    // Many clients send a content type even without content.
    else if (request.method === 'DELETE') end(null);
    else if (!isPlain(request)) end(refused('unsupported_media_type', ['header', 'Content-Encoding']));
    else parse(text, end);
  }

  function end(error: Error | null, body?: unknown): void {
    payload.off('data', onData).off('end', onEnd).off('error', end);
    for (const piece of pieces) piece.fill(0);
    done(error, body);
  }

  payload.on('data', onData).on('end', onEnd).on('error', end).resume();
}

function textOf(pieces: readonly Buffer[], length: number): string {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) return only.toString('utf8');
  const whole = Buffer.concat(pieces, length);
  const text = whole.toString('utf8');
  whole.fill(0);
  return text;
}

function parse(text: string, done: Done): void {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    done(refused('malformed_json', ['body']));
    return;
  }
  done(null, body);
}

function isPlain({ headers: { 'content-encoding': encoding = 'identity' } }: FastifyRequest): boolean {
  return encoding.toLowerCase() === 'identity';
}
