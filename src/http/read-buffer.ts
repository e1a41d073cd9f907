// The buffer into which Node reads what comes in over HTTP. A process has one for all of its connections, out of reach of programs, and
// what was read last stays in it until more is read. So that no card number does, the gateway writes to itself from time to time.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { connect, Server, type Socket } from 'node:net';

/** As much as Node reads at once. */
const BUFFER_BYTES = 64 * 1024;
const HEAD = `POST / HTTP/1.1\r\nHost: itself\r\nContent-Length: ${BUFFER_BYTES}\r\n\r\n`;
const REQUEST = Buffer.concat([Buffer.from(HEAD), Buffer.alloc(BUFFER_BYTES)]);

export class ReadBuffer {
  #line: Socket | undefined;

  /** Returns when it was read. Where a process cannot connect to itself in this way, nothing is done. */
  async overwrite(): Promise<void> {
    this.#line ??= await connectedToItself().catch(() => undefined);
    const line = this.#line;
    if (line === undefined) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        line.off('data', done).off('close', done);
        resolve();
      };
      line.once('data', done).once('close', done).write(REQUEST);
    });
    if (line.destroyed) this.#line = undefined;
  }

  close(): void {
    this.#line?.destroy();
    this.#line = undefined;
  }
}

/** Over a socket of the system that no network reaches. Nobody is listened to once the one connection is there. */
function connectedToItself(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (request, response) => {
      request.resume().once('end', () => response.writeHead(204).end());
    });
    const path = `\0tollgate-${randomUUID()}`;
    server.once('error', reject).once('connection', (far: Socket) => {
      far.unref();
      // Of HTTP's own way to close a server, idle connections are a part.
      Server.prototype.close.call(server);
      resolve(line);
    });
    let line: Socket;
    server.listen({ path }, () => {
      line = connect({ path });
      line.once('error', reject).unref();
    });
    server.unref();
  });
}
