// The way of a request to an operation: who is calling, in flight until it is answered, handled, answered.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { allowed, patternOf } from '../api/addresses.js';
import type { Operation } from '../api/operation.js';
import { ADDRESSES, OPERATIONS, type OperationServices } from '../api/operations/operations.js';
import { bitFor } from '../api/permissions.js';
import { refused } from '../api/problems.js';
import { merchantIn, refusalOfOperation } from '../api/refusals.js';
import { type AuthenticatedRequest, authenticated } from '../api/request-context.js';
import type { Caller } from '../organisations/users/callers.js';
import type { InFlightRequest, SearchFence } from '../payments/finding/search-fence.js';
import { whenReceived } from './admission/turns.js';
import { type AnswerServices, JSON_TYPE, send } from './answers.js';
import { type AuthenticationServices, knownCaller, provenCaller, refusedLogIn } from './authentication.js';
import { receivedAfter } from './one-at-a-time.js';

export interface RouteServices extends OperationServices, AuthenticationServices, AnswerServices {}

export function addOperations(app: FastifyInstance, services: RouteServices): void {
  for (const operation of OPERATIONS) addOperation(app, services, operation);
  for (const [url, methods] of ADDRESSES.literal) refuseOtherMethods(app, url, methods);
}

function addOperation(
  app: FastifyInstance,
  services: RouteServices,
  operation: Operation<OperationServices>,
): void {
  const { searchFence, lookup } = services;
  const permission = bitFor(operation.id);
  app.route({
    method: operation.method,
    url: patternOf(operation.route),
    config: { figures: services.requests.of(operation.id) },
    // Not a promise: nearly always there is nothing to wait for.
    onRequest: (request, reply, done) => {
      // Nothing new is begun while the process ends; what was begun is finished.
      if (services.draining()) throw refused('not_processed');
      const inFlight = operation.creates ? arrive(searchFence, request, reply) : undefined;
      const admit = (caller: Caller) => {
        if (inFlight !== undefined) inFlight.organisationId = caller.organisationId;
        const gone = operation.waits ? untilGone(request, reply) : undefined;
        const address = services.clientAddresses.of(request.raw);
        request.context = authenticated(request.context, caller, address, inFlight, gone);
        done();
      };
      const known = knownCaller(services, request);
      if (known === undefined) logIn(services, request, inFlight).then(admit, done);
      else admit(known);
    },
    handler: async (request, reply) => {
      const context = authenticatedContext(request);
      const { inFlight } = context;
      if (inFlight !== undefined) {
        // Somebody was told that there is no such transaction, or may have been told since the client has gone.
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
        // Not returned: the framework would wait for it to be sent, as it has been.
        send(services, request, reply, said, said.body === undefined ? undefined : JSON.stringify(said.body));
      } catch (error) {
        const { body } = request;
        // A card number may stand anywhere in it, and what follows takes its time.
        request.body = undefined;
        throw (await refusalOfOperation(operation, context, merchantIn(body), error, lookup)) ?? error;
      } finally {
        if (inFlight !== undefined) searchFence.leave(inFlight);
      }
    },
  });
}

/** Of a request whose credentials have to be looked at. */
async function logIn(
  services: RouteServices,
  request: FastifyRequest,
  inFlight: InFlightRequest | undefined,
): Promise<Caller> {
  const caller = await provenCaller(services, request);
  if (caller !== undefined) return caller;
  if (inFlight !== undefined) services.searchFence.leave(inFlight);
  throw await refusedLogIn(services, request);
}

function authenticatedContext({ context }: FastifyRequest): AuthenticatedRequest {
  if (context.stage !== 'authenticated') throw new Error('a request is handled before its caller is known');
  return context;
}

/** From here on a search for its correlation ID waits for it, until it is answered or will not be handled any more. */
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

/** Aborted when the answer is out, or its client has closed its side: gone, or in no mood to wait. */
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
