// Clients that take their time: heads and bodies byte by byte, connections that only stay, answers that nobody reads.
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { responsesIn } from './connection.js';
import type { HostileGateway } from './gateway.js';

/** Longer than the gateway waits for a request, so that it must have given up. */
const LIMIT_MS = 20_000;
/** The gateway waits at least this long for a request. */
const SLOW_MS = 4_000;

export interface SlowPlan {
  /** How many of each kind. */
  readonly each: number;
  readonly patient: boolean;
  /** Makes a purchase that has not been sent. */
  readonly purchase: () => { readonly id: string; readonly bytes: string };
}

export class SlowClients {
  readonly #gateway: Pick<HostileGateway, 'port' | 'hasEnded'>;
  readonly #broken: (promise: string, detail: string) => void;
  readonly #sockets = new Set<net.Socket>();
  readonly #tasks: Promise<void>[] = [];
  /** Correlation IDs of requests that never arrived whole. */
  readonly unprocessed: string[] = [];
  count = 0;

  constructor(
    gateway: Pick<HostileGateway, 'port' | 'hasEnded'>,
    broken: (promise: string, detail: string) => void,
  ) {
    this.#gateway = gateway;
    this.#broken = broken;
  }

  /** `patient`: also those that need longer than ten seconds. */
  start({ each, patient, purchase }: SlowPlan): void {
    for (let index = 0; index < each; index += 1) {
      const { bytes, id } = purchase();
      const bodyAt = bytes.indexOf('\r\n\r\n') + 4;
      this.#run('slow head', () => this.#drip('', bytes.slice(0, bodyAt), 70, [408]));
      this.#run('steady drip', () => this.#drip('', bytes, 0, [201]));
      if (patient) {
        const slow = purchase();
        const at = slow.bytes.indexOf('\r\n\r\n') + 4;
        this.#run('slow body', () =>
          this.#drip(slow.bytes.slice(0, at), slow.bytes.slice(at), 200, [408], slow.id),
        );
      }
      this.#stay('');
      this.#stay(bytes.slice(0, 40));
      this.#stay('GET /v1/openapi.json HTTP/1.1\r\nHost: gateway\r\n\r\n'.repeat(50));
      this.#stay(bytes.replace(id, `${id}-unread`));
    }
  }

  #connect(): net.Socket {
    const socket = net.connect({ host: '127.0.0.1', port: this.#gateway.port, noDelay: true });
    socket.on('error', () => {});
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    this.count += 1;
    return socket;
  }

  #run(what: string, task: () => Promise<void>): void {
    this.#tasks.push(
      task().catch((error: Error) => {
        if (!this.#gateway.hasEnded()) this.#broken('slow clients', `${what}: ${error.message}`);
      }),
    );
  }

  /** Opened and never looked at again. */
  #stay(bytes: string): void {
    const socket = this.#connect();
    socket.pause();
    if (bytes !== '') socket.write(bytes, 'latin1');
  }

  async #drip(
    atOnce: string,
    slowly: string,
    pauseMs: number,
    statuses: readonly number[],
    unprocessed?: string,
  ): Promise<void> {
    const socket = this.#connect();
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.write(atOnce, 'latin1');
    const begunMs = performance.now();
    for (const byte of slowly) {
      if (socket.destroyed || text !== '') break;
      socket.write(byte, 'latin1');
      await sleep(pauseMs);
      if (performance.now() - begunMs > LIMIT_MS) throw new Error('it may go on for ever');
    }
    const ended = await Promise.race([closed, sleep(LIMIT_MS, 'open', { ref: false })]);
    if (ended === 'open') throw new Error('the connection was not closed');
    const found = responsesIn(text).responses.map(({ status }) => status);
    // On a machine that is busy with other things a steady one can be too slow as well.
    const late = performance.now() - begunMs > SLOW_MS && found.join() === '408';
    if (!late && found.join() !== statuses.join()) {
      throw new Error(`answered with ${found.join() || 'nothing'} instead of ${statuses.join()}`);
    }
    if (unprocessed !== undefined) this.unprocessed.push(unprocessed);
  }

  /** Waits for those that come to an end, and hangs up on the rest. */
  async end(): Promise<void> {
    await Promise.all(this.#tasks);
    for (const socket of this.#sockets) socket.destroy();
  }
}
