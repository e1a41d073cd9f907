// The HTTP server: correlation IDs, credentials, checks, the operations, and one log line for each request.
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Addresses, allowed, patternOf } from '../api/addresses.js';
import { CORRELATION_HEADER, returnable } from '../api/correlation-id.js';
import { CUSTOMER_OPERATIONS } from '../api/customers.js';
import { BASE_PATH } from '../api/hal.js';
import { openApiDocument } from '../api/openapi.js';
import type { Operation, Reply } from '../api/operation.js';
import { type Problem, problem, RefusedRequest, refused } from '../api/problems.js';
import { refusalOf, refusalResponse, saidTo } from '../api/refusals.js';
import { CorrelationId } from '../api/schemas.js';
import { originForm, parseQuery } from '../api/target.js';
import { TOKEN_OPERATIONS } from '../api/tokens.js';
import { TRANSACTION_OPERATIONS, type TransactionServices } from '../api/transactions.js';
import { checker, readIntegers } from '../api/validation.js';
import type { VaultServices } from '../api/vault-access.js';
import type { Caller } from '../merchants/callers.js';
import { referencePage } from '../reference/page.js';
import { correlationIdTaken } from '../transactions/create.js';
import type { Room } from '../transactions/room.js';
import type { InFlightRequest } from '../transactions/search-fence.js';
import { type AuthenticationServices, authenticated, refusedLogIn } from './authentication.js';
import { Connections } from './connections.js';
import { refusalOfRequest } from './framework-errors.js';
import { epochBefore, makeServer } from './one-at-a-time.js';
import { door } from './overload.js';
import { refusing } from './refused-connections.js';
import { epochWhenReceived, Turns } from './turns.js';

type OperationServices = TransactionServices & VaultServices;

export interface ServerServices extends OperationServices, AuthenticationServices {
  readonly log: Logger;
  readonly room: Room;
  readonly maxConnections: number;
  /** Empty when everything needed to serve is there, otherwise what is missing. */
  readonly notReady: () => Promise<string | undefined>;
  /** True from the moment that the process was told to stop. */
  readonly draining: () => boolean;
}

export const OPERATIONS: readonly Operation<OperationServices>[] = [
  ...TRANSACTION_OPERATIONS,
  ...CUSTOMER_OPERATIONS,
  ...TOKEN_OPERATIONS,
];

const ADDRESSES = new Addresses(OPERATIONS);

/** 100 KVPs of full length fit. */
const BODY_LIMIT_BYTES = 128 * 1024;
/** A request that has not arrived whole after this long is cut off. */
const REQUEST_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 75_000;
const JSON_TYPE = 'application/json; charset=utf-8';

const checkCorrelationId = checker('header', CorrelationId);

/** What is known of a request while it is answered. */
interface Passage {
  readonly startedMs: number;
  readonly correlationId: string | undefined;
  caller: Caller | undefined;
  reply: Pick<Reply, 'audit' | 'merchantId' | 'outcome'>;
  refusal: RefusedRequest | undefined;
  /** Of a request that creates a transaction. */
  inFlight: InFlightRequest | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    passage: Passage;
  }
}

export function buildServer(services: ServerServices): FastifyInstance {
  const connections = new Connections(services.maxConnections, services.log);
  const turns = new Turns(() => services.searchFence.epoch);
  const app = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: 'idle',
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
          handle: door(handle, { ...services, connections, turns }),
          refuse: refusing(services.log, ADDRESSES),
          epoch: () => services.searchFence.epoch,
        },
      ),
    // Refused in its turn, by the server that was made above.
    clientErrorHandler: () => {},
    frameworkErrors: (error, request, reply) => {
      refuse(services, request, reply as FastifyReply, error);
      // No hook runs for a request that came to no route.
      logRequest(services.log, request, reply as FastifyReply);
    },
  });

  app.server.on('connection', (socket: Socket) => {
    services.searchFence.connected();
    connections.add(socket);
    turns.hurry();
  });
  app.addHook('onClose', async () => connections.close());

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    // Many clients name a content type even where there is no content.
    if (request.method === 'DELETE') return done(null);
    if (!isPlain(request)) return done(refused('unsupported_media_type', ['header', 'Content-Encoding']));
    try {
      done(null, JSON.parse(body.toString('utf8')));
    } catch {
      done(refused('malformed_json', ['body']));
    }
  });

  app.decorateRequest('passage');
  app.addHook('onRequest', (request, reply, done) => {
    beginPassage(request, reply);
    if (!hostNamedOnce(request)) return done(refused('malformed_request', ['header', 'Host']));
    // What leads nowhere is refused before its body is read, whatever that is.
    done(request.is404 ? notFound(request, reply) : undefined);
  });
  // When the answer is there, not when it has been sent: a client that hung up is the one who will ask what happened.
  app.addHook('onSend', (request, reply, payload, done) => {
    logRequest(services.log, request, reply);
    done(null, payload);
  });
  app.setErrorHandler((error, request, reply) => refuse(services, request, reply, error));

  for (const operation of OPERATIONS) addOperation(app, services, operation);
  for (const [url, methods] of ADDRESSES.literal) refuseOtherMethods(app, url, methods);
  addPages(app, services);
  return app;
}

function beginPassage(request: FastifyRequest, reply: FastifyReply): void {
  const correlationId = correlationIdOf(request);
  request.passage = {
    startedMs: performance.now(),
    correlationId,
    caller: undefined,
    reply: {},
    refusal: undefined,
    inFlight: undefined,
  };
  // What is answered here may have card holders' data in it, and is true for the moment only.
  reply.header('cache-control', 'no-store');
  if (correlationId !== undefined) reply.header(CORRELATION_HEADER, correlationId);
}

/** Two of them come joined by a comma and a space. */
function hostNamedOnce({ raw: { httpVersion, headers } }: FastifyRequest): boolean {
  return headers.host === undefined ? httpVersion !== '1.1' : !headers.host.includes(' ');
}

function isPlain({ headers: { 'content-encoding': encoding = 'identity' } }: FastifyRequest): boolean {
  return encoding.toLowerCase() === 'identity';
}

/** That of the request, if it is well-formed; one that is made up where a lookup came without. */
function correlationIdOf({ method, headers }: FastifyRequest): string | undefined {
  const sent = headers[CORRELATION_HEADER] as string | undefined;
  if (sent === undefined) return method === 'GET' || method === 'HEAD' ? randomUUID() : undefined;
  return returnable(sent);
}

function addOperation(
  app: FastifyInstance,
  services: ServerServices,
  operation: Operation<OperationServices>,
): void {
  const createsTransaction = operation.creates === true;
  app.route({
    method: operation.method,
    url: patternOf(operation.route),
    onRequest: async (request, reply) => {
      // Nothing new is begun while the process ends; what was begun is finished.
      if (services.draining()) throw refused('not_processed');
      const { passage } = request;
      if (createsTransaction) announce(services, request, reply);
      const { inFlight } = passage;
      const caller = await authenticated(services, request);
      if (caller === undefined) {
        if (inFlight !== undefined) services.searchFence.leave(inFlight);
        throw await refusedLogIn(services, request);
      }
      passage.caller = caller;
      if (inFlight !== undefined) inFlight.organisationId = caller.organisationId;
    },
    handler: async (request, reply) => {
      const { passage } = request;
      const { inFlight } = passage;
      if (inFlight !== undefined) {
        // Somebody was told that there is no such transaction, or may have been told since the client has gone.
        if (inFlight.turnedAway) throw refused('not_processed');
        inFlight.begun = true;
      }
      try {
        const checked = check(operation, request);
        const answer = await operation.handle(checked, services);
        passage.reply = answer;
        if (answer.location !== undefined) reply.header('location', answer.location);
        reply.code(answer.status);
        if (services.draining()) reply.header('connection', 'close');
        if (answer.body === undefined) return reply.send();
        return reply.header('content-type', JSON_TYPE).send(JSON.stringify(answer.body));
      } catch (error) {
        const refusal = refusalOf(error, createsTransaction);
        if (createsTransaction && refusal?.status === 422) {
          throw (await earlierHolder(services, request)) ?? refusal;
        }
        throw refusal ?? error;
      } finally {
        if (inFlight !== undefined) services.searchFence.leave(inFlight);
      }
    },
  });
}

/** From here on a search for its correlation ID waits for it, until it is answered or will not be handled any more. */
function announce(
  { searchFence }: ServerServices,
  { passage, raw }: FastifyRequest,
  reply: FastifyReply,
): void {
  if (passage.correlationId === undefined) return;
  const inFlight = searchFence.arrive(passage.correlationId, epochBefore(raw) ?? epochWhenReceived(raw));
  passage.inFlight = inFlight;
  reply.raw.once('close', () => {
    if (!inFlight.begun) searchFence.leave(inFlight);
  });
}

/** All problems of a request together, wherever they are. */
function check(operation: Operation<OperationServices>, request: FastifyRequest) {
  const path = readIntegers(request.params as Record<string, unknown>, operation.path ?? EMPTY);
  const query = readIntegers(request.query as Record<string, unknown>, operation.query ?? EMPTY);
  const [first, ...others] = [
    ...correlationIdProblems(request),
    ...operation.checkPath(path),
    ...operation.checkQuery(query),
    ...operation.checkBody(request.body),
  ];
  if (first !== undefined) throw new RefusedRequest([first, ...others]);
  const { caller, correlationId, inFlight } = request.passage;
  return {
    inFlight,
    caller: caller as Caller,
    correlationId: correlationId as string,
    path: path as never,
    query: query as never,
    body: request.body as never,
  };
}

const EMPTY = { properties: {} } as never;

function correlationIdProblems(request: FastifyRequest): Problem[] {
  // Known only if it is well-formed, or made up where none is needed.
  if (request.passage.correlationId !== undefined) return [];
  const sent = request.headers[CORRELATION_HEADER];
  const problems = sent === undefined ? [problem('field_missing')] : checkCorrelationId(sent);
  return problems.map(({ code, message }) => ({ code, message, location: ['header', 'X-Correlation-Id'] }));
}

/**
 * A request under a correlation ID that is taken is a repetition, whatever else is wrong with it: told that it was
 * refused, the client could take its first try for refused too.
 */
async function earlierHolder(
  { lookup }: ServerServices,
  request: FastifyRequest,
): Promise<RefusedRequest | undefined> {
  const { caller, correlationId } = request.passage;
  const merchantId = (request.body as { merchant?: { id?: unknown } } | null | undefined)?.merchant?.id;
  const merchant = typeof merchantId === 'number' ? caller?.merchants.get(merchantId) : undefined;
  if (caller === undefined || correlationId === undefined || merchant === undefined) return undefined;
  const holder = await lookup.holderOf(caller, merchant, correlationId).catch(() => undefined);
  return refusalOf(correlationIdTaken(holder), true);
}

function notFound(request: FastifyRequest, reply: FastifyReply): RefusedRequest {
  const methods = ADDRESSES.methodsAt(request.url);
  if (methods.length === 0) return refused('route_not_found');
  reply.header('allow', allowed(methods));
  return refused('method_not_allowed');
}

/** GET /transactions/purchase is a wrong method, not a look-up of an audit called "purchase". */
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

function refuse(
  services: ServerServices,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): FastifyReply {
  if (request.passage === undefined) beginPassage(request, reply);
  const refusal = saidTo(request.method, refusalOfRequest(error));
  request.passage.refusal = refusal;
  if (refusal.code === 'internal_error') logInternal(services.log, request, error);
  const { status, headers, body } = refusalResponse(refusal);
  if (services.draining()) reply.header('connection', 'close');
  // The framework means to close it after every body that it does not like, with whatever was sent behind. Said and not
  // left out: without the header Node forgets that the client has closed its side.
  else if (reply.hasHeader('connection') && request.raw.complete && reply.raw.shouldKeepAlive)
    reply.header('connection', 'keep-alive');
  return reply.code(status).headers(headers).header('content-type', JSON_TYPE).send(JSON.stringify(body));
}

function addPages(app: FastifyInstance, services: ServerServices): void {
  // As bytes: to encode so long a text for every answer takes its time.
  const document = Buffer.from(JSON.stringify(openApiDocument(OPERATIONS)));
  const page = referencePage(openApiDocument(OPERATIONS));
  app.get(`${BASE_PATH}/openapi.json`, (_request, reply) =>
    reply.header('content-type', JSON_TYPE).send(document),
  );
  app.get('/docs', (_request, reply) =>
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .send(page),
  );
  app.get('/livez', (_request, reply) => reply.send({ status: 'live' }));
  app.get('/readyz', async (_request, reply) => {
    const missing = services.draining() ? 'shutting down' : await services.notReady();
    return reply
      .code(missing === undefined ? 200 : 503)
      .send(missing === undefined ? { status: 'ready' } : { status: 'not ready', reason: missing });
  });
}

function logRequest(log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const { passage } = request;
  if (passage === undefined) return;
  const { audit = passage.refusal?.audit, merchantId, outcome } = passage.reply;
  log.info(
    {
      method: request.method,
      // The pattern, not the address: an address can hold anything.
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      correlation_id: passage.correlationId,
      user: passage.caller?.username,
      merchant: merchantId,
      audit,
      outcome: passage.refusal?.code ?? outcome,
      duration_ms: Math.round((performance.now() - passage.startedMs) * 100) / 100,
    },
    'request',
  );
}

/** The place, not the message: a message of the database can repeat what was sent. */
function logInternal(log: Logger, request: FastifyRequest, error: unknown): void {
  const { name, code, constraint, stack = '' } = error as Error & { code?: string; constraint?: string };
  const frames = stack.split('\n').filter((line) => line.startsWith('    at '));
  log.error(
    { correlation_id: request.passage.correlationId, name, code, constraint, at: frames.slice(0, 6) },
    'internal error',
  );
}
