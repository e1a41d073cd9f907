// The door: requests are begun in turns over tenants, and those for which there is no room are shed before the framework has
// looked at them. To shed must cost next to nothing, or there is no room left for what was accepted.
import type { IncomingMessage, RequestListener } from 'node:http';
import { createsTransaction } from '../../api/addresses.js';
import type { Callers } from '../../organisations/users/callers.js';
import type { Room, Tenant } from '../../payments/pipeline/room.js';
import { credentialsOf } from '../authentication.js';
import type { ClientAddresses } from '../client-address.js';
import type { Connections } from './connections.js';
import type { Shedding } from './shedding.js';
import type { Turns } from './turns.js';

/** Whoever watches over the gateway is not kept waiting by strangers. */
const WATCHING = ['/livez', '/readyz'];
const WATCHER = 'watching';

export interface DoorServices {
  readonly connections: Connections;
  readonly callers: Callers;
  readonly clientAddresses: ClientAddresses;
  readonly room: Room;
  readonly turns: Turns;
  readonly shedding: Shedding;
}

export function door(handle: RequestListener, services: DoorServices): RequestListener {
  const { connections, room, turns, shedding } = services;
  return (request, response) => {
    const { socket } = request;
    const tenant = tenantOf(request, services);
    if (tenant !== WATCHER) shedding.see(tenant);
    const creates = createsTransaction(request);
    const sheds = creates && room.refuses(tenant);
    const enters = creates && !sheds;
    if (enters) room.enter(tenant);
    connections.begin(socket, request, response);
    // One listener for everything that ends with the answer: each costs something at every request.
    response.once('close', () => {
      connections.end(socket);
      if (enters) room.leave(tenant);
    });
    if (sheds) shedding.take(tenant, request, response);
    else turns.take(tenant, request, response, handle);
  };
}

/** The organisation whose credentials these were when they were last used; otherwise where the request comes from. */
function tenantOf(request: IncomingMessage, { callers, clientAddresses }: DoorServices): Tenant {
  const organisationId = callers.organisationOf(credentialsOf(request));
  if (organisationId !== undefined) return organisationId;
  if (WATCHING.includes(request.url ?? '')) return WATCHER;
  return clientAddresses.of(request);
}
