// A PostgreSQL that can be killed and restarted under one address, since the gateways keep theirs.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedPostgres } from '../src/embedded-postgres/server.js';
import { postgresPid } from './gateway-process.js';
import { childrenOf } from './pair.js';
import { copyPreparedCluster } from './prepared-cluster.js';

type EmbeddedServer = Awaited<ReturnType<typeof openEmbeddedPostgres>>;

export class KillableDatabase {
  readonly #dataDir: string;
  #server: EmbeddedServer;
  readonly #relay: Server;
  readonly #sockets = new Set<Socket>();

  /** Of the relay before it, which stays the same when the server comes back on another port. */
  readonly lastingUrl: string;

  private constructor(dataDir: string, server: EmbeddedServer, relay: Server) {
    this.#dataDir = dataDir;
    this.#server = server;
    this.#relay = relay;
    const lasting = new URL(server.url);
    lasting.port = String((relay.address() as AddressInfo).port);
    this.lastingUrl = lasting.href;
    relay.on('connection', (near) => this.#relayed(near));
  }

  static async open(dataDir: string): Promise<KillableDatabase> {
    await copyPreparedCluster(dataDir);
    const server = await openEmbeddedPostgres({ dataDir });
    const relay = createServer({ noDelay: true });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    return new KillableDatabase(dataDir, server, relay);
  }

  /** Of the server itself. */
  get url(): string {
    return this.#server.url;
  }

  async start(): Promise<void> {
    this.#server = await openEmbeddedPostgres({ dataDir: this.#dataDir });
  }

  /** All of its processes stand still (SIGSTOP), or go on (SIGCONT). */
  async suspend(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const pid = await postgresPid(this.#dataDir);
    if (pid === undefined) throw new Error('there is no PostgreSQL to suspend');
    // The first one first: it starts the others.
    process.kill(pid, signal);
    for (const each of childrenOf(pid)) process.kill(each, signal);
  }

  /** Whether there is one, which may have stopped by itself. */
  async runs(): Promise<boolean> {
    const pid = await postgresPid(this.#dataDir);
    return pid !== undefined && isAlive(pid);
  }

  /** SIGKILL, or SIGQUIT for what PostgreSQL calls an immediate shutdown. Returns when the server is gone. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const pid = await postgresPid(this.#dataDir);
    if (pid === undefined) throw new Error('there is no PostgreSQL to kill');
    process.kill(pid, signal);
    while (isAlive(pid)) await sleep(5);
    // What a killed server's orphans still hold open is gone for a client, too.
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.#relay.close();
    for (const socket of this.#sockets) socket.destroy();
    await this.#server.stop();
  }

  #relayed(near: Socket): void {
    const far = connect({ host: '127.0.0.1', port: Number(new URL(this.url).port), noDelay: true });
    this.#join(near, far);
    this.#join(far, near);
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroySoon();
    });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
