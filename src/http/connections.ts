// Limits the number of connections of a listener. At the limit, the connection that has been idle longest is closed, of the network that
// has most; then one whose request is incomplete. A connection with a whole request in progress is never closed for that. Clients that do
// not read their answers are not waited for. Unfinished handshakes have a lower limit: each takes as much memory as several connections.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { REQUEST_TIMEOUT_MS } from '../api/limits.js';
import type { Tenant } from '../payments/pipeline/capacity.js';
import { type Networks, networkOf, plainAddress } from '../values/network.js';

/** How long a client may take to read an answer. */
const READING_MS = 10_000;
const LOOK_EVERY_MS = 1_000;
const LOG_EVERY_MS = 60_000;
/** How many connections are searched for an incomplete request; the next search continues from there. */
const LOOKED_THROUGH = 1_000;

/** The most handshakes at a time, about 120 MB. */
const MOST_HANDSHAKES = 2_000;

/** One object while the connection is open: a map of requests would keep them alive far beyond their answers. */
interface Connection {
  readonly network: string;
  /** With TLS, until the handshake is done. */
  handshaking: boolean;
  /** The request in progress, if any. */
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  /** When it was first seen that everything was written and the client had not read all of it. */
  writtenAtMs: number | undefined;
}

export interface ConnectionLimits {
  /** For the log. */
  readonly listener: 'api' | 'operators' | 'checkout';
  readonly most: number;
  /** Of one address, or one IPv6 /64. Proxies are exempt: their clients are many. */
  readonly mostOfNetwork?: { readonly count: number; readonly proxies: Networks | undefined };
  readonly mostHandshakes?: number;
}

export interface ConnectionFigures {
  readonly open: number;
  readonly most: number;
  /** Closed or refused at the limit, since the start. */
  readonly turnedAway: number;
}

export class Connections {
  readonly #open = new Map<Socket, Connection>();
  /** By network, in the order in which they became idle. No set is empty. */
  readonly #idle = new Map<string, Set<Socket>>();
  readonly #countOf = new Map<string, number>();
  /** Sockets with unfinished handshakes by network, in the order of acceptance. No set is empty. */
  readonly #handshakes = new Map<string, Set<Socket>>();
  #handshaking = 0;
  #isClosing = false;
  /** Where the search for an incomplete request continues. */
  #looked = this.#open.entries();
  #closed = 0;
  #refused = 0;
  #turnedAway = 0;
  #logAtMs = 0;
  readonly #looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  readonly #mostHandshakes: number;

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly log: Pick<Logger, 'warn'>,
  ) {
    this.#mostHandshakes = limits.mostHandshakes ?? MOST_HANDSHAKES;
  }

  get figures(): ConnectionFigures {
    return { open: this.#open.size, most: this.limits.most, turnedAway: this.#turnedAway };
  }

  /** A connection was accepted; with TLS its handshake follows. */
  add(socket: Socket, handshaking = false): void {
    // guard(TLS: handshakes under way are bounded): if (handshaking && this.#handshaking >= this.#mostHandshakes) this.#giveUpHandshake(); ⇒
    if (handshaking && this.#handshaking >= this.#mostHandshakes) this.#giveUpHandshake();
    // Not available after the connection is closed.
    const address = socket.remoteAddress ?? '';
    const network = networkOf(address);
    if (this.#isClosing || !this.#hasRoom(network, address)) {
      this.#refused += 1;
      this.#turnedAway += 1;
      socket.destroy();
      return;
    }
    const connection = {
      network,
      handshaking,
      request: undefined,
      response: undefined,
      writtenAtMs: undefined,
    };
    this.#open.set(socket, connection);
    this.#countOf.set(network, (this.#countOf.get(network) ?? 0) + 1);
    this.#rest(network, socket);
    if (handshaking) this.#beginHandshake(network, socket);
    socket.once('close', () => this.#remove(network, socket));
  }

  /** The handshake is done: from now on the secure socket is the connection. */
  secured(accepted: Socket, secure: Socket): void {
    const connection = this.#open.get(accepted);
    if (connection === undefined) return;
    const { network } = connection;
    this.#endHandshake(connection, accepted);
    this.#stir(network, accepted);
    this.#open.delete(accepted);
    // guard(TLS: connections count after their handshake, too): this.#open.set(secure, connection); ⇒
    this.#open.set(secure, connection);
    this.#rest(network, secure);
    secure.once('close', () => this.#remove(network, secure));
  }

  /** A request is in progress, from its headers to the end of its answer. */
  begin(socket: Socket, request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.#stir(connection.network, socket);
    connection.request = request;
    connection.response = response;
  }

  end(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.request = undefined;
    connection.response = undefined;
    connection.writtenAtMs = undefined;
    if (!socket.destroyed) this.#rest(connection.network, socket);
  }

  close(): void {
    clearInterval(this.#looking);
  }

  /** The server is about to stop. Clients without a request are not waited for; Node would wait without end. */
  dismissSilent(): void {
    this.#isClosing = true;
    for (const [socket, { handshaking }] of this.#open) {
      if (handshaking || socket.bytesRead === 0) socket.destroy();
    }
  }

  #beginHandshake(network: string, socket: Socket): void {
    const sockets = this.#handshakes.get(network);
    if (sockets === undefined) this.#handshakes.set(network, new Set([socket]));
    else sockets.add(socket);
    this.#handshaking += 1;
  }

  #endHandshake(connection: Connection, socket: Socket): void {
    if (!connection.handshaking) return;
    connection.handshaking = false;
    this.#handshaking -= 1;
    const sockets = this.#handshakes.get(connection.network);
    if (sockets?.delete(socket) && sockets.size === 0) this.#handshakes.delete(connection.network);
  }

  /** Closes the oldest handshake of the network that has most. */
  #giveUpHandshake(): void {
    let most: Set<Socket> | undefined;
    for (const sockets of this.#handshakes.values()) if (sockets.size > (most?.size ?? 0)) most = sockets;
    const [oldest] = most ?? [];
    if (oldest === undefined) return;
    const connection = this.#open.get(oldest);
    if (connection !== undefined) this.#endHandshake(connection, oldest);
    this.#closed += 1;
    this.#turnedAway += 1;
    oldest.destroy();
  }

  #rest(network: string, socket: Socket): void {
    const idle = this.#idle.get(network);
    if (idle === undefined) this.#idle.set(network, new Set([socket]));
    else idle.add(socket);
  }

  #stir(network: string, socket: Socket): void {
    const idle = this.#idle.get(network);
    if (idle?.delete(socket) && idle.size === 0) this.#idle.delete(network);
  }

  #remove(network: string, socket: Socket): void {
    const connection = this.#open.get(socket);
    // The connection continues under its secure socket.
    if (connection === undefined) return;
    this.#endHandshake(connection, socket);
    this.#stir(network, socket);
    this.#open.delete(socket);
    const left = (this.#countOf.get(network) ?? 0) - 1;
    if (left > 0) this.#countOf.set(network, left);
    else this.#countOf.delete(network);
  }

  /** Makes room if there is none: within the network that is at its limit, or else in the largest. */
  #hasRoom(network: string, address: string): boolean {
    const { most, mostOfNetwork } = this.limits;
    // guard(console: no network takes every connection): (this.#countOf.get(network) ?? 0) >= mostOfNetwork.count ⇒ mostOfNetwork.count < 0
    if (mostOfNetwork !== undefined && (this.#countOf.get(network) ?? 0) >= mostOfNetwork.count)
      if (!mostOfNetwork.proxies?.has(plainAddress(address))) return this.#makeRoom(network);
    return this.#open.size < most || this.#makeRoom();
  }

  #makeRoom(network?: string): boolean {
    const socket = this.#longestIdle(network) ?? this.#incomplete(network);
    if (socket === undefined) return false;
    this.#closed += 1;
    this.#turnedAway += 1;
    socket.destroy();
    return true;
  }

  #longestIdle(of?: string): Socket | undefined {
    if (of !== undefined) {
      const [longest] = this.#idle.get(of) ?? [];
      return longest;
    }
    let most = 0;
    let longest: Socket | undefined;
    for (const [network, idle] of this.#idle) {
      const count = this.#countOf.get(network) ?? 0;
      if (count <= most) continue;
      most = count;
      [longest] = idle;
    }
    return longest;
  }

  #incomplete(of?: string): Socket | undefined {
    for (let looked = 0; looked < LOOKED_THROUGH; looked += 1) {
      const next = this.#looked.next();
      if (next.done) {
        this.#looked = this.#open.entries();
        continue;
      }
      const [socket, { request, network }] = next.value;
      if (request?.complete === false && (of === undefined || network === of)) return socket;
    }
    return undefined;
  }

  #look(): void {
    const nowMs = performance.now();
    for (const [socket, connection] of this.#open) {
      if (!connection.response?.writableEnded) continue;
      connection.writtenAtMs ??= nowMs;
      if (nowMs - connection.writtenAtMs > READING_MS) socket.destroy();
    }
    if (this.#closed + this.#refused === 0 || nowMs < this.#logAtMs) return;
    this.#logAtMs = nowMs + LOG_EVERY_MS;
    const { listener } = this.limits;
    this.log.warn({ listener, closed: this.#closed, refused: this.#refused }, 'too many connections');
    this.#closed = 0;
    this.#refused = 0;
  }
}

const MOST_IN_A_TURN = 4;

interface Waiting {
  readonly socket: Socket;
  readonly begin: () => void;
}

/** For a TLS server. Node would begin each handshake with its first byte, however many arrive at once. */
export function beginInTurns(server: Server): void {
  const begins = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const handshakes = new Handshakes();
  server.on('connection', (socket) =>
    handshakes.take(socket, () => {
      for (const begin of begins) begin.call(server, socket);
    }),
  );
}

/**
 * Begins handshakes in turns over addresses, a few in each turn of the event loop: each costs as much as several requests, and needs no
 * credentials. Until a client has sent something, only its connection is kept.
 */
class Handshakes {
  readonly #waiting = new TenantQueues<Waiting>();
  #isPlanned = false;
  readonly #goOn = () => this.#begin();

  /** A connection was accepted: `begin` is called in its turn, once the client has sent something. */
  take(socket: Socket, begin: () => void): void {
    socket.on('error', () => {});
    socket.setTimeout(REQUEST_TIMEOUT_MS, () => socket.destroy());
    socket.once('readable', () => {
      // The readable event may be the end of the connection.
      if (socket.readableLength === 0) {
        socket.destroy();
        return;
      }
      // guard(TLS: handshakes are begun in turns over addresses): this.#waiting.add(socket.remoteAddress ?? '', { socket, begin } ⇒ begin(
      this.#waiting.add(socket.remoteAddress ?? '', { socket, begin });
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(this.#goOn);
  }

  #begin(): void {
    this.#isPlanned = false;
    for (let begun = 0; begun < MOST_IN_A_TURN; begun += 1) {
      const next = this.#waiting.next();
      if (next === undefined) return;
      // From now on the handshake's own timeout applies.
      next.socket.setTimeout(0);
      if (!next.socket.destroyed) next.begin();
    }
    if (this.#waiting.size > 0) this.#plan();
  }
}

interface Queue<Item> {
  readonly waiting: Item[];
  /** Turns used in advance. */
  debt: number;
}

/** Queues by tenant, taken in turns, so that a tenant with much waiting delays only itself. */
export class TenantQueues<Item extends object> {
  /** In the order of their turns. No queue is empty. */
  readonly #queues = new Map<Tenant, Queue<Item>>();
  #size = 0;

  /** `furtherTurns`: how many more turns than one an item uses. */
  constructor(private readonly furtherTurns: (item: Item) => number = () => 0) {}

  get size(): number {
    return this.#size;
  }

  add(tenant: Tenant, item: Item): void {
    const queue = this.#queues.get(tenant);
    if (queue === undefined) this.#queues.set(tenant, { waiting: [item], debt: 0 });
    else queue.waiting.push(item);
    this.#size += 1;
  }

  /** Takes the first item of the tenant whose turn it is. */
  next(): Item | undefined {
    for (const [tenant, queue] of this.#queues) {
      // Moves the tenant behind the others.
      this.#queues.delete(tenant);
      if (queue.debt > 0 && this.#queues.size > 0) {
        queue.debt -= 1;
        this.#queues.set(tenant, queue);
        continue;
      }
      const item = queue.waiting.shift() as Item;
      if (queue.waiting.length > 0) this.#queues.set(tenant, queue);
      this.#size -= 1;
      queue.debt = this.furtherTurns(item);
      return item;
    }
    return undefined;
  }
}
