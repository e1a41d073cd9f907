// How many connections there may be. At the limit the one that is idle for longest makes room, of the address that has most;
// one whose request is being worked on is never closed for that. Who does not read its answers is not waited for. Handshakes
// that are not done are fewer still: each costs as much memory as several connections.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { REQUEST_TIMEOUT_MS } from '../api/limits.js';
import type { Tenant } from '../payments/pipeline/capacity.js';

/** How long a client may take to read an answer. */
const READING_MS = 10_000;
const LOOK_EVERY_MS = 1_000;
/** Among so many connections one is looked for whose request has not come whole yet; the next time among others. */
const LOOKED_THROUGH = 1_000;

/** So many handshakes may be under way, about 120 MB. */
const MOST_HANDSHAKES = 2_000;

/** One object for as long as it is open: a map of the requests themselves would keep them alive far beyond their answers. */
interface Connection {
  readonly address: string;
  /** With TLS, until its handshake is done. */
  handshaking: boolean;
  /** What is worked on, if anything is. */
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  /** When it was first seen that everything was written and not all of it taken. */
  writtenAtMs: number | undefined;
}

export interface ConnectionFigures {
  readonly open: number;
  readonly most: number;
  /** Closed or refused for want of room, since the start. */
  readonly turnedAway: number;
}

export class Connections {
  readonly #open = new Map<Socket, Connection>();
  /** By address; of each, in the order in which they became idle. None is empty. */
  readonly #idle = new Map<string, Set<Socket>>();
  readonly #countOf = new Map<string, number>();
  /** Of each address, the sockets whose handshakes are under way, in the order in which they were accepted. None is empty. */
  readonly #handshakes = new Map<string, Set<Socket>>();
  #handshaking = 0;
  #isClosing = false;
  /** Where the search for a request that has not come whole goes on. */
  #looked = this.#open.entries();
  #closed = 0;
  #refused = 0;
  #turnedAway = 0;
  readonly #looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();

  constructor(
    private readonly most: number,
    private readonly log: Logger,
    private readonly mostHandshakes = MOST_HANDSHAKES,
  ) {}

  get figures(): ConnectionFigures {
    return { open: this.#open.size, most: this.most, turnedAway: this.#turnedAway };
  }

  /** A connection was accepted; with TLS its handshake is still to come. */
  add(socket: Socket, handshaking = false): void {
    // guard(TLS: handshakes under way are bounded): if (handshaking && this.#handshaking >= this.mostHandshakes) this.#giveUpHandshake(); ⇒
    if (handshaking && this.#handshaking >= this.mostHandshakes) this.#giveUpHandshake();
    if ((this.#open.size >= this.most && !this.#makeRoom()) || this.#isClosing) {
      this.#refused += 1;
      this.#turnedAway += 1;
      socket.destroy();
      return;
    }
    // Gone with the connection.
    const address = socket.remoteAddress ?? '';
    const connection = {
      address,
      handshaking,
      request: undefined,
      response: undefined,
      writtenAtMs: undefined,
    };
    this.#open.set(socket, connection);
    this.#countOf.set(address, (this.#countOf.get(address) ?? 0) + 1);
    this.#rest(address, socket);
    if (handshaking) this.#beginHandshake(address, socket);
    socket.once('close', () => this.#remove(address, socket));
  }

  /** The handshake of a connection is done: from now on this socket is the connection. */
  secured(accepted: Socket, secure: Socket): void {
    const connection = this.#open.get(accepted);
    if (connection === undefined) return;
    const { address } = connection;
    this.#endHandshake(connection, accepted);
    this.#stir(address, accepted);
    this.#open.delete(accepted);
    // guard(TLS: connections count after their handshake, too): this.#open.set(secure, connection); ⇒
    this.#open.set(secure, connection);
    this.#rest(address, secure);
    secure.once('close', () => this.#remove(address, secure));
  }

  /** A request is worked on, from its headers to the end of its answer. */
  begin(socket: Socket, request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.#stir(connection.address, socket);
    connection.request = request;
    connection.response = response;
  }

  end(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.request = undefined;
    connection.response = undefined;
    connection.writtenAtMs = undefined;
    if (!socket.destroyed) this.#rest(connection.address, socket);
  }

  close(): void {
    clearInterval(this.#looking);
  }

  /** The server is about to end. Whoever has asked for nothing yet is not waited for: Node would, and without end. */
  dismissSilent(): void {
    this.#isClosing = true;
    for (const [socket, { handshaking }] of this.#open) {
      if (handshaking || socket.bytesRead === 0) socket.destroy();
    }
  }

  #beginHandshake(address: string, socket: Socket): void {
    const sockets = this.#handshakes.get(address);
    if (sockets === undefined) this.#handshakes.set(address, new Set([socket]));
    else sockets.add(socket);
    this.#handshaking += 1;
  }

  #endHandshake(connection: Connection, socket: Socket): void {
    if (!connection.handshaking) return;
    connection.handshaking = false;
    this.#handshaking -= 1;
    const sockets = this.#handshakes.get(connection.address);
    if (sockets?.delete(socket) && sockets.size === 0) this.#handshakes.delete(connection.address);
  }

  /** The oldest, of the address that has most of them under way. */
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

  #rest(address: string, socket: Socket): void {
    const idle = this.#idle.get(address);
    if (idle === undefined) this.#idle.set(address, new Set([socket]));
    else idle.add(socket);
  }

  #stir(address: string, socket: Socket): void {
    const idle = this.#idle.get(address);
    if (idle?.delete(socket) && idle.size === 0) this.#idle.delete(address);
  }

  #remove(address: string, socket: Socket): void {
    const connection = this.#open.get(socket);
    // It has gone on as another.
    if (connection === undefined) return;
    this.#endHandshake(connection, socket);
    this.#stir(address, socket);
    this.#open.delete(socket);
    const left = (this.#countOf.get(address) ?? 0) - 1;
    if (left > 0) this.#countOf.set(address, left);
    else this.#countOf.delete(address);
  }

  #makeRoom(): boolean {
    const socket = this.#longestIdle() ?? this.#incomplete();
    if (socket === undefined) return false;
    this.#closed += 1;
    this.#turnedAway += 1;
    socket.destroy();
    return true;
  }

  #longestIdle(): Socket | undefined {
    let most = 0;
    let longest: Socket | undefined;
    for (const [address, idle] of this.#idle) {
      const count = this.#countOf.get(address) ?? 0;
      if (count <= most) continue;
      most = count;
      [longest] = idle;
    }
    return longest;
  }

  #incomplete(): Socket | undefined {
    for (let looked = 0; looked < LOOKED_THROUGH; looked += 1) {
      const next = this.#looked.next();
      if (next.done) {
        this.#looked = this.#open.entries();
        continue;
      }
      const [socket, { request }] = next.value;
      if (request?.complete === false) return socket;
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
    if (this.#closed + this.#refused === 0) return;
    this.log.warn({ closed: this.#closed, refused: this.#refused }, 'too many connections');
    this.#closed = 0;
    this.#refused = 0;
  }
}

const MOST_IN_A_TURN = 4;

interface Waiting {
  readonly socket: Socket;
  readonly begin: () => void;
}

/** Of a server that speaks TLS. Node would begin each with its first byte, however many come at once. */
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
 * Begun in turns over addresses, a few in each turn of the event loop: each costs as much as several requests, and nobody has to say
 * who they are to ask for one. Of a client that has said nothing yet nothing is kept but its connection.
 */
class Handshakes {
  readonly #waiting = new TenantLines<Waiting>();
  #isPlanned = false;
  readonly #goOn = () => this.#begin();

  /** A connection was accepted: `begin` is called when its client has said something, and it is its turn. */
  take(socket: Socket, begin: () => void): void {
    socket.on('error', () => {});
    socket.setTimeout(REQUEST_TIMEOUT_MS, () => socket.destroy());
    socket.once('readable', () => {
      // What can be read may be the end.
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
      // From now on the handshake has its own time.
      next.socket.setTimeout(0);
      if (!next.socket.destroyed) next.begin();
    }
    if (this.#waiting.size > 0) this.#plan();
  }
}

interface Line<Item> {
  readonly waiting: Item[];
  /** Turns that it has had in advance. */
  debt: number;
}

/** What waits is taken in turns over tenants, so that whoever has much waiting waits for itself. */
export class TenantLines<Item extends object> {
  /** By tenant, in the order in which they have their turns. None is empty. */
  readonly #lines = new Map<Tenant, Line<Item>>();
  #size = 0;

  /** `furtherTurns` says how many turns more than one an item counts as, when it is taken. */
  constructor(private readonly furtherTurns: (item: Item) => number = () => 0) {}

  get size(): number {
    return this.#size;
  }

  add(tenant: Tenant, item: Item): void {
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, { waiting: [item], debt: 0 });
    else line.waiting.push(item);
    this.#size += 1;
  }

  /** Takes the first of the tenant whose turn it is. */
  next(): Item | undefined {
    for (const [tenant, line] of this.#lines) {
      // Behind the others for its next turn.
      this.#lines.delete(tenant);
      if (line.debt > 0 && this.#lines.size > 0) {
        line.debt -= 1;
        this.#lines.set(tenant, line);
        continue;
      }
      const item = line.waiting.shift() as Item;
      if (line.waiting.length > 0) this.#lines.set(tenant, line);
      this.#size -= 1;
      line.debt = this.furtherTurns(item);
      return item;
    }
    return undefined;
  }
}
