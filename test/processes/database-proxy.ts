// A connection to PostgreSQL that a test can cut (connections break) or block (connections stay, and nothing passes).
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll } from 'vitest';

export class DatabaseProxy {
  readonly #sockets = new Set<Socket>();
  #state: 'open' | 'cut' | 'blocked' = 'open';

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
    /** Of the same database, through the proxy. */
    readonly url: string,
  ) {}

  static async before(databaseUrl: string): Promise<DatabaseProxy> {
    const target = new URL(databaseUrl);
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${(server.address() as { port: number }).port}`;
    const proxy = new DatabaseProxy(server, target, url.href);
    server.on('connection', (socket) => proxy.#accept(socket));
    proxies.add(proxy);
    return proxy;
  }

  /** The database is lost: open connections break, new ones too. */
  cut(): void {
    this.#state = 'cut';
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The database stops answering. Data sent meanwhile arrives when the connection is unblocked. */
  block(): void {
    this.#state = 'blocked';
    for (const socket of this.#sockets) socket.pause();
  }

  open(): void {
    this.#state = 'open';
    for (const socket of this.#sockets) socket.resume();
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  #accept(near: Socket): void {
    if (this.#state === 'cut') {
      near.destroy();
      return;
    }
    const far = connect(Number(this.target.port || 5432), this.target.hostname);
    this.#join(near, far);
    this.#join(far, near);
    if (this.#state === 'blocked') for (const socket of [near, far]) socket.pause();
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('data', (data) => to.write(data));
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroySoon();
    });
  }
}

const proxies = new Set<DatabaseProxy>();
afterAll(() => {
  for (const proxy of proxies) proxy.close();
});
