// The server below the framework: of each connection one request at a time, however many were sent at once, and an answer
// to each of them. What cannot be read is refused in its turn, when everything before it has been answered.

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { BODY_LIMIT_BYTES } from '../api/limits.js';
import { refused } from '../api/problems.js';
import type { Moment } from '../payments/finding/search-fence.js';
import { beginInTurns } from './connections.js';
import { type CertificatePair, isHandshaking, serverOptions } from './tls.js';

/** Where so many wait, the connection is not read until none does. */
const ENOUGH_WAITING = 64;
/**
 * One read can hold more than that: those are kept as long as no more than this many wait on all connections together,
 * about 20 MB.
 */
const MOST_WAITING_IN_ALL = 10_000;
/** How long a client whose connection was ended may take to read why. */
const LINGER_MS = 1_000;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly received: Moment;
}

/** What Node says of a connection, or what we have against a request. */
export type ConnectionError = Error & { code?: string; rawPacket?: Buffer; bytesParsed?: number };

/** What cannot be read, or is not taken: a request whose head had arrived, or whatever else came. */
export interface Unreadable {
  readonly error: ConnectionError;
  readonly request: IncomingMessage | undefined;
}

export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Handlers {
  readonly handle: RequestListener;
  /** Asked once for each refusal, when it is its turn. */
  readonly refuse: (unreadable: Unreadable, socket: Socket) => Refusal;
  /** Asked at each request for what `receivedAfter` tells later. */
  readonly now: () => Moment;
  /** A handshake has failed. Its connection is closed. */
  readonly handshakeFailed?: (error: ConnectionError, socket: Socket) => void;
}

/** Of requests that had to wait: when the one before them was received. */
const moments = new WeakMap<IncomingMessage, Moment>();

/**
 * A request that stood behind another may have been received as early as this. How long it was on its way from
 * the socket cannot be told: a connection on which much was sent ahead is not read until there is room.
 */
export function receivedAfter(request: IncomingMessage): Moment | undefined {
  return moments.get(request);
}

/**
 * Thousands of small requests fit into one packet. Begun all together they would keep everybody else waiting for
 * seconds; so the next one begins when the one before it was answered, and others have had their turn in between.
 */
export function makeServer(
  options: ServerOptions & { requestTimeout: number },
  handlers: Handlers,
  /** With one the server speaks TLS. */
  certificate?: CertificatePair,
): Server {
  const lines = new WeakMap<Socket, Line>();
  const room = { waiting: 0 };
  const lineOf = (socket: Socket): Line => {
    const known = lines.get(socket);
    if (known !== undefined) return known;
    const line = new Line(socket, handlers, room, options.requestTimeout);
    lines.set(socket, line);
    return line;
  };
  const listener: RequestListener = (request, response) => lineOf(request.socket).receive(request, response);

  // A missing host is refused elsewhere, with an answer that says so. Duplicates are joined, so that they are seen.
  const all = { ...options, requireHostHeader: false, joinDuplicateHeaders: true };
  const server: Server =
    certificate === undefined
      ? createServer(all, listener)
      : createTlsServer({ ...all, ...serverOptions(certificate) }, listener);
  if (certificate !== undefined) beginInTurns(server);
  server
    // Node's own answer to an unknown expectation says nothing; it may be ignored.
    .on('checkExpectation', listener)
    .on('checkContinue', (request, response) => {
      // A client that is not told to go on need not send the body: nobody can tell what comes next.
      if (Number(request.headers['content-length']) > BODY_LIMIT_BYTES) response.shouldKeepAlive = false;
      else response.writeContinue();
      listener(request, response);
    })
    .on('clientError', (error, stream) => {
      const socket = stream as Socket;
      // guard(TLS: nothing is written where the handshake has failed): !isHandshaking(socket) ⇒ socket.writable
      if (!isHandshaking(socket)) return lineOf(socket).fail(error);
      socket.destroy();
      handlers.handshakeFailed?.(error, socket);
    })
    .on('connect', (request, socket) => {
      // Node has let go of this connection.
      socket.on('error', () => {});
      lineOf(socket as Socket).end({ error: refused('method_not_allowed'), request });
    });
  // A client that has sent everything and says so still waits for its answers.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/** Of one connection, from its first request to its end. */
class Line {
  #current: Exchange | undefined;
  readonly #waiting: Exchange[] = [];
  #received = 0;
  /** Answered before its body had come. */
  #unread: IncomingMessage | undefined;
  #held = false;
  /** From when the connection was not read, until it is certain that everything sent meanwhile has been read. */
  #stopped: Moment | undefined;
  /** Nothing more is begun. What is to be said at the end, if anything is. */
  #ending: { readonly unreadable: Unreadable | undefined } | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly handlers: Handlers,
    private readonly room: { waiting: number },
    private readonly requestTimeoutMs: number,
  ) {
    socket.on('pause', () => {
      this.#stopped ??= handlers.now();
    });
    // What Node calls after the last answer. To close a connection on which something is unread resets it, and the
    // client may never see the answer.
    const { destroySoon } = socket;
    socket.destroySoon = () => {
      if (this.#ending !== undefined || this.#newest?.complete === false) this.#close();
      else destroySoon.call(socket);
    };
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    // Behind an answer that ends the connection nothing is begun any more.
    // guard(connections: nothing is begun behind an answer that ends the connection): || !this.socket.writable ⇒
    if (this.#ending !== undefined || !this.socket.writable) return;
    this.#received += 1;
    const before = this.#stopped ?? this.#current?.received;
    if (before !== undefined) moments.set(request, before);
    const exchange = { request, response, received: this.#stopped ?? this.handlers.now() };
    if (this.#current === undefined) {
      this.#begin(exchange);
      return;
    }
    const enough = this.#waiting.length >= ENOUGH_WAITING;
    if (enough && this.room.waiting >= MOST_WAITING_IN_ALL) {
      this.end({ error: refused('too_many_requests'), request });
      return;
    }
    this.#waiting.push(exchange);
    this.room.waiting += 1;
    if (enough) this.#hold();
  }

  /** What comes next on the connection cannot be read, or does not come. */
  fail(error: ConnectionError): void {
    if (!this.socket.writable || this.#ending !== undefined) return;
    const newest = this.#newest;
    if (newest === undefined || newest.complete) {
      // Its client has said that nothing follows: whatever does is nobody's request.
      if (error.code === 'HPE_CLOSED_CONNECTION') this.end(undefined);
      else if (!this.#postponed(error, undefined)) this.end({ error, request: undefined });
      return;
    }
    if (this.#postponed(error, newest)) return;
    const waited = this.#waiting.pop() !== undefined;
    if (waited) this.room.waiting -= 1;
    // One that was answered before it had come whole has all that is due to it.
    const answered = !waited && this.#current?.response.headersSent !== false;
    this.end(answered ? undefined : { error, request: newest });
  }

  /** Begins nothing more; says this when everything before it is answered, and closes the connection. */
  end(unreadable: Unreadable | undefined): void {
    const current = this.#current;
    if (unreadable !== undefined && unreadable.request === current?.request && current !== undefined) {
      this.#ending = { unreadable: undefined };
      const { status, headers, text } = this.handlers.refuse(unreadable, this.socket);
      current.response.writeHead(status, { ...headers, connection: 'close' }).end(text);
      return;
    }
    this.#ending = { unreadable };
    if (current === undefined) this.#finish();
    else this.#hold();
  }

  get #newest(): IncomingMessage | undefined {
    return this.#waiting.at(-1)?.request ?? this.#current?.request ?? this.#unread;
  }

  #begin(exchange: Exchange): void {
    const { request, response } = exchange;
    this.#current = exchange;
    response.once('close', () => {
      this.#unread = request.complete ? undefined : request;
      // At once: who reads the answer may send the next request, and that one stands behind nobody.
      if (this.#waiting.length === 0) this.#rest();
      else setImmediate(() => this.#next());
    });
    this.handlers.handle(request, response);
  }

  #next(): void {
    const following = this.#waiting.shift();
    if (following !== undefined) this.room.waiting -= 1;
    if (following !== undefined && this.socket.writable) {
      if (this.#held && this.#waiting.length === 0 && this.#ending === undefined) this.#release();
      this.#begin(following);
      return;
    }
    this.room.waiting -= this.#waiting.length;
    this.#waiting.length = 0;
    this.#rest();
  }

  #rest(): void {
    this.#current = undefined;
    if (this.#ending !== undefined) this.#finish();
    else if (this.#stopped !== undefined) void setImmediate(() => this.#catchUp(this.#received));
  }

  /** A connection that is read, and brings nothing for a whole turn of the event loop, has nothing left from before. */
  #catchUp(received: number): void {
    setImmediate(() => {
      if (this.#received === received && !this.socket.isPaused()) this.#stopped = undefined;
    });
  }

  #finish(): void {
    const { unreadable } = this.#ending ?? {};
    if (unreadable !== undefined && this.socket.writable) {
      this.socket.write(responseText(this.handlers.refuse(unreadable, this.socket)));
    }
    this.#close();
  }

  #close(): void {
    if (this.socket.writableEnded) return;
    this.socket.end();
    // What is still on its way is read and thrown away, but a client that does not close its side must not keep the
    // connection.
    this.#release();
    setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }

  /** Node goes on reading after every request that it has read or answered; not here. */
  #hold(): void {
    if (this.#held) return;
    this.#held = true;
    this.socket.resume = () => this.socket;
    this.socket.pause();
  }

  #release(): void {
    if (this.#held) Reflect.deleteProperty(this.socket, 'resume');
    this.#held = false;
    this.socket.resume();
  }

  /** What does not come while the connection is not read is not late. Its time begins anew. */
  #postponed(error: ConnectionError, request: IncomingMessage | undefined): boolean {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || !this.socket.isPaused()) return false;
    const received = this.#received;
    const again = () => {
      if (this.#received === received && request?.complete !== true) this.fail(error);
    };
    setTimeout(again, this.requestTimeoutMs).unref();
    return true;
  }
}

function responseText({ status, headers, text }: Refusal): string {
  const lines = Object.entries({ date: new Date().toUTCString(), ...headers, connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${text}`;
}
