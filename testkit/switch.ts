// A relay in front of several servers, like a load balancer: it chooses where a new connection leads, and can be wrong.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class Switch {
  readonly #relay: Server;
  #ports: readonly number[];
  #turn = 0;
  readonly #sockets = new Map<Socket, number>();

  private constructor(relay: Server, ports: readonly number[]) {
    this.#relay = relay;
    this.#ports = ports;
    relay.on('connection', (near) => this.#accept(near));
  }

  static async open(...ports: number[]): Promise<Switch> {
    const relay = createServer({ noDelay: true });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    return new Switch(relay, ports);
  }

  get port(): number {
    return (this.#relay.address() as AddressInfo).port;
  }

  /** The address of a server, by way of here. */
  urlOf(url: string): string {
    const through = new URL(url);
    through.port = String(this.port);
    return through.href;
  }

  /** New connections lead there, in turns where there are several. */
  lead(...ports: number[]): void {
    this.#ports = ports;
  }

  /** Ends the connections that lead to this port, as a load balancer does once it has noticed; or all. */
  cut(port?: number): void {
    for (const [socket, to] of this.#sockets) if (port === undefined || to === port) socket.destroy();
  }

  close(): void {
    this.#relay.close();
    this.cut();
  }

  #accept(near: Socket): void {
    const port = this.#ports[this.#turn++ % this.#ports.length];
    if (port === undefined) {
      near.destroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#join(near, far, port);
    this.#join(far, near, port);
  }

  #join(from: Socket, to: Socket, port: number): void {
    this.#sockets.set(from, port);
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroySoon();
    });
  }
}
