// One connection of a gateway to the host: what comes in is cut into messages, what goes out may be spoilt on its way.
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Spelling, spell, stray, withUnknownField, withWrongMac } from './answers.js';
import type { Fault } from './behaviour.js';
import { type Message, Unreadable } from './codec.js';
import { FrameReader, framed } from './framing.js';

/** What a test can change while the host runs. */
export interface Timing {
  /** Every answer to a payment, advice or reversal comes so much later. */
  answerDelayMs: number;
  /** How long after its request a late answer comes. */
  lateMs: number;
  slowMs: number;
}

export interface ConnectionOptions {
  readonly spelling: Spelling;
  readonly timing: Timing;
  /** Throws `Unreadable` where it is none. */
  onMessage(connection: Connection, bytes: Buffer): void;
  /** After everything that came together: what was decided is written down before anything of it is answered. */
  onRead(): void;
  /** An answer to a payment, advice or reversal is about to be written. */
  onAnswer(answer: Message): void;
  onUnreadable(reason: string): void;
  onClose(connection: Connection): void;
}

let opened = 0;

export class Connection {
  readonly number = ++opened;
  signedOn = false;
  /** Answers that wait until a test releases them. */
  readonly held: Buffer[] = [];
  /** Answers that come after the one after them. */
  readonly #overtaken: Buffer[] = [];
  #outbox: (() => void)[] = [];
  /** What has to wait while an answer is written byte by byte. */
  #backlog: Buffer[] | undefined;
  readonly #frames: FrameReader;

  constructor(
    private readonly socket: Socket,
    private readonly options: ConnectionOptions,
  ) {
    this.#frames = new FrameReader(options.spelling.dialect);
    socket.on('data', (chunk) => this.#receive(chunk));
    // A gateway that was killed resets its connections.
    socket.on('error', () => {});
    socket.on('close', () => options.onClose(this));
  }

  close(): void {
    this.socket.destroy();
  }

  /** Sent by `drain`, when what it says has been written down. */
  answer(message: Message, fault?: Fault): void {
    const { answerDelayMs } = this.options.timing;
    const send = () => this.#send(message, fault);
    this.#outbox.push(answerDelayMs === 0 ? send : () => void setTimeout(send, answerDelayMs));
  }

  /** At once, and properly: network management is neither delayed nor spoilt. */
  answerAtOnce(message: Message, spelling = this.options.spelling): void {
    this.#outbox.push(() => this.#write(framed(spelling.dialect, spell(spelling, message))));
  }

  drain(): void {
    if (this.#outbox.length === 0) return;
    const outbox = this.#outbox;
    this.#outbox = [];
    this.socket.cork();
    for (const send of outbox) send();
    this.socket.uncork();
  }

  release(): number {
    const released = this.held.splice(0);
    for (const frame of released) this.#write(frame);
    return released.length;
  }

  #receive(chunk: Buffer): void {
    try {
      for (const bytes of this.#frames.take(chunk)) {
        this.options.onMessage(this, bytes);
        if (this.socket.destroyed) break;
      }
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.options.onUnreadable(error.message);
      this.close();
    }
    this.options.onRead();
    this.drain();
  }

  #send(message: Message, fault: Fault | undefined): void {
    const { spelling, timing } = this.options;
    this.options.onAnswer(message);
    const frameOf = (body: Buffer) => framed(spelling.dialect, body);
    const frame = frameOf(spell(spelling, message));
    const half = frame.subarray(0, frame.length >> 1);
    switch (fault) {
      case 'lost answer':
        return;
      case 'late answer':
        setTimeout(() => this.#write(frame), timing.lateMs);
        return;
      case 'unreadable answer':
        this.#write(frameOf(withUnknownField(spelling, message)));
        return;
      case 'wrong MAC':
        this.#write(frameOf(withWrongMac(spelling, message)));
        return;
      case 'impossible length':
        this.#write(Buffer.from(spelling.dialect.frame === 'two bytes' ? '000107' : '3030303137', 'hex'));
        return;
      case 'answered twice':
        this.#write(frame);
        this.#write(frame);
        return;
      case 'stray answer':
        this.#write(frameOf(stray(spelling, message)));
        this.#write(frame);
        return;
      case 'out of order':
        this.#overtaken.push(frame);
        // Should nothing come after it.
        setTimeout(() => this.#writeOvertaken(), timing.slowMs);
        return;
      case 'held answer':
        this.held.push(frame);
        return;
      case 'byte by byte':
        void this.#writeByteByByte(frame);
        return;
      case 'cut answer':
        this.socket.end(half);
        return;
      case 'closes after approving':
        this.close();
        return;
      case 'dies after booking':
        process.kill(process.pid, 'SIGKILL');
        return;
      case 'dies inside the answer':
        this.socket.uncork();
        this.socket.write(half, () => process.kill(process.pid, 'SIGKILL'));
        return;
      default:
        this.#write(frame);
        this.#writeOvertaken();
    }
  }

  #writeOvertaken(): void {
    for (const frame of this.#overtaken.splice(0)) this.#write(frame);
  }

  #write(frame: Buffer): void {
    if (!this.socket.writable) return;
    if (this.#backlog === undefined) this.socket.write(frame);
    else this.#backlog.push(frame);
  }

  async #writeByteByByte(frame: Buffer): Promise<void> {
    if (this.#backlog !== undefined) {
      this.#backlog.push(frame);
      return;
    }
    this.#backlog = [];
    for (const byte of frame) {
      if (this.socket.writable) this.socket.write(Buffer.from([byte]));
      await nextTurn();
    }
    const waited = this.#backlog;
    this.#backlog = undefined;
    for (const one of waited) this.#write(one);
  }
}
