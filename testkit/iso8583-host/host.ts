// An acquirer's host as gateways meet it: takes connections, signs them on, decides what they ask, and misbehaves as it is told.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { AnswerTimes } from './answer-times.js';
import { answerTo, type Spelling } from './answers.js';
import { type Behaviour, type Fault, Rules } from './behaviour.js';
import { Books } from './books.js';
import { cardBehaviour } from './card-behaviour.js';
import { type Message, read } from './codec.js';
import { Connection } from './connection.js';
import { type Circumstances, decide } from './decisions.js';
import type { Dialect } from './dialects.js';
import { type Complaint, type Entry, Ledger } from './ledger.js';
import { firstSent, hasMac, type MacKeys, macIsRight } from './mac.js';
import { keyOf, kindOf, missingFields, type Request, requestOf } from './request.js';
import { SeenMessages } from './seen-messages.js';
import { DEFAULTS, type HostSettings } from './settings.js';

export interface HostOptions {
  readonly dialect: Dialect;
  readonly ledgerPath: string;
  readonly port?: number;
  readonly macKeys?: MacKeys | undefined;
  /** Certificate and key, in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

const SIGN_ON = '001';
const SIGN_OFF = '002';
const ECHO = '301';

/** After these the gateway has no answer that it could read. */
const UNANSWERED: readonly (Fault | undefined)[] = [
  'lost answer',
  'unreadable answer',
  'wrong MAC',
  'impossible length',
  'cut answer',
  'closes after approving',
  'dies after booking',
  'dies inside the answer',
];

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
  #isClosed = false;

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
        onAnswer: ({ fields }) => {
          if (this.settings.keepsTimes) this.answerTimes.written(keyOf(fields));
        },
        onUnreadable: (detail) => this.#complain('unreadable', { detail }),
        onRead: () => this.#ledger.flush(),
        onClose: (connection) => this.connections.delete(connection),
      }),
    );
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
      this.#manageNetwork(connection, received);
    } else {
      this.#serve(connection, received);
    }
  }

  #manageNetwork(connection: Connection, received: Message): void {
    const { signOn, echo } = this.settings;
    const asked = received.fields.get(70) ?? '';
    let code = '00';
    switch (asked) {
      case SIGN_ON:
        if (signOn === 'closed') connection.close();
        if (signOn === 'closed' || signOn === 'unanswered') return;
        if (signOn === 'refused') code = '05';
        connection.signedOn = signOn === 'accepted';
        break;
      case SIGN_OFF:
        connection.signedOn = false;
        break;
      case ECHO:
        if (echo === 'unanswered') return;
        break;
      default:
        this.#complain('field missing', { mti: received.mti, detail: '70' });
        code = '30';
    }
    const { dialect } = this;
    const spelling = hasMac(received) ? this.#spelling : { dialect };
    connection.answerAtOnce(answerTo(received, { 39: code }), spelling);
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
    const behaviour = this.rules.take(request) ?? cardBehaviour(request, this.#books);
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
        setTimeout(() => {
          if (this.#isClosed) return;
          this.#answer(connection, received, request, { ...behaviour, fault: undefined, isOvertaken: true });
          this.#ledger.flush();
          connection.drain();
        }, this.settings.slowMs);
        return;
      default:
        this.#answer(connection, received, request, behaviour);
    }
  }

  #answer(
    connection: Connection,
    received: Message,
    request: Request,
    { code, fault, isOvertaken }: Behaviour & Pick<Circumstances, 'isOvertaken'>,
  ): void {
    const nowMs = Date.now();
    const { mti, key, original, digest } = request;
    const { entries, ...decision } = decide(this.#books, request, {
      nowMs,
      ...(code !== undefined && { code }),
      ...(fault !== undefined && { fault }),
      ...(isOvertaken && { isOvertaken }),
    });
    const { responseCode, authorisationCode, amountCents } = decision;
    const about = { atMs: nowMs, mti, key, ...(original !== undefined && { original: original.key }) };
    if (request.kind !== 'payment') this.#write({ kind: 'received', ...about, digest });
    for (const entry of entries) this.#write(entry);
    // Before it is sent: should the host die in between, the gateway repeats it, and it is acknowledged again.
    if (request.kind !== 'payment' && !this.#isUnanswered(fault)) {
      this.#write({ kind: 'acknowledged', ...about, responseCode });
    }
    const { settlementDate } = this.settings;
    const answer = answerTo(received, {
      15: authorisationCode === undefined ? undefined : settlementDate,
      38: authorisationCode,
      39: responseCode,
      ...(amountCents !== undefined && { 4: String(amountCents) }),
    });
    connection.answer(answer, fault);
  }

  /** Whoever has no key does not look at a MAC. */
  #isUnanswered(fault: Fault | undefined): boolean {
    if (fault === 'wrong MAC' && this.options.macKeys === undefined) return false;
    return UNANSWERED.includes(fault);
  }

  #write(entry: Entry): void {
    this.#books.take(entry);
    this.#ledger.append(entry);
  }

  #complain(what: Complaint['what'], about: Partial<Pick<Complaint, 'mti' | 'detail'>>): void {
    this.#write({ kind: 'complaint', atMs: Date.now(), what, ...about });
  }
}
