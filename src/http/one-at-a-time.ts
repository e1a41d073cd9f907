// The server below the framework: of each connection one request at a time, however many were sent at once.

import type { ServerResponse } from 'node:http';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import type { Socket } from 'node:net';

/** More than any honest client sends ahead. */
const MOST_WAITING = 64;

type Waiting = readonly [IncomingMessage, ServerResponse];

/**
 * Thousands of small requests fit into one packet. Begun all together they would keep everybody else waiting for
 * seconds; so the next one begins when the one before it was answered, and others have had their turn in between.
 */
export function makeServer(options: ServerOptions, handle: RequestListener): Server {
  const queues = new WeakMap<Socket, Waiting[]>();

  const begin = (socket: Socket, [request, response]: Waiting): void => {
    response.once('close', () => setImmediate(next, socket));
    handle(request, response);
  };

  const next = (socket: Socket): void => {
    const following = queues.get(socket)?.shift();
    // Behind an answer that ends the connection nothing is begun any more.
    if (following === undefined || !socket.writable) queues.delete(socket);
    else begin(socket, following);
  };

  const listener: RequestListener = (request, response) => {
    const { socket } = request;
    const queue = queues.get(socket);
    if (queue === undefined) {
      queues.set(socket, []);
      begin(socket, [request, response]);
    } else if (queue.length < MOST_WAITING) queue.push([request, response]);
    else socket.destroy();
  };

  // Node's own answers to a missing host and to an unknown expectation say nothing; the first is refused elsewhere,
  // the second may be ignored.
  return createServer({ ...options, requireHostHeader: false }, listener).on('checkExpectation', listener);
}
