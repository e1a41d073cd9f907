// The address that the intruder tries to lead the gateways to. It records each connection and what it received.
import { createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../testkit/gateway-process.js';

const SHOWN_BYTES = 80;

export class Thief {
  /** A line for each connection. */
  readonly caught: string[] = [];
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  private constructor(readonly port: number) {}

  /** It does not listen yet. */
  static async withPort(): Promise<Thief> {
    return new Thief(await freePort());
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get url(): string {
    return `http://${this.address}/caught`;
  }

  async listen(): Promise<void> {
    const server = createServer((socket) => this.#catch(socket));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
  }

  #catch(socket: Socket): void {
    this.#sockets.add(socket);
    const place = this.caught.push('a connection') - 1;
    let bytes = Buffer.alloc(0);
    socket.on('data', (piece) => {
      bytes = Buffer.concat([bytes, piece]);
      const text = bytes
        .subarray(0, SHOWN_BYTES)
        .toString('latin1')
        .replaceAll(/[^ -~]/g, '.');
      this.caught[place] = `${bytes.length} bytes: ${text}`;
    });
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }

  close(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
