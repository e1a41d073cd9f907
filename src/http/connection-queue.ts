// The server below. Handles one request at a time on each connection, however many were sent at once, and answers each.
// Unreadable input is refused in its turn, after everything before it is answered.

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

/** If this many requests wait, the connection is not read until none waits. */
const ENOUGH_WAITING = 64;
/** One read can contain more. They are kept while no more than this many wait on all connections together, about 20 MB. */
const MOST_WAITING_IN_ALL = 10_000;
/** How long a client may take to read why its connection was closed. */
const LINGER_MS = 1_000;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly received: Moment;
}

/** Node's error about a connection, or our refusal of a request. */
export type ConnectionError = Error & { code?: string; rawPacket?: Buffer; bytesParsed?: number };

/** Unreadable or refused input: a request whose head has arrived, or anything else. */
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
  /** Called once for each refusal, in its turn. */
  readonly refuse: (unreadable: Unreadable, socket: Socket) => Refusal;
  /** Called for each request, for `receivedAfter` and `freeSince`. */
  readonly now: () => Moment;
  /** A handshake has failed, and its connection is closed. */
  readonly handshakeFailed?: (error: ConnectionError, socket: Socket) => void;
}

/** For requests that had to wait: when the previous request was received. */
const moments = new WeakMap<IncomingMessage, Moment>();

/**
 * The earliest time at which a request behind another can have been received. The exact time is unknown: a connection with much sent
 * ahead is not read until there is room.
 */
export function receivedAfter(request: IncomingMessage): Moment | undefined {
  return moments.get(request);
}

/** When connections were accepted, or had last answered whatever was sent on them. */
const free = new WeakMap<Socket, Moment>();

/** Nothing that arrives on the connection of this request was sent earlier, unless somebody between us and the client has kept it. */
export function freeSince({ socket }: IncomingMessage): Moment | undefined {
  return free.get(socket);
}

/**
 * Thousands of small requests fit into one packet. Started together they would block everybody else for seconds. So each starts after the
 * previous answer, and others have their turn in between.
 */
export function makeServer(
  options: ServerOptions & { requestTimeout: number },
  handlers: Handlers,
  /** If given, the server speaks TLS. */
  certificate?: CertificatePair,
): Server {
  const queues = new WeakMap<Socket, ConnectionQueue>();
  const room = { waiting: 0 };
  const queueOf = (socket: Socket): ConnectionQueue => {
    const known = queues.get(socket);
    if (known !== undefined) return known;
    const queue = new ConnectionQueue(socket, handlers, room, options.requestTimeout);
    queues.set(socket, queue);
    return queue;
  };
  const listener: RequestListener = (request, response) => queueOf(request.socket).receive(request, response);

  // A missing host is refused elsewhere, with a proper answer. Duplicates are joined, so that they can be detected.
  const all = { ...options, requireHostHeader: false, joinDuplicateHeaders: true };
  const server: Server =
    certificate === undefined
      ? createServer(all, listener)
      : createTlsServer({ ...all, ...serverOptions(certificate) }, listener);
  if (certificate !== undefined) beginInTurns(server);
  server
    .on(certificate === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      free.set(socket, handlers.now());
    })
    // Node's own answer to an unknown expectation says nothing; the expectation may be ignored.
    .on('checkExpectation', listener)
    .on('checkContinue', (request, response) => {
      // Without "100 Continue" a client need not send the body, so what follows is ambiguous.
      if (Number(request.headers['content-length']) > BODY_LIMIT_BYTES) response.shouldKeepAlive = false;
      else response.writeContinue();
      listener(request, response);
    })
    .on('clientError', (error, stream) => {
      const socket = stream as Socket;
      // guard(TLS: nothing is written where the handshake has failed): !isHandshaking(socket) ⇒ socket.writable
      if (!isHandshaking(socket)) return queueOf(socket).fail(error);
      socket.destroy();
      handlers.handshakeFailed?.(error, socket);
    })
    .on('connect', (request, socket) => {
      // Node does not handle this connection any more.
      socket.on('error', () => {});
      queueOf(socket as Socket).end({ error: refused('method_not_allowed'), request });
    });
  // A client that has closed its side still waits for its answers.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/** The requests of one connection, from the first to its end. */
class ConnectionQueue {
  #current: Exchange | undefined;
  readonly #waiting: Exchange[] = [];
  #received = 0;
  /** A request that was answered before its body had arrived. */
  #unread: IncomingMessage | undefined;
  #held = false;
  /** Since when the connection has not been read, until all that was sent meanwhile has been read. */
  #stopped: Moment | undefined;
  /** No further request is started. Holds the final refusal, if any. */
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
    // Node calls this after the last answer. Closing a connection with unread data resets it, and the client might never see the answer.
    const { destroySoon } = socket;
    socket.destroySoon = () => {
      if (this.#ending !== undefined || this.#newest?.complete === false) this.#close();
      else destroySoon.call(socket);
    };
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    // No request is started after an answer that ends the connection.
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

  /** The next input on the connection cannot be read, or does not arrive. */
  fail(error: ConnectionError): void {
    if (!this.socket.writable || this.#ending !== undefined) return;
    const newest = this.#newest;
    if (newest === undefined || newest.complete) {
      // The client has said that nothing follows: more input is not a request.
      if (error.code === 'HPE_CLOSED_CONNECTION') this.end(undefined);
      else if (!this.#postponed(error, undefined)) this.end({ error, request: undefined });
      return;
    }
    if (this.#postponed(error, newest)) return;
    const waited = this.#waiting.pop() !== undefined;
    if (waited) this.room.waiting -= 1;
    // A request that was answered before it had arrived completely needs no other answer.
    const answered = !waited && this.#current?.response.headersSent !== false;
    this.end(answered ? undefined : { error, request: newest });
  }

  /** Starts no further request, sends this refusal after all answers, and closes the connection. */
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
      // Immediately: a client that has read the answer may send the next request, which waits for nobody.
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
    else free.set(this.socket, this.handlers.now());
  }

  /** If a connection that is read brings nothing for a whole turn of the event loop, nothing sent earlier is left. */
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
    // Reads and discards the rest, but not for ever if the client does not close its side.
    this.#release();
    setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }

  /** Node would resume reading after every request and answer; this prevents it. */
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

  /** A request cannot be late while its connection is not read. Its timeout starts again. */
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
