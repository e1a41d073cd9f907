// A host in a process of its own, for tests and proofs: started, controlled, killed, and restarted on the same ports.
import { start } from '../gateway-process.js';
import { compiledProgram } from '../project.js';
import type { Rule } from './behaviour.js';
import type { PaymentBooks } from './books.js';
import type { Said } from './host.js';
import { type Complaint, type Entry, readEntries } from './ledger.js';
import type { SeenMessage } from './seen-messages.js';
import type { HostSettings } from './settings.js';
import type { Stall } from './stalls.js';

export interface HostProcessOptions {
  readonly ledgerPath: string;
  readonly dialect?: string;
  /** SEND:RECEIVE, in hexadecimal digits, as the host sees them. */
  readonly macKeys?: string;
  readonly tls?: { readonly certificatePath: string; readonly keyPath: string };
}

export interface HostStatus {
  readonly dialect: string;
  readonly port: number;
  readonly settings: HostSettings;
  readonly connections: readonly {
    readonly number: number;
    readonly signedOn: boolean;
    readonly isStalled: boolean;
    readonly held: number;
  }[];
}

type Running = ReturnType<typeof start>;

const LISTENING = /^host on 127\.0\.0\.1:(\d+), control on http:\/\/127\.0\.0\.1:(\d+)$/m;

export class HostProcess {
  #running: Running;

  private constructor(
    private readonly options: HostProcessOptions,
    running: Running,
    readonly port: number,
    readonly controlPort: number,
  ) {
    this.#running = running;
  }

  static async start(options: HostProcessOptions): Promise<HostProcess> {
    const { running, port, controlPort } = await launch(options, 0, 0);
    return new HostProcess(options, running, port, controlPort);
  }

  get pid(): number {
    return this.#running.pid;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** By whatever signal it ends, this is done when it has. */
  get ended(): Promise<unknown> {
    return this.#running.ended;
  }

  /** `kill -9`. Its ledger stays. */
  async kill(): Promise<void> {
    this.#running.kill('SIGKILL');
    await this.#running.ended;
  }

  /** Once it has ended: on the same ports, with the same ledger. */
  async restart(): Promise<void> {
    await this.#running.ended;
    this.#running = (await launch(this.options, this.port, this.controlPort)).running;
  }

  async stop(): Promise<void> {
    this.#running.kill('SIGTERM');
    await this.#running.ended;
  }

  /** Read from the file, whether the host runs or not. */
  entries(): Entry[] {
    return readEntries(this.options.ledgerPath);
  }

  status = () => this.#ask<HostStatus>('GET', '/status');
  seen = (after = 0) => this.#ask<readonly SeenMessage[]>('GET', `/seen?after=${after}`);
  positions = () => this.#ask<Readonly<Record<string, string>>>('GET', '/positions');
  payments = () => this.#ask<readonly PaymentBooks[]>('GET', '/payments');
  answerTimes = () => this.#ask<Readonly<Record<string, number>>>('GET', '/answer-times');
  complaints = () => this.#ask<readonly Complaint[]>('GET', '/complaints');
  rule = (rule: Rule) => this.#ask('POST', '/rules', rule);
  clearRules = () => this.#ask('DELETE', '/rules');
  set = (settings: Partial<HostSettings>) => this.#ask('POST', '/settings', settings);
  release = () => this.#ask<{ readonly released: number }>('POST', '/release');
  stall = (stall: Stall) => this.#ask<{ readonly connections: readonly number[] }>('POST', '/stall', stall);
  goOn = () => this.#ask('POST', '/go-on');
  say = (said: Said) => this.#ask('POST', '/say', said);
  closeConnections = () => this.#ask('POST', '/close-connections');
  stopListening = () => this.#ask('POST', '/stop-listening');
  listen = () => this.#ask('POST', '/listen');
  loseStore = () => this.#ask('POST', '/lose-store');

  async #ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.controlPort}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${(answer as { error: string }).error}`);
    return answer as Answer;
  }
}

async function launch(
  { ledgerPath, dialect = 'as2805', macKeys, tls }: HostProcessOptions,
  port: number,
  controlPort: number,
): Promise<{ running: Running; port: number; controlPort: number }> {
  const args = [
    ...[compiledProgram('testkit/iso8583-host/main'), '--ledger', ledgerPath, '--dialect', dialect],
    ...['--port', `${port}`, '--control-port', `${controlPort}`],
    ...(macKeys === undefined ? [] : ['--mac-keys', macKeys]),
    ...(tls === undefined ? [] : ['--tls-certificate', tls.certificatePath, '--tls-key', tls.keyPath]),
  ];
  let listens: (ports: RegExpExecArray) => void = () => {};
  const listening = new Promise<RegExpExecArray>((resolve) => {
    listens = resolve;
  });
  const running = start(
    args,
    {},
    {
      command: process.execPath,
      keep: 'the end',
      onLine: (line) => {
        const ports = LISTENING.exec(line);
        if (ports !== null) listens(ports);
      },
    },
  );
  const ports = await Promise.race([listening, running.ended]);
  if (!Array.isArray(ports)) throw new Error(`the host ended before it listened: ${running.output()}`);
  return { running, port: Number(ports[1]), controlPort: Number(ports[2]) };
}
