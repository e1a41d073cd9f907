// How many connections there may be. At the limit the one that is idle for longest makes room, of the address that has most;
// one whose request is being worked on is never closed for that. Who does not read its answers is not waited for.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** How long a client may take to read an answer. */
const READING_MS = 10_000;
const LOOK_EVERY_MS = 1_000;
/** Among so many of the oldest requests one is looked for that has not come whole yet. */
const LOOKED_THROUGH = 1_000;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When it was first seen that everything was written and not all of it taken. */
  writtenAtMs: number | undefined;
}

export class Connections {
  /** By address; of each, in the order in which they became idle. None is empty. */
  readonly #idle = new Map<string, Set<Socket>>();
  readonly #countOf = new Map<string, number>();
  readonly #busy = new Map<Socket, Exchange>();
  #count = 0;
  #closed = 0;
  #refused = 0;
  readonly #looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();

  constructor(
    private readonly most: number,
    private readonly log: Logger,
  ) {}

  /** A connection was accepted. */
  add(socket: Socket): void {
    if (this.#count >= this.most && !this.#makeRoom()) {
      this.#refused += 1;
      socket.destroy();
      return;
    }
    // Gone with the connection.
    const address = socket.remoteAddress ?? '';
    this.#count += 1;
    this.#countOf.set(address, (this.#countOf.get(address) ?? 0) + 1);
    this.#rest(address, socket);
    socket.once('close', () => this.#remove(address, socket));
  }

  /** A request is worked on, from its headers to the end of its answer. */
  begin(socket: Socket, request: IncomingMessage, response: ServerResponse): void {
    this.#stir(socket.remoteAddress ?? '', socket);
    this.#busy.set(socket, { request, response, writtenAtMs: undefined });
  }

  end(socket: Socket): void {
    if (this.#busy.delete(socket) && !socket.destroyed) this.#rest(socket.remoteAddress ?? '', socket);
  }

  close(): void {
    clearInterval(this.#looking);
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
    this.#stir(address, socket);
    this.#busy.delete(socket);
    this.#count -= 1;
    const left = (this.#countOf.get(address) ?? 0) - 1;
    if (left > 0) this.#countOf.set(address, left);
    else this.#countOf.delete(address);
  }

  #makeRoom(): boolean {
    const socket = this.#longestIdle() ?? this.#oldestIncomplete();
    if (socket === undefined) return false;
    this.#closed += 1;
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

  #oldestIncomplete(): Socket | undefined {
    let looked = 0;
    for (const [socket, { request }] of this.#busy) {
      if (!request.complete) return socket;
      if (++looked === LOOKED_THROUGH) return undefined;
    }
    return undefined;
  }

  #look(): void {
    const nowMs = performance.now();
    for (const [socket, exchange] of this.#busy) {
      if (!exchange.response.writableEnded) continue;
      exchange.writtenAtMs ??= nowMs;
      if (nowMs - exchange.writtenAtMs > READING_MS) socket.destroy();
    }
    if (this.#closed + this.#refused === 0) return;
    this.log.warn({ closed: this.#closed, refused: this.#refused }, 'too many connections');
    this.#closed = 0;
    this.#refused = 0;
  }
}
