// Handshakes are begun in turns over addresses, a few in each turn of the event loop: each costs as much as several requests, and
// nobody has to say who they are to ask for one. Of a client that has said nothing yet nothing is kept but its connection.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { REQUEST_TIMEOUT_MS } from '../../api/limits.js';
import { TenantLines } from '../admission/tenant-lines.js';

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
