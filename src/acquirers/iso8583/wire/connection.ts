// One connection to a host: connects, signs on, echoes when it is quiet, sends, and hands over what arrives. Once closed, it is done.
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Dialect } from '../dialects/dialect.js';
import type { Macs } from '../mac-keys.js';
import { utcTime } from '../times.js';
import { type Codec, Message, type Received, Unreadable } from './codec.js';
import { Frames, headerBytes, writeHeader } from './frames.js';
import type { RetailMac } from './mac.js';
import type { Waiting } from './outstanding.js';

export interface Timings {
  /** To connect, TLS included. */
  readonly connectMs: number;
  /** For the answer to a sign-on, an echo or a sign-off. */
  readonly networkAnswerMs: number;
  /** Without a byte from the host for this long it is asked for an echo. */
  readonly echoAfterMs: number;
}

export const TIMINGS: Timings = { connectMs: 10_000, networkAnswerMs: 10_000, echoAfterMs: 30_000 };

export interface ConnectionParts {
  readonly dialect: Dialect;
  readonly codec: Codec;
  readonly host: Host;
  readonly timings: Timings;
  readonly institution: string | undefined;
  readonly macs: Macs | undefined;
  /** Answers to what was sent here. It reads what it wants at once. */
  readonly onAnswer: (received: Received) => void;
  /** Told of what must not be sent any more: not one byte of it has left. */
  readonly onWithheld: (waiting: Waiting) => void;
  /** Told of each message, for a trace: never what stands in it. */
  readonly onTrace?: ((line: TraceLine) => void) | undefined;
}

/** All that a trace ever shows of a message. */
export interface TraceLine {
  readonly direction: 'sent' | 'received';
  readonly type: string;
  readonly stan: string | undefined;
  readonly terminal: string | undefined;
  readonly responseCode: string | undefined;
}

interface NetworkAnswer {
  readonly stan: string;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

const UNANSWERED_ECHOES = 2;
const SIGN_OFF_MS = 1_000;
const LAST_STAN = 999_999;
/** A host that asks and asks, and does not read the answers, is not waited for: they would fill the memory. */
const MOST_UNREAD_ANSWERS = 64;
const INVALID = '12';

export class Connection {
  /** Fulfilled with the reason, once. */
  readonly closed: Promise<string>;
  #state: 'new' | 'connecting' | 'signed on' | 'leaving' | 'closed' = 'new';
  #socket: Socket | undefined;
  #heardMs = 0;
  #networkAnswer: NetworkAnswer | undefined;
  #networkStan = Math.floor(Math.random() * LAST_STAN);
  #timer: NodeJS.Timeout | undefined;
  #tellClosed: (reason: string) => void = () => {};
  readonly #message = new Message();
  readonly #received: Received;
  readonly #frames: Frames;
  readonly #outbox: Outbox;

  constructor(private readonly parts: ConnectionParts) {
    const { codec, dialect, macs } = parts;
    this.#outbox = new Outbox(dialect, codec, macs?.sending, () => this.#socket, parts.onWithheld);
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve;
    });
    this.#received = codec.received();
    this.#frames = new Frames(dialect, codec, (bytes, at, end) => this.#read(bytes, at, end));
  }

  get signedOn(): boolean {
    // guard(ISO 8583: nothing is sent before the sign-on is answered): ; ⇒ || this.#state === 'connecting';
    return this.#state === 'signed on';
  }

  /** What is sent now costs the system no more. */
  get isFilling(): boolean {
    return this.#outbox.isFilling;
  }

  /** Connects and signs on; throws with the reason where that fails. */
  async open(): Promise<void> {
    this.#state = 'connecting';
    try {
      await step('cannot connect', this.#connect());
      await step('sign-on failed', this.#network(this.parts.dialect.constants.signOn));
    } catch (error) {
      this.close((error as Error).message);
      throw error;
    }
    if (this.#state !== 'connecting') throw new Error('closed while it was opened');
    this.#state = 'signed on';
    void this.#echoWhenQuiet();
  }

  /** Asks the host for an echo, and throws where none comes. */
  echo(): Promise<void> {
    return this.#network(this.parts.dialect.constants.echo);
  }

  /** Throws where the message cannot be written: not one byte of it has left then. */
  send(message: Message, waiting?: Waiting): void {
    this.#trace('sent', message);
    this.#outbox.send(message, waiting);
  }

  /** What has not been handed over yet is not sent any more. */
  takeBack(waiting: Waiting): void {
    this.#outbox.takeBack(waiting);
  }

  /** Signs off, if the host will have it, and closes. */
  async leave(): Promise<void> {
    if (this.#state === 'signed on') {
      this.#state = 'leaving';
      await this.#network(this.parts.dialect.constants.signOff, SIGN_OFF_MS).catch(() => {});
    }
    this.close('the gateway has closed it');
  }

  close(reason: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    clearTimeout(this.#timer);
    this.#outbox.close();
    this.#socket?.destroy();
    this.#networkAnswer?.reject(new Error(reason));
    this.#tellClosed(reason);
  }

  #connect(): Promise<void> {
    const { host, timings } = this.parts;
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`no connection within ${timings.connectMs} ms`));
      this.#timer = setTimeout(late, timings.connectMs);
      const socket = openSocket(host, () => {
        clearTimeout(this.#timer);
        this.#heardMs = performance.now();
        resolve();
      });
      this.#socket = socket;
      socket.setNoDelay(true);
      socket.setKeepAlive(true, timings.echoAfterMs);
      socket.on('data', (piece) => this.#hear(piece));
      socket.on('error', (error) => this.#end(reasonOf(error), reject));
      // At its first word of parting: what is not handed over by then has certainly not left.
      socket.on('end', () => this.#end('the host has closed it', reject));
      socket.on('close', () => this.#end('the host has closed it', reject));
    });
  }

  #end(reason: string, reject: (error: Error) => void): void {
    reject(new Error(reason));
    this.close(reason);
  }

  #hear(piece: Buffer): void {
    this.#heardMs = performance.now();
    try {
      this.#frames.push(piece);
    } catch (error) {
      // Whatever is wrong, nothing that comes after it on this connection can be trusted.
      const why = error instanceof Unreadable ? error.message : 'it could not be worked off';
      // guard(ISO 8583: what cannot be read closes the connection): this.close(`an unreadable message: ${why}`) ⇒ void why
      this.close(`an unreadable message: ${why}`);
    }
  }

  #read(bytes: Buffer, at: number, end: number): void {
    if (this.#state === 'closed') return;
    const { codec, macs, dialect, onAnswer } = this.parts;
    const received = this.#received;
    const { network } = dialect.types;
    codec.read(bytes, at, end, received);
    const aboutItself = received.type === network.answer || received.type === network.sent;
    // Some hosts put none into what is about the connection alone.
    if (macs !== undefined && !(aboutItself && !codec.hasMac(received)))
      codec.checkMac(bytes, at, end, received, macs.receiving);
    this.#trace('received', received);
    if (received.type === network.answer) this.#hearNetworkAnswer(received);
    else if (aboutItself) this.#answerHost(received);
    else onAnswer(received);
    received.clear();
  }

  #hearNetworkAnswer(received: Received): void {
    const waiting = this.#networkAnswer;
    if (waiting === undefined || received.text(11) !== waiting.stan) return;
    const code = received.text(39);
    if (code === '00') waiting.resolve();
    else waiting.reject(new Error(`the host answered ${code ?? 'nothing'}`));
  }

  /** The host asks for an echo, signs on itself, or wants to part. What else it may want is not done here, and not said to be. */
  #answerHost(received: Received): void {
    const { types, constants } = this.parts.dialect;
    const wanted = received.text(70);
    const known = [constants.signOn, constants.signOff, constants.echo].some((each) => each === wanted);
    const answer = this.#message.clear();
    answer.type = types.network.answer;
    for (const field of [7, 11, 32, 70]) {
      const text = received.text(field);
      if (text !== undefined) answer.set(field, text);
    }
    this.send(answer.set(39, known ? '00' : INVALID));
    // guard(ISO 8583: a host that does not read fills no memory): if (this.#outbox.ofItself > MOST_UNREAD_ANSWERS) this.close('the host does not read what it is answered') ⇒ void MOST_UNREAD_ANSWERS
    if (this.#outbox.ofItself > MOST_UNREAD_ANSWERS) this.close('the host does not read what it is answered');
    if (wanted !== constants.signOff || this.#state === 'leaving' || this.#state === 'closed') return;
    this.#state = 'leaving';
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.close('the host has signed off'), SIGN_OFF_MS);
  }

  /** One at a time: a sign-on, then echoes one after the other, then a sign-off. */
  #network(wanted: string, withinMs = this.parts.timings.networkAnswerMs): Promise<void> {
    const { dialect, institution } = this.parts;
    this.#networkStan = (this.#networkStan % LAST_STAN) + 1;
    const stan = String(this.#networkStan).padStart(6, '0');
    const message = this.#message.clear();
    message.type = dialect.types.network.sent;
    message.set(7, utcTime(Date.now())).set(11, stan).set(70, wanted);
    if (institution !== undefined) message.set(32, institution);
    return new Promise<void>((resolve, reject) => {
      const late = () => reject(new Error(`no answer to ${wanted} within ${withinMs} ms`));
      const timer = setTimeout(late, withinMs);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      const failed = (reason: Error) => {
        clearTimeout(timer);
        reject(reason);
      };
      this.#networkAnswer?.reject(new Error('another was sent since'));
      this.#networkAnswer = { stan, resolve: done, reject: failed };
      if (this.#state === 'closed') failed(new Error('closed'));
      else this.send(message);
    });
  }

  async #echoWhenQuiet(): Promise<void> {
    const { timings } = this.parts;
    for (let unanswered = 0; this.signedOn; ) {
      const quietMs = performance.now() - this.#heardMs;
      if (unanswered === 0 && quietMs < timings.echoAfterMs) {
        await this.#pause(timings.echoAfterMs - quietMs);
        continue;
      }
      unanswered = await this.echo().then(
        () => 0,
        () => unanswered + 1,
      );
      if (unanswered === UNANSWERED_ECHOES) this.close(`${UNANSWERED_ECHOES} echoes were not answered`);
    }
  }

  /** Never over, once it is closed. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#timer = setTimeout(resolve, Math.max(1, ms));
    });
  }

  #trace(direction: TraceLine['direction'], message: Message | Received): void {
    this.parts.onTrace?.({
      direction,
      type: message.type,
      stan: message.text(11),
      terminal: message.text(41),
      responseCode: message.text(39),
    });
  }
}

/** Says which step failed: an operator looks for a dead host elsewhere than for a refused sign-on. */
function step(failed: string, work: Promise<void>): Promise<void> {
  return work.catch(({ message }: Error) => {
    throw new Error(`${failed}: ${message}`);
  });
}

interface Queued {
  readonly bytes: Buffer;
  /** None for what concerns the connection itself. */
  readonly waiting: Waiting | undefined;
}

/** Written and copied without a pause between: one is enough for all. */
const SCRATCH = Buffer.alloc(65_536);

/**
 * What is to be sent over a connection: handed to the socket in batches, one after the other, so that it is certain which messages
 * cannot have left. Everything is wiped once it has.
 */
export class Outbox {
  #queue: Queued[] = [];
  /** How many of them concern the connection itself. */
  #ofItself = 0;
  /** A batch is with the socket, or about to be. */
  #busy = false;
  #isFilling = false;
  #closed = false;
  readonly #header: number;

  constructor(
    private readonly dialect: Dialect,
    private readonly codec: Codec,
    private readonly mac: RetailMac | undefined,
    private readonly socket: () => Socket | undefined,
    /** Told of what must not be sent any more: not one byte of it has left. */
    private readonly onWithheld: (waiting: Waiting) => void,
  ) {
    this.#header = headerBytes(dialect);
  }

  /** What is sent now goes with a batch that is about to be handed over. */
  get isFilling(): boolean {
    return this.#isFilling;
  }

  /** How many messages about the connection itself wait to be handed over. */
  get ofItself(): number {
    return this.#ofItself;
  }

  /** Goes as soon as what went before is with the system. Throws where the message cannot be written. */
  send(message: Message, waiting?: Waiting): void {
    this.#queue.push({ bytes: this.#framed(message), waiting });
    if (waiting === undefined) this.#ofItself += 1;
    if (this.#busy) return;
    this.#busy = true;
    this.#isFilling = true;
    // Behind everything that is about to be sent just now.
    queueMicrotask(() => this.#flush());
  }

  /** What has not been handed over yet is not sent any more. */
  takeBack(waiting: Waiting): void {
    const place = this.#queue.findIndex((queued) => queued.waiting === waiting);
    if (place >= 0) this.#queue.splice(place, 1)[0]?.bytes.fill(0);
  }

  close(): void {
    this.#closed = true;
    for (const { bytes } of this.#queue.splice(0)) bytes.fill(0);
  }

  #framed(message: Message): Buffer {
    // All of it, should the message turn out to be unwritable in its middle.
    let end = SCRATCH.length;
    try {
      end = this.codec.write(message, SCRATCH, this.#header, this.mac);
      writeHeader(this.dialect, end - this.#header, SCRATCH);
      return Buffer.from(SCRATCH.subarray(0, end));
    } finally {
      SCRATCH.fill(0, 0, end);
    }
  }

  /** A process that stood still meanwhile may have been presumed dead, and its orders reversed: those stay here. */
  #takeSendable(): Queued[] {
    const batch: Queued[] = [];
    for (const queued of this.#queue) {
      const { waiting, bytes } = queued;
      // guard(ISO 8583: a process that stood still sends nothing): ?.maySend === undefined || waiting.maySend() ⇒ !== null
      if (waiting?.maySend === undefined || waiting.maySend()) {
        batch.push(queued);
        continue;
      }
      bytes.fill(0);
      this.onWithheld(waiting);
    }
    this.#queue = [];
    this.#ofItself = 0;
    return batch;
  }

  #flush(): void {
    this.#isFilling = false;
    const socket = this.socket();
    if (this.#closed || socket === undefined || this.#queue.length === 0) {
      this.#busy = false;
      return;
    }
    const batch = this.#takeSendable();
    if (batch.length === 0) {
      this.#busy = false;
      return;
    }
    const all = Buffer.concat(batch.map(({ bytes }) => bytes));
    for (const { bytes, waiting } of batch) {
      // From here on any byte of it may have left.
      if (waiting !== undefined) {
        // guard(ISO 8583: what was handed to the socket may have left): waiting.handedOver = true; ⇒
        waiting.handedOver = true;
        // guard(ISO 8583: the CVV is erased): waiting.cvv?.erase(); ⇒
        waiting.cvv?.erase();
      }
      bytes.fill(0);
    }
    socket.write(all, () => {
      all.fill(0);
      this.#flush();
    });
  }
}

export interface Host {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Certificates in PEM that are trusted in place of the usual ones. */
  readonly trusted?: string | undefined;
}

/** `onOpen`: it can be written to; with TLS the host has shown a certificate for its name. */
function openSocket({ host, port, tls, trusted }: Host, onOpen: () => void): Socket {
  if (!tls) return connectPlain({ host, port }, onOpen);
  // An address is no name to ask for: the certificate is checked by the address then.
  const asked = isIP(host) === 0 ? { servername: host } : {};
  const more = trusted === undefined ? {} : { ca: trusted };
  return connectTls({ host, port, minVersion: 'TLSv1.2', ...asked, ...more }, onOpen);
}

/** The code where there is one: the system's words differ from machine to machine. */
function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}
