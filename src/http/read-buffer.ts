// Overwrites the buffer into which Node reads HTTP input. A process has one for all connections; programs cannot reach it, and it keeps
// what was read last. So that this is never a card number, the gateway writes to itself from time to time.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { connect, Server, type Socket } from 'node:net';

/** As much as Node reads at once. */
const BUFFER_BYTES = 64 * 1024;
const HEAD = `POST / HTTP/1.1\r\nHost: itself\r\nContent-Length: ${BUFFER_BYTES}\r\n\r\n`;
const REQUEST = Buffer.concat([Buffer.from(HEAD), Buffer.alloc(BUFFER_BYTES)]);

export class ReadBuffer {
  #socket: Socket | undefined;

  /** Resolves when the data was read. Does nothing if the process cannot connect to itself. */
  async overwrite(): Promise<void> {
    this.#socket ??= await connectedToItself().catch(() => undefined);
    const socket = this.#socket;
    if (socket === undefined) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        socket.off('data', done).off('close', done);
        resolve();
      };
      socket.once('data', done).once('close', done).write(REQUEST);
    });
    if (socket.destroyed) this.#socket = undefined;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }
}

/** Over an abstract Unix socket, which no network reaches. It stops listening once the connection is there. */
function connectedToItself(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (request, response) => {
      request.resume().once('end', () => response.writeHead(204).end());
    });
    const path = `\0tollgate-${randomUUID()}`;
    server.once('error', reject).once('connection', (far: Socket) => {
      far.unref();
      // The HTTP server's own `close` would also close idle connections.
      Server.prototype.close.call(server);
      resolve(socket);
    });
    let socket: Socket;
    server.listen({ path }, () => {
      socket = connect({ path });
      socket.once('error', reject).unref();
    });
    server.unref();
  });
}
