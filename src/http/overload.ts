// The door: requests are begun in turns over tenants, and those for which there is no room are shed before the framework has
// looked at them. To shed must cost next to nothing, or there is no room left for what was accepted.
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { createsTransaction } from '../api/addresses.js';
import { CORRELATION_HEADER, returnable } from '../api/correlation-id.js';
import { refused } from '../api/problems.js';
import type { Callers } from '../merchants/callers.js';
import type { Room, Tenant } from '../transactions/room.js';
import { credentialsOf } from './authentication.js';
import type { Connections } from './connections.js';
import { rawRefusal, withCorrelationId } from './raw-refusal.js';
import type { Turns } from './turns.js';

/** One line of the log for all that were shed within this time. */
const TELL_EVERY_MS = 1_000;

/** Whoever watches over the gateway is not kept waiting by strangers. */
const WATCHING = ['/livez', '/readyz'];

export interface DoorServices {
  readonly connections: Connections;
  readonly callers: Callers;
  readonly room: Room;
  readonly log: Logger;
  readonly turns: Turns;
}

export function door(handle: RequestListener, services: DoorServices): RequestListener {
  const { callers, connections, room, log, turns } = services;
  const shed = shedding();
  const tell = telling(log);
  return (request, response) => {
    const { socket } = request;
    const tenant = tenantOf(request, callers);
    const creates = createsTransaction(request);
    const sheds = creates && room.refuses(tenant);
    const enters = creates && !sheds;
    if (sheds) tell(tenant);
    if (enters) room.enter(tenant);
    connections.begin(socket, request, response);
    // One listener for everything that ends with the answer: each costs something at every request.
    response.once('close', () => {
      connections.end(socket);
      if (enters) room.leave(tenant);
    });
    turns.take(tenant, request, response, sheds ? shed : handle);
  };
}

/** The organisation whose credentials these were when they were last used; otherwise where the request comes from. */
function tenantOf(request: IncomingMessage, callers: Callers): Tenant {
  const organisationId = callers.organisationOf(credentialsOf(request));
  if (organisationId !== undefined) return organisationId;
  if (WATCHING.includes(request.url ?? '')) return 'watching';
  return request.socket.remoteAddress ?? 'unknown';
}

function shedding(): RequestListener {
  const { status, headers, text } = rawRefusal(refused('not_processed'));
  return (request, response) => {
    const id = returnable(request.headers[CORRELATION_HEADER]);
    response.writeHead(status, withCorrelationId(headers, id)).end(text);
  };
}

/** How many were shed, and whose most of them were. */
function telling(log: Logger): (tenant: Tenant) => void {
  const shed = new Map<Tenant, number>();
  const tell = () => {
    const most = [...shed].sort(([, one], [, other]) => other - one)[0] as [Tenant, number];
    const [tenant, count] = most;
    log.warn(
      {
        shed: [...shed.values()].reduce((sum, each) => sum + each, 0),
        most: count,
        ...(typeof tenant === 'number' ? { organisation: tenant } : { address: tenant }),
      },
      'overloaded',
    );
    shed.clear();
  };
  return (tenant) => {
    if (shed.size === 0) setTimeout(tell, TELL_EVERY_MS).unref();
    shed.set(tenant, (shed.get(tenant) ?? 0) + 1);
  };
}
