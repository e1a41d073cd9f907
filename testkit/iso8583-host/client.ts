// A client that uses the host's own codec: to try the host, or another host, without a gateway.
import { connect, type Socket } from 'node:net';
import { connect as connectByTls } from 'node:tls';
import { type Message, message, pack, read } from './codec.js';
import { AS2805, type Dialect } from './dialects.js';
import { FrameReader, framed } from './framing.js';
import { type MacKeys, macIsRight, withMac } from './mac.js';
import { utcOf } from './request.js';

export interface ClientOptions {
  readonly port: number;
  readonly dialect?: Dialect;
  /** As the host sees them: this client sends with what the host receives with. */
  readonly macKeys?: MacKeys;
  readonly tls?: { readonly ca: string; readonly servername: string };
}

export type Fields = Readonly<Record<number, string | undefined>>;

export class IsoClient {
  readonly closed: Promise<void>;
  readonly #dialect: Dialect;
  readonly #unread: Message[] = [];
  #waiting: ((message: Message | undefined) => void)[] = [];
  #isClosed = false;

  private constructor(
    private readonly socket: Socket,
    private readonly options: ClientOptions,
  ) {
    this.#dialect = options.dialect ?? AS2805;
    const frames = new FrameReader(this.#dialect);
    socket.on('data', (chunk) => {
      try {
        for (const body of frames.take(chunk)) this.#take(body);
      } catch {
        // As a gateway does with what it cannot read.
        socket.destroy();
      }
    });
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#isClosed = true;
        for (const tell of this.#waiting.splice(0)) tell(undefined);
        resolve();
      });
    });
  }

  static connect(options: ClientOptions): Promise<IsoClient> {
    return new Promise((resolve, reject) => {
      const { port, tls } = options;
      const to = { host: '127.0.0.1', port, noDelay: true };
      const socket = tls === undefined ? connect(to) : connectByTls({ ...to, ...tls });
      socket.once('error', reject);
      socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
        resolve(new IsoClient(socket, options));
      });
    });
  }

  /** Connected and signed on. */
  static async signedOn(options: ClientOptions): Promise<IsoClient> {
    const client = await IsoClient.connect(options);
    const answer = await client.ask(networkMessage('001'));
    if (answer?.fields.get(39) !== '00') throw new Error('the host refused the sign-on');
    return client;
  }

  send(request: Message): void {
    const { macKeys } = this.options;
    const signed = macKeys === undefined ? request : withMac(this.#dialect, request, macKeys.receive);
    this.sendBytes(framed(this.#dialect, pack(this.#dialect, signed)));
  }

  sendBytes(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  /** The next message, whatever it answers; undefined if the connection ends before one comes. */
  next(): Promise<Message | undefined> {
    const unread = this.#unread.shift();
    if (unread !== undefined || this.#isClosed) return Promise.resolve(unread);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  ask(request: Message): Promise<Message | undefined> {
    this.send(request);
    return this.next();
  }

  /** Sends nothing more, and ends once everything is sent. */
  end(): void {
    this.socket.end();
  }

  close(): void {
    this.socket.destroy();
  }

  #take(body: Buffer): void {
    const { macKeys } = this.options;
    const received = read(this.#dialect, body);
    if (macKeys !== undefined && !macIsRight(this.#dialect, received, macKeys.send)) {
      this.socket.destroy();
      return;
    }
    const tell = this.#waiting.shift();
    if (tell === undefined) this.#unread.push(received);
    else tell(received);
  }
}

let stans = 0;

export function nextStan(): string {
  stans += 1;
  return String(stans).padStart(6, '0');
}

/** 001 signs on, 002 off, 301 is an echo. */
export function networkMessage(function_: string): Message {
  return message('0800', { 7: utcOf(Date.now()), 11: nextStan(), 32: '61000001', 70: function_ });
}

/** A payment with everything that a host wants; 0100 for a preauthorisation, processing code 200000 for a refund. */
export function payment(mti: '0100' | '0200', fields: Fields = {}): Message {
  const stan = nextStan();
  return message(mti, {
    2: '4111111111111111',
    3: '000000',
    4: '000000001995',
    7: utcOf(Date.now()),
    11: stan,
    14: '3912',
    22: '012',
    25: '59',
    32: '61000001',
    37: `REF${stan}`,
    41: 'TERM0001',
    42: 'MERCHANT0000001',
    49: '036',
    ...fields,
  });
}

/** Field 90. */
export function originalData({ mti, fields }: Message): string {
  const acquirer = (fields.get(32) ?? '').padStart(11, '0');
  return `${mti.slice(0, 3)}0${fields.get(11)}${fields.get(7)}${acquirer}${'0'.repeat(11)}`;
}

/** A completion or a refund of something, or its reversal: its card, amount and references, and a STAN of its own. */
export function following(mti: string, original: Message, fields: Fields = {}): Message {
  const same = [2, 3, 4, 32, 37, 41, 42, 49].map((number) => [number, original.fields.get(number)]);
  return message(mti, {
    ...Object.fromEntries(same),
    7: utcOf(Date.now()),
    11: nextStan(),
    90: originalData(original),
    ...fields,
  });
}
