// A PostgreSQL that can be killed and started again under one address, since the gateways keep theirs.
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedPostgres } from '../dist/embedded-postgres/server.js';

export class KillableDatabase {
  #dataDir;
  #server;
  #relay;
  #sockets = new Set();

  /** Of the server itself. */
  url;
  /** Of the relay before it, which stays the same when the server comes back on another port. */
  lastingUrl;

  static async open(dataDir) {
    const database = new KillableDatabase();
    database.#dataDir = dataDir;
    await database.start();
    await database.#openRelay();
    return database;
  }

  async start() {
    this.#server = await openEmbeddedPostgres({ dataDir: this.#dataDir });
    this.url = this.#server.url;
  }

  /** SIGKILL, or SIGQUIT for what PostgreSQL calls an immediate shutdown. Returns when the server is gone. */
  async kill(signal) {
    const pid = await postmasterPid(this.#dataDir);
    process.kill(pid, signal);
    while (isAlive(pid)) await sleep(5);
    // What a killed server's orphans still hold open is gone for a client, too.
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop() {
    this.#relay.close();
    for (const socket of this.#sockets) socket.destroy();
    await this.#server.stop();
  }

  async #openRelay() {
    this.#relay = createServer({ noDelay: true }, (near) => {
      const far = connect({ host: '127.0.0.1', port: Number(new URL(this.url).port), noDelay: true });
      this.#join(near, far);
      this.#join(far, near);
    });
    await new Promise((resolve) => this.#relay.listen(0, '127.0.0.1', resolve));
    const lasting = new URL(this.url);
    lasting.port = String(this.#relay.address().port);
    this.lastingUrl = lasting.href;
  }

  #join(from, to) {
    this.#sockets.add(from);
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroySoon();
    });
  }
}

export async function postmasterPid(dataDir) {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
