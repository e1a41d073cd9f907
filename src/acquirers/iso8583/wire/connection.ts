// One connection to a host: connects, signs on, sends echoes when idle, sends messages, and passes on those that arrive. It cannot be
// reopened.
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
  /** For connecting, including TLS. */
  readonly connectMs: number;
  /** For the answer to a sign-on, an echo or a sign-off. */
  readonly networkAnswerMs: number;
  /** If no byte comes from the host for this long, an echo is sent. */
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
  /** Gets answers. Must read what it needs before it returns. False if nothing that was sent asked for it. */
  readonly onAnswer: (received: Received) => boolean;
  /** Called for a message that must not be sent any more: no byte of it was sent. */
  readonly onWithheld: (waiting: Waiting) => void;
  /** Called for each message, for a trace without its contents. */
  readonly onTrace?: ((line: TraceLine) => void) | undefined;
}

/** Everything that a trace shows of a message. */
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
/** A host that keeps asking without reading the answers would fill the memory. */
const MOST_UNREAD_ANSWERS = 64;
const INVALID = '12';
/**
 * Messages that nothing asked for. Reading them takes time from every link, so a host may send this many at once, this many a second, and
 * one with each answer: a host that repeats its answers is no attack.
 */
const MOST_UNASKED = 500;
const UNASKED_PER_SECOND = 20;

export class Connection {
  /** Resolves once, with the reason. */
  readonly closed: Promise<string>;
  #state: 'new' | 'connecting' | 'signed on' | 'leaving' | 'closed' = 'new';
  #socket: Socket | undefined;
  #heardMs = 0;
  #networkAnswer: NetworkAnswer | undefined;
  #networkStan = Math.floor(Math.random() * LAST_STAN);
  #timer: NodeJS.Timeout | undefined;
  /** Closed, since the host sent too much that nothing asked for. */
  flooded = false;
  #unaskedLeft = MOST_UNASKED;
  #unaskedSinceMs = performance.now();
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

  /** Whether a message sent now would go out with others, at no further cost. */
  get isFilling(): boolean {
    return this.#outbox.isFilling;
  }

  /** Connects and signs on; throws with the reason if that fails. */
  async open(): Promise<void> {
    this.#state = 'connecting';
    try {
      await step('cannot connect', this.#connect());
      await step('sign-on failed', this.#network(this.parts.dialect.constants.signOn));
    } catch (error) {
      this.close((error as Error).message);
      throw error;
    }
    if (this.#state !== 'connecting') throw new Error('closed while opening');
    this.#state = 'signed on';
    void this.#echoWhenQuiet();
  }

  /** Sends an echo, and throws if it is not answered. */
  echo(): Promise<void> {
    return this.#network(this.parts.dialect.constants.echo);
  }

  /** Throws if the message cannot be written: no byte of it was sent. */
  send(message: Message, waiting?: Waiting): void {
    this.#trace('sent', message);
    this.#outbox.send(message, waiting);
  }

  /** Withdraws a message that has not been handed to the socket yet. */
  takeBack(waiting: Waiting): void {
    this.#outbox.takeBack(waiting);
  }

  /** Signs off, if the host answers, and closes. */
  async leave(): Promise<void> {
    if (this.#state === 'signed on') {
      this.#state = 'leaving';
      await this.#network(this.parts.dialect.constants.signOff, SIGN_OFF_MS).catch(() => {});
    }
    this.close('the gateway closed the connection');
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
      // At the first sign that the host closes: messages not handed over by then were certainly not sent.
      socket.on('end', () => this.#end('the host closed the connection', reject));
      socket.on('close', () => this.#end('the host closed the connection', reject));
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
      // After any error, nothing more on this connection can be trusted.
      const why = error instanceof Unreadable ? error.message : 'it could not be processed';
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
    // Some hosts send network messages without a MAC.
    if (macs !== undefined && !(aboutItself && !codec.hasMac(received)))
      codec.checkMac(bytes, at, end, received, macs.receiving);
    this.#trace('received', received);
    let asked = false;
    if (received.type === network.answer) asked = this.#hearNetworkAnswer(received);
    else if (aboutItself) this.#answerHost(received);
    else asked = onAnswer(received);
    received.clear();
    if (asked) this.#unaskedLeft = Math.min(MOST_UNASKED, this.#unaskedLeft + 1);
    else this.#bearUnasked();
  }

  #bearUnasked(): void {
    const nowMs = performance.now();
    const more = ((nowMs - this.#unaskedSinceMs) / 1_000) * UNASKED_PER_SECOND;
    this.#unaskedSinceMs = nowMs;
    this.#unaskedLeft = Math.min(MOST_UNASKED, this.#unaskedLeft + more) - 1;
    // guard(ISO 8583: a host that sends what nobody asked for is left): if (this.#unaskedLeft >= 0) return; ⇒ return;
    if (this.#unaskedLeft >= 0) return;
    this.flooded = true;
    this.close('the host sends too much that nothing asked for');
  }

  /** False if it answers nothing. */
  #hearNetworkAnswer(received: Received): boolean {
    const waiting = this.#networkAnswer;
    if (waiting === undefined || received.text(11) !== waiting.stan) return false;
    this.#networkAnswer = undefined;
    const code = received.text(39);
    if (code === '00') waiting.resolve();
    else waiting.reject(new Error(`the host answered ${code ?? 'nothing'}`));
    return true;
  }

  /** The host sends an echo, signs on itself, or signs off. Other requests are refused. */
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
    // guard(ISO 8583: a host that does not read fills no memory): if (this.#outbox.ofItself > MOST_UNREAD_ANSWERS) this.close('the host does not read the answers') ⇒ void MOST_UNREAD_ANSWERS
    if (this.#outbox.ofItself > MOST_UNREAD_ANSWERS) this.close('the host does not read the answers');
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
      this.#networkAnswer?.reject(new Error('another message was sent since'));
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

  /** Never resolves once the connection is closed. */
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

/** Names the failed step: a dead host and a refused sign-on are different problems for an operator. */
function step(failed: string, work: Promise<void>): Promise<void> {
  return work.catch(({ message }: Error) => {
    throw new Error(`${failed}: ${message}`);
  });
}

interface Queued {
  readonly bytes: Buffer;
  /** Undefined for network messages. */
  readonly waiting: Waiting | undefined;
}

/** Written and copied without interruption, so one buffer serves all connections. */
const SCRATCH = Buffer.alloc(65_536);

/**
 * Messages to be sent over a connection. They go to the socket in batches, one after the other, so that it is certain which messages
 * cannot have been sent. Everything is wiped afterwards.
 */
export class Outbox {
  #queue: Queued[] = [];
  /** How many queued messages are network messages. */
  #ofItself = 0;
  /** The socket has a batch, or is about to get one. */
  #busy = false;
  #isFilling = false;
  #closed = false;
  readonly #header: number;

  constructor(
    private readonly dialect: Dialect,
    private readonly codec: Codec,
    private readonly mac: RetailMac | undefined,
    private readonly socket: () => Socket | undefined,
    /** Called for a message that must not be sent any more: no byte of it was sent. */
    private readonly onWithheld: (waiting: Waiting) => void,
  ) {
    this.#header = headerBytes(dialect);
  }

  /** Whether a message sent now would join a batch that is about to go. */
  get isFilling(): boolean {
    return this.#isFilling;
  }

  /** How many network messages wait to be handed over. */
  get ofItself(): number {
    return this.#ofItself;
  }

  /** Goes out once the previous batch is with the system. Throws if the message cannot be written. */
  send(message: Message, waiting?: Waiting): void {
    this.#queue.push({ bytes: this.#framed(message), waiting });
    if (waiting === undefined) this.#ofItself += 1;
    if (this.#busy) return;
    this.#busy = true;
    this.#isFilling = true;
    // After everything that is about to be sent in this turn.
    queueMicrotask(() => this.#flush());
  }

  /** Withdraws a message that has not been handed to the socket yet. */
  takeBack(waiting: Waiting): void {
    const place = this.#queue.findIndex((queued) => queued.waiting === waiting);
    if (place >= 0) this.#queue.splice(place, 1)[0]?.bytes.fill(0);
  }

  close(): void {
    this.#closed = true;
    for (const { bytes } of this.#queue.splice(0)) bytes.fill(0);
  }

  #framed(message: Message): Buffer {
    // Wipes the whole buffer if writing fails halfway.
    let end = SCRATCH.length;
    try {
      end = this.codec.write(message, SCRATCH, this.#header, this.mac);
      writeHeader(this.dialect, end - this.#header, SCRATCH);
      return Buffer.from(SCRATCH.subarray(0, end));
    } finally {
      SCRATCH.fill(0, 0, end);
    }
  }

  /** If this process was suspended, others may have presumed it dead and reversed its orders: such messages are not sent. */
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
      // From here on, bytes of the message may have been sent.
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
  /** PEM certificates to trust instead of the usual ones. */
  readonly trusted?: string | undefined;
}

/** `onOpen`: the socket is writable; with TLS the host has proved its name. */
function openSocket({ host, port, tls, trusted }: Host, onOpen: () => void): Socket {
  if (!tls) return connectPlain({ host, port }, onOpen);
  // An IP address is not a server name; the certificate is then checked by address.
  const asked = isIP(host) === 0 ? { servername: host } : {};
  const more = trusted === undefined ? {} : { ca: trusted };
  return connectTls({ host, port, minVersion: 'TLSv1.2', ...asked, ...more }, onOpen);
}

/** The code if there is one: the system's messages differ between machines. */
function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}
