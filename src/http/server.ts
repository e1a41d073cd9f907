// The HTTP server: Fastify on the server that takes one request of a connection at a time, its limits, and what every request
// goes through before it comes to its route.
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { allowed } from '../api/addresses.js';
import { BODY_LIMIT_BYTES, HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../api/limits.js';
import { ADDRESSES } from '../api/operations.js';
import { type RefusedRequest, refused } from '../api/problems.js';
import { originForm, parseQuery } from '../api/target.js';
import type { Room } from '../transactions/room.js';
import { receive, refuse } from './answers.js';
import { Connections } from './connections.js';
import { readJson } from './json-body.js';
import { makeServer } from './one-at-a-time.js';
import { addOperations, type RouteServices } from './operation-routes.js';
import { door } from './overload.js';
import { addPages, type PageServices } from './pages.js';
import { refusing } from './refused-connections.js';
import { Shedding } from './shedding.js';
import { Turns } from './turns.js';

export interface ServerServices extends RouteServices, PageServices {
  readonly room: Room;
  readonly maxConnections: number;
}

const KEEP_ALIVE_MS = 75_000;

function noSchemas(): never {
  throw new Error('a route has a schema for Fastify');
}

export function buildServer(services: ServerServices): FastifyInstance {
  const connections = new Connections(services.maxConnections, services.log);
  const turns = new Turns(() => services.searchFence.epoch);
  const shedding = new Shedding(services.log);
  const app = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: 'idle',
    // No route has a schema for Fastify: the compilers for them take longer to load than Fastify itself.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16_384, querystringParser: parseQuery },
    rewriteUrl: ({ url = '/' }) => originForm(url),
    serverFactory: (handle) =>
      makeServer(
        {
          requestTimeout: REQUEST_TIMEOUT_MS,
          headersTimeout: HEADERS_TIMEOUT_MS,
          keepAliveTimeout: KEEP_ALIVE_MS,
          connectionsCheckingInterval: 1_000,
        },
        {
          handle: door(handle, { ...services, connections, turns, shedding }),
          refuse: refusing(services.log, ADDRESSES),
          epoch: () => services.searchFence.epoch,
        },
      ),
    // Refused in its turn, by the server that was made above.
    clientErrorHandler: () => {},
    frameworkErrors: (error, request, reply) => {
      refuse(services, request, reply as FastifyReply, error);
    },
  });

  app.server.on('connection', (socket: Socket) => {
    services.searchFence.connected();
    connections.add(socket);
    turns.hurry();
  });
  app.addHook('onClose', async () => connections.close());

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', readJson);

  app.decorateRequest('context');
  app.addHook('onRequest', (request, reply, done) => {
    receive(request, reply);
    if (!hostNamedOnce(request)) return done(refused('malformed_request', ['header', 'Host']));
    // What leads nowhere is refused before its body is read, whatever that is.
    done(request.is404 ? notFound(request, reply) : undefined);
  });
  app.setErrorHandler((error, request, reply) => refuse(services, request, reply, error));

  addOperations(app, services);
  addPages(app, services);
  return app;
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
