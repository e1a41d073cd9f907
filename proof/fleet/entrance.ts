// What stands in front of the cells and leads each host name to one: HAProxy, as the commands of the fleet configure it. Where there is no
// HAProxy, this program goes by the same map itself.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificate } from '../../testkit/certificates.js';
import { freePort, run } from '../../testkit/gateway-process.js';
import {
  callOverHttp,
  type HttpAnswer,
  type HttpCaller,
  type HttpRequest,
  httpsCaller,
} from '../../testkit/http-call.js';
import type { Cell, CellName } from './cell.js';

export interface EntranceParts {
  readonly folder: string;
  readonly cells: readonly Cell[];
}

export abstract class Entrance {
  abstract readonly kind: string;
  protected readonly map = new Map<string, CellName>();

  constructor(protected readonly parts: EntranceParts) {}

  static async open(parts: EntranceParts): Promise<Entrance> {
    const entrance = spawnSync('haproxy', ['-v']).status === 0 ? new ByHaproxy(parts) : new ByMapAlone(parts);
    await entrance.readMap();
    await entrance.begin();
    return entrance;
  }

  abstract send(host: string, path: string, request: HttpRequest): Promise<HttpAnswer>;
  abstract close(): void;
  protected abstract begin(): Promise<void>;
  protected abstract lead(host: string, cell: CellName): Promise<void>;

  get fleetFile(): Record<string, string> {
    return { TOLLGATE_FLEET_FILE: join(this.parts.folder, 'fleet.json') };
  }

  /** What `fleet map` says by now. Without every database there is no map, and what was known goes on to count. */
  async readMap(): Promise<boolean> {
    const { code, stdout } = await run(['fleet', 'map'], this.fleetFile);
    if (code !== 0) return false;
    const entries = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ') as [string, CellName]);
    for (const [host, cell] of entries) await this.leadTo(host, cell);
    return true;
  }

  /** As an operator's script does for one name, before it makes a new map. */
  async leadTo(host: string, cell: CellName): Promise<void> {
    if (this.map.get(host) === cell) return;
    this.map.set(host, cell);
    await this.lead(host, cell);
  }

  leadsTo(host: string): CellName | undefined {
    return this.map.get(host);
  }
}

class ByHaproxy extends Entrance {
  readonly kind = 'HAProxy';
  #send: HttpCaller = callOverHttp;
  #origin = '';
  #proxy: ChildProcess | undefined;
  readonly #file = (name: string) => join(this.parts.folder, name);

  async begin(): Promise<void> {
    const hosts = [...this.map.keys()];
    const { certificate, key } = makeCertificate({ of: [...hosts, '127.0.0.1'] });
    await writeFile(this.#file('site.pem'), certificate + key);
    await writeFile(this.#file('fleet.map'), [...this.map].map((entry) => `${entry.join(' ')}\n`).join(''));
    const port = await freePort();
    const places = {
      bind: `127.0.0.1:${port}`,
      certificates: this.#file('site.pem'),
      map: this.#file('fleet.map'),
      socket: this.#file('admin.sock'),
    };
    const options = Object.entries(places).flatMap(([name, value]) => [`--${name}`, value]);
    const { stdout } = await run(['fleet', 'proxy', ...options], this.fleetFile);
    await writeFile(this.#file('haproxy.cfg'), stdout);
    const proxy = spawn('haproxy', ['-db', '-f', this.#file('haproxy.cfg')], { stdio: 'ignore' });
    this.#proxy = proxy;
    process.once('exit', () => proxy.kill('SIGKILL'));
    this.#send = httpsCaller({ trusted: certificate });
    this.#origin = `https://127.0.0.1:${port}`;
    // It leads nobody to a gateway that it has not seen ready.
    while (!(await this.#isReady(hosts))) await sleep(100);
  }

  send(host: string, path: string, request: HttpRequest): Promise<HttpAnswer> {
    return this.#send(this.#origin + path, { ...request, headers: { ...request.headers, host } });
  }

  close(): void {
    this.#proxy?.kill('SIGKILL');
  }

  /** Without a reload. */
  protected lead(host: string, cell: CellName): Promise<void> {
    if (this.#proxy === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const socket = connect(this.#file('admin.sock'));
      socket.on('error', reject).on('close', () => resolve());
      socket.resume().end(`set map ${this.#file('fleet.map')} ${host} ${cell}\n`);
    });
  }

  async #isReady(hosts: readonly string[]): Promise<boolean> {
    const answers = await Promise.all(
      hosts.map((host) =>
        this.send(host, '/readyz', { method: 'GET', headers: {} }).then(
          ({ status }) => status,
          () => 0,
        ),
      ),
    );
    return answers.every((status) => status === 200);
  }
}

class ByMapAlone extends Entrance {
  readonly kind = 'the map alone (skipped: there is no haproxy)';
  #turn = 0;

  async begin(): Promise<void> {}

  async lead(): Promise<void> {}

  async send(host: string, path: string, request: HttpRequest): Promise<HttpAnswer> {
    const origins = this.parts.cells.find(({ name }) => name === this.map.get(host))?.origins ?? [];
    this.#turn += 1;
    const origin = origins[this.#turn % origins.length];
    if (origin === undefined) throw new Error('no gateway listens');
    return callOverHttp(origin + path, { ...request, headers: { ...request.headers, host } });
  }

  close(): void {}
}
