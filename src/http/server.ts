// The HTTP server: Fastify on the server that takes one request of a connection at a time, its limits, and what every request
// goes through before it comes to its route.
import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { allowed, originForm, parseQuery } from '../api/addresses.js';
import { BODY_LIMIT_BYTES, HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../api/limits.js';
import { ADDRESSES } from '../api/operations/operations.js';
import { type RefusedRequest, refused } from '../api/problems.js';
import type { Room } from '../payments/pipeline/room.js';
import { type ConnectionFigures, Connections } from './admission/connections.js';
import { door } from './admission/overload.js';
import { Shedding } from './admission/shedding.js';
import { Turns } from './admission/turns.js';
import { receive, refuse } from './answers.js';
import { readJson } from './json-body.js';
import { makeServer } from './one-at-a-time.js';
import { addOperations, type RouteServices } from './operation-routes.js';
import { addPages, type PageServices } from './pages.js';
import { refusing } from './refused-connections.js';
import type { CertificatePair } from './tls/certificate.js';
import { FailedHandshakes } from './tls/failed-handshakes.js';
import { acceptedSocket, contextOptions } from './tls/tls.js';

export interface ServerServices extends RouteServices, PageServices {
  readonly room: Room;
  readonly maxConnections: number;
  /** With one the server speaks TLS, and nothing else. */
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
  /** From the next handshake on. Connections that there are go on as they are. */
  useCertificate(pair: CertificatePair): void;
}

const KEEP_ALIVE_MS = 75_000;

function noSchemas(): never {
  throw new Error('a route has a schema for Fastify');
}

export function buildServer(services: ServerServices): HttpServer {
  const connections = new Connections(services.maxConnections, services.log);
  const turns = new Turns(() => services.searchFence.now);
  const shedding = new Shedding(services.log);
  const failedHandshakes = new FailedHandshakes(services.log);
  /** Several where the name to listen on has several addresses. */
  const servers: Server[] = [];
  let { certificate } = services;
  const app = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: 'idle',
    // No route has a schema for Fastify: the compilers for them take longer to load than Fastify itself.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
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
          handle: door(handle, { ...services, connections, turns, shedding }),
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
        turns.hurry();
      });
      server.on('secureConnection', (socket: Socket) => connections.secured(acceptedSocket(socket), socket));
      return server;
    },
    // Refused in its turn, by the server that was made above.
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
    // What leads nowhere is refused before its body is read, whatever that is.
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

/** Where a request ends that is refused like this is anybody's guess: nothing behind it is read as another. */
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

/** Two of them come joined by a comma and a space. */
function hostNamedOnce({ raw: { httpVersion, headers } }: FastifyRequest): boolean {
  return headers.host === undefined ? httpVersion !== '1.1' : !headers.host.includes(' ');
}

function notFound(request: FastifyRequest, reply: FastifyReply): RefusedRequest {
  const methods = ADDRESSES.methodsAt(request.url);
  if (methods.length === 0) return refused('route_not_found');
  reply.header('allow', allowed(methods));
  return refused('method_not_allowed');
}
