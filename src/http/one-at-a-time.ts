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

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly mark: number;
}

/** Of one connection, from its first request to its end. */
interface Line {
  current: Exchange | undefined;
  readonly waiting: Exchange[];
}

/** Of requests that had to wait: the mark of the one before them when they were read. */
const marks = new WeakMap<IncomingMessage, number>();

/**
 * A request that stood behind another may have been received as early as at this mark. How long it was on its way from
 * the socket cannot be told: a connection on which much was sent ahead is not read until there is room.
 */
export function markBefore(request: IncomingMessage): number | undefined {
  return marks.get(request);
}

/**
 * Thousands of small requests fit into one packet. Begun all together they would keep everybody else waiting for
 * seconds; so the next one begins when the one before it was answered, and others have had their turn in between.
 * `mark` is asked at each request for what `markBefore` tells later.
 */
export function makeServer(options: ServerOptions, handle: RequestListener, mark: () => number): Server {
  const lines = new WeakMap<Socket, Line>();

  const begin = (socket: Socket, line: Line, exchange: Exchange): void => {
    const { request, response } = exchange;
    line.current = exchange;
    response.once('close', () => {
      // At once: who reads the answer may send the next request, and that one stands behind nobody.
      if (line.waiting.length === 0) line.current = undefined;
      else setImmediate(next, socket, line);
    });
    handle(request, response);
  };

  const next = (socket: Socket, line: Line): void => {
    const following = line.waiting.shift();
    // Behind an answer that ends the connection nothing is begun any more.
    if (following !== undefined && socket.writable) begin(socket, line, following);
    else line.current = undefined;
  };

  const listener: RequestListener = (request, response) => {
    const { socket } = request;
    const exchange = { request, response, mark: mark() };
    let line = lines.get(socket);
    if (line === undefined) {
      line = { current: undefined, waiting: [] };
      lines.set(socket, line);
    }
    if (line.current === undefined) begin(socket, line, exchange);
    else if (line.waiting.length < MOST_WAITING) {
      marks.set(request, line.current.mark);
      line.waiting.push(exchange);
    } else socket.destroy();
  };

  // Node's own answers to a missing host and to an unknown expectation say nothing; the first is refused elsewhere,
  // the second may be ignored.
  return createServer({ ...options, requireHostHeader: false }, listener).on('checkExpectation', listener);
}
