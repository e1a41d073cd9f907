// One connection of a gateway to the host: cuts the input into messages, and can spoil the output.
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  approvalsOfStrangers,
  type Spelling,
  spell,
  stray,
  withUnknownField,
  withWrongMac,
} from './answers.js';
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
  /** How long a connection stands still with a message that stalls it. */
  stallMs: number;
}

export interface ConnectionOptions {
  readonly spelling: Spelling;
  readonly timing: Timing;
  /** Throws `Unreadable` where it is none. */
  onMessage(connection: Connection, bytes: Buffer): void;
  /** After everything that came together: what was decided is written down before anything of it is answered. */
  onRead(): void;
  /** Other payments that came in lately, over whichever connection. */
  others(answer: Message): readonly Message[];
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
  /** What has to wait while an answer is written byte by byte, or while answers stand still. */
  #backlog: Buffer[] = [];
  #writesBlocked = 0;
  /** Each ends a stall. */
  readonly #stalledReads = new Set<() => void>();
  readonly #stalledAnswers = new Set<() => void>();
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

  get isStalled(): boolean {
    return this.#stalledReads.size + this.#stalledAnswers.size > 0;
  }

  /** Nothing is read until the time is over. Then it is read in order, behind what has stalled it. */
  stallReads(ms: number | undefined, first: () => void = () => {}): void {
    this.socket.pause();
    forSoLong(this.#stalledReads, ms, () => {
      first();
      if (this.#stalledReads.size > 0) return;
      this.#receive(Buffer.alloc(0));
      if (this.#stalledReads.size === 0) this.socket.resume();
    });
  }

  /** Nothing is written until the time is over. */
  stallAnswers(ms: number | undefined): void {
    this.#writesBlocked += 1;
    forSoLong(this.#stalledAnswers, ms, () => this.#unblockWrites());
  }

  /** Ends its stalls. */
  goOn(): void {
    for (const end of [...this.#stalledReads, ...this.#stalledAnswers]) end();
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
        if (this.socket.destroyed || this.#stalledReads.size > 0) break;
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
      case 'answered again later':
        this.#write(frame);
        setTimeout(() => this.#write(frame), timing.lateMs);
        return;
      case 'stray approvals':
      case 'answers for others':
        for (const lie of approvalsOfStrangers(message, this.options.others(message), fault)) {
          this.#write(frameOf(spell(spelling, lie)));
        }
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
    if (this.#writesBlocked === 0) this.socket.write(frame);
    else this.#backlog.push(frame);
  }

  #unblockWrites(): void {
    this.#writesBlocked -= 1;
    if (this.#writesBlocked === 0) for (const frame of this.#backlog.splice(0)) this.#write(frame);
  }

  async #writeByteByByte(frame: Buffer): Promise<void> {
    if (this.#writesBlocked > 0) {
      this.#backlog.push(frame);
      return;
    }
    this.#writesBlocked += 1;
    for (const byte of frame) {
      if (this.socket.writable) this.socket.write(Buffer.from([byte]));
      await nextTurn();
    }
    this.#unblockWrites();
  }
}

/** Calls `then` once: after so long, or when what it has put into the set is called. */
function forSoLong(under: Set<() => void>, ms: number | undefined, then: () => void): void {
  const end = () => {
    clearTimeout(timer);
    if (under.delete(end)) then();
  };
  const timer = ms === undefined ? undefined : setTimeout(end, ms);
  under.add(end);
}
