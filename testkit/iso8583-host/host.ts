// An acquirer's host as gateways see it: accepts connections, signs them on, decides requests, and misbehaves on demand.
import { createHash } from 'node:crypto';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { AnswerTimes } from './answer-times.js';
import { answerTo, type Spelling } from './answers.js';
import { type Behaviour, leavesUnanswered, Rules } from './behaviour.js';
import { Books } from './books.js';
import { cardBehaviour } from './card-behaviour.js';
import { type Message, message, read } from './codec.js';
import { Connection } from './connection.js';
import { decide } from './decisions.js';
import type { Dialect } from './dialects.js';
import { type Complaint, type Entry, Ledger } from './ledger.js';
import { firstSent, hasMac, type MacKeys, macIsRight } from './mac.js';
import { NetworkManagement } from './network-management.js';
import { keyOf, kindOf, missingFields, type Request, requestOf } from './request.js';
import { SeenMessages } from './seen-messages.js';
import { DEFAULTS, type HostSettings } from './settings.js';
import { type Stall, stallSome } from './stalls.js';

/** What nobody asked for. */
export interface Said {
  readonly mti: string;
  readonly fields: Readonly<Record<number, string>>;
  readonly connections?: readonly number[];
}

export interface HostOptions {
  readonly dialect: Dialect;
  readonly ledgerPath: string;
  readonly port?: number;
  readonly macKeys?: MacKeys | undefined;
  /** Certificate and key, in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

const REMEMBERED_PAYMENTS = 8;

export class Host {
  readonly rules = new Rules();
  readonly settings: HostSettings = { ...DEFAULTS };
  readonly seen = new SeenMessages();
  readonly answerTimes = new AnswerTimes();
  readonly connections = new Set<Connection>();
  #server: Server | undefined;
  #port: number;
  #books: Books;
  readonly #ledger: Ledger;
  readonly #network = new NetworkManagement(this.settings, {
    spelling: () => this.#spelling,
    complain: (what, about) => this.#complain(what, about),
  });
  #isClosed = false;
  #lately: readonly Message[] = [];

  private constructor(
    private readonly options: HostOptions,
    { ledger, entries }: { ledger: Ledger; entries: readonly Entry[] },
  ) {
    this.#port = options.port ?? 0;
    this.#ledger = ledger;
    this.#books = new Books(entries);
  }

  static async open(options: HostOptions): Promise<Host> {
    const host = new Host(options, Ledger.open(options.ledgerPath));
    await host.listen();
    return host;
  }

  get port(): number {
    return this.#port;
  }

  get books(): Books {
    return this.#books;
  }

  get dialect(): Dialect {
    return this.options.dialect;
  }

  get #spelling(): Spelling {
    return this.options;
  }

  async listen(): Promise<void> {
    const { tls } = this.options;
    const accept = (socket: Socket) => this.#accept(socket);
    const server = tls === undefined ? createServer({ noDelay: true }, accept) : createTlsServer(tls, accept);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Connections are refused from now on, and those that are there end. */
  stopListening(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => {
      if (server === undefined) resolve();
      else server.close(() => resolve());
    });
    this.closeConnections();
    return closed;
  }

  set(settings: Partial<HostSettings>): void {
    const strange = Object.keys(settings).filter((name) => !(name in DEFAULTS));
    if (strange.length > 0) throw new Error(`there is no setting ${strange.join(', ')}`);
    Object.assign(this.settings, settings);
    if (settings.seed !== undefined) this.rules.seed(settings.seed);
  }

  /** The numbers of the connections that stand still now. */
  stall(stall: Stall): number[] {
    return stallSome(this.connections, stall);
  }

  /** Every connection reads and answers again. */
  goOn(): void {
    for (const connection of this.connections) connection.goOn();
  }

  /** Sends a message that answers nothing, over these connections or over all of them. */
  say({ mti, fields, connections }: Said): void {
    for (const connection of this.connections) {
      if (connections?.includes(connection.number) === false) continue;
      connection.answerAtOnce(message(mti, fields));
      connection.drain();
    }
  }

  /** Sends the answers that are held. */
  release(): number {
    return [...this.connections].reduce((sum, connection) => sum + connection.release(), 0);
  }

  closeConnections(): void {
    for (const connection of this.connections) connection.close();
  }

  async close(): Promise<void> {
    await this.stopListening();
    this.#isClosed = true;
    this.#ledger.close();
  }

  /** As if its disk were gone: what it approved is forgotten, and so is what it reversed. */
  loseStore(): void {
    this.#ledger.lose();
    this.#books = new Books();
    this.#write({ kind: 'store lost', atMs: Date.now() });
    this.#ledger.flush();
  }

  #accept(socket: Socket): void {
    this.connections.add(
      new Connection(socket, {
        spelling: this.#spelling,
        timing: this.settings,
        onMessage: (connection, bytes) => this.#receive(connection, bytes),
        others: ({ fields }) => this.#lately.filter((other) => keyOf(other.fields) !== keyOf(fields)),
        onAnswer: ({ fields }) => {
          if (this.settings.keepsTimes) this.answerTimes.written(keyOf(fields));
        },
        onUnreadable: (detail) => this.#complain('unreadable', { detail }),
        onRead: () => this.#ledger.flush(),
        onClose: (connection) => this.#forget(connection),
      }),
    );
  }

  #forget(connection: Connection): void {
    this.connections.delete(connection);
    if (this.#isClosed) return;
    this.#write({ kind: 'connection closed', atMs: Date.now(), connection: connection.number });
    this.#ledger.flush();
  }

  #receive(connection: Connection, bytes: Buffer): void {
    const received = read(this.dialect, bytes);
    this.seen.add(received, connection.number);
    const { macKeys } = this.options;
    const needsMac = macKeys !== undefined && (firstSent(received.mti) !== '0800' || hasMac(received));
    if (needsMac && !macIsRight(this.dialect, received, macKeys.receive)) {
      this.#complain('wrong MAC', { mti: received.mti });
      connection.close();
    } else if (received.mti === '0800') {
      this.#network.serve(connection, received);
    } else {
      this.#serve(connection, received);
    }
  }

  #serve(connection: Connection, received: Message): void {
    const { mti } = received;
    if (!connection.signedOn) {
      this.#complain('not signed on', { mti });
      connection.close();
      return;
    }
    const kind = kindOf(mti, this.dialect.reversal);
    if (kind === undefined) {
      this.#complain('unknown message', { mti });
      return;
    }
    const missing = missingFields(received, kind);
    if (missing.length > 0) {
      this.#complain('field missing', { mti, detail: missing.join(', ') });
      connection.answer(answerTo(received, { 39: '30' }));
      return;
    }
    if (this.settings.keepsTimes) this.answerTimes.read(keyOf(received.fields));
    const request = requestOf(received, kind, Date.now());
    if (kind === 'payment') this.#lately = [...this.#lately.slice(1 - REMEMBERED_PAYMENTS), received];
    const about = { connection: connection.number, payment: request.original?.key ?? request.key };
    const behaviour = this.rules.take({ ...request, ...about }) ?? cardBehaviour(request, this.#books);
    switch (behaviour.fault) {
      case 'closes':
        connection.close();
        return;
      case 'lost request':
        return;
      case 'dies before booking':
        process.kill(process.pid, 'SIGKILL');
        return;
      case 'slow':
        setTimeout(() => this.#answerNow(connection, received, request, behaviour), this.settings.slowMs);
        return;
      case 'stalls':
        connection.stallReads(this.settings.stallMs, () =>
          this.#answerNow(connection, received, request, behaviour),
        );
        return;
      default:
        this.#answer(connection, received, request, behaviour);
    }
  }

  /** Some time after it came in. */
  #answerNow(connection: Connection, received: Message, request: Request, behaviour: Behaviour): void {
    if (this.#isClosed) return;
    this.#answer(connection, received, request, { ...behaviour, fault: undefined });
    this.#ledger.flush();
    connection.drain();
  }

  #answer(connection: Connection, received: Message, request: Request, { code, fault }: Behaviour): void {
    const nowMs = Date.now();
    const { mti, key, original, digest } = request;
    const { entries, ...decision } = decide(this.#books, request, {
      nowMs,
      connection: connection.number,
      ...(code !== undefined && { code }),
      ...(fault !== undefined && { fault }),
      unseenReversals: this.settings.unseenReversals,
    });
    const { responseCode, authorisationCode, amountCents } = decision;
    const about = { atMs: nowMs, mti, key, ...(original !== undefined && { original: original.key }) };
    if (request.kind !== 'payment') this.#write({ kind: 'received', ...about, digest });
    for (const entry of entries) this.#write(entry);
    // Before it is sent: should the host die in between, the gateway repeats it, and it is acknowledged again.
    if (request.kind !== 'payment' && !leavesUnanswered(fault, this.options)) {
      this.#write({ kind: 'acknowledged', ...about, responseCode });
    }
    const { settlementDate } = this.settings;
    const answer = answerTo(received, {
      15: authorisationCode === undefined ? undefined : settlementDate,
      38: authorisationCode,
      39: responseCode,
      ...(authorisationCode !== undefined && isOfKeptCard(received) && { 48: networkId(key) }),
      ...(amountCents !== undefined && { 4: String(amountCents) }),
    });
    connection.answer(answer, fault);
  }

  #write(entry: Entry): void {
    this.#books.take(entry);
    this.#ledger.append(entry);
  }

  #complain(what: Complaint['what'], about: Partial<Pick<Complaint, 'mti' | 'detail'>>): void {
    this.#write({ kind: 'complaint', atMs: Date.now(), what, ...about });
  }
}

/** A payment with a card that is kept: the next one names it. */
function isOfKeptCard({ mti, fields }: Message): boolean {
  return (mti === '0100' || mti === '0200') && (fields.get(22) === '102' || fields.has(48));
}

/** Private data: tag, length, value. */
function networkId(key: string): string {
  return `NT015${createHash('sha256').update(key).digest('hex').slice(0, 15).toUpperCase()}`;
}
