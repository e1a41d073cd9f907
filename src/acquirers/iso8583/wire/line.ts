// The connections of a link, restored without end, and the exchange of messages over those that are signed on.
import type { Cvv } from '../../../values/card.js';
import type { LinkDown } from '../../contract.js';
import type { Dialect } from '../dialects/dialect.js';
import type { Macs } from '../mac-keys.js';
import { Codec, Message } from './codec.js';
import { Connection, type ConnectionParts, type Host, type Timings, type TraceLine } from './connection.js';
import {
  type Exchange,
  NOT_SENT,
  Outstanding,
  type Response,
  type Trace,
  type UnexpectedAnswer,
  type Waiting,
} from './outstanding.js';

/** Events of one connection: lost once, back once. */
export type ConnectionEvent =
  | { readonly kind: 'lost'; readonly connection: number; readonly reason: string }
  | { readonly kind: 'back'; readonly connection: number; readonly attempts: number };

/**
 * Events of the line: when no connection is left, when there is one again, at the first sign-on, and once a minute the number of answers
 * that nothing asked for.
 */
export type LineEvent =
  | { readonly kind: 'signed on'; readonly afterSeconds: number | undefined }
  | { readonly kind: 'down'; readonly reason: string }
  | { readonly kind: 'unasked answers'; readonly count: number };

export interface LineParts {
  readonly dialect: Dialect;
  readonly host: Host;
  readonly connections: number;
  readonly institution: string | undefined;
  readonly macs: Macs | undefined;
  /** For an answer. */
  readonly deadlineMs: number;
  readonly timings: Timings;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  readonly onConnectionEvent: (event: ConnectionEvent) => void;
  readonly onLineEvent?: ((event: LineEvent) => void) | undefined;
  readonly onTrace?: ((line: TraceLine) => void) | undefined;
}

export interface LineStatus {
  readonly connections: number;
  readonly signedOn: number;
  readonly down: LinkDown | undefined;
  /** How often a connection was lost since the start. */
  readonly lost: number;
  /** Messages without an answer yet. */
  readonly outstanding: number;
  /** Answers that nothing asked for, since the start. */
  readonly unasked: number;
}

export interface ExchangeOptions {
  /** Erased as soon as it may have been sent. */
  readonly cvv?: Cvv | undefined;
  /** Called right before the first byte is sent. */
  readonly maySend?: (() => boolean) | undefined;
  /** An earlier message: this one goes over the same connection while that is open. */
  readonly after?: Trace | undefined;
}

const CHECK_EVERY_MS = 50;
const CLOSE_CHECK_EVERY_MS = 5;
const TELL_UNASKED_EVERY_MS = 60_000;
/** A connection that has lasted for so long makes up for earlier ones that the host has flooded. */
const FORGIVEN_AFTER_MS = 60_000;

export class Line {
  /** Called for each answer that nobody waits for. */
  onUnexpected: (answer: UnexpectedAnswer) => void = () => {};
  readonly #codec: Codec;
  readonly #outstanding = new Outstanding();
  readonly #message = new Message();
  #connections: (Connection | undefined)[] = [];
  #opened: AbortController | undefined;
  #checking: NodeJS.Timeout | undefined;
  #turn = 0;
  #lost = 0;
  #unasked = 0;
  #untoldUnasked = 0;
  #tellUnaskedAtMs = 0;
  #down: { readonly sinceMs: number; readonly reason: string } | undefined;

  constructor(private readonly parts: LineParts) {
    this.#codec = new Codec(parts.dialect);
  }

  get status(): LineStatus {
    const down = this.#down && {
      since: new Date(this.#down.sinceMs).toISOString(),
      reason: this.#down.reason,
    };
    return {
      connections: this.parts.connections,
      down,
      signedOn: this.#connections.filter((connection) => connection?.signedOn).length,
      lost: this.#lost,
      outstanding: this.#outstanding.size,
      unasked: this.#unasked,
    };
  }

  /** Returns when the first connection is signed on; throws, and stops trying, if none could sign on. */
  async open(): Promise<void> {
    await this.close();
    const opened = new AbortController();
    this.#opened = opened;
    this.#connections = new Array(this.parts.connections).fill(undefined);
    this.#checking = setInterval(() => this.#expire(), CHECK_EVERY_MS);
    const first = this.#connections.map((_, place) => this.#connect(place));
    try {
      await Promise.any(first);
      if (opened.signal.aborted) throw new Error('closed while opening');
    } catch (error) {
      const [reason = error] = error instanceof AggregateError ? (error.errors as Error[]) : [];
      this.#isDown((reason as Error).message);
      await this.close();
      throw reason;
    }
    this.#down = undefined;
    this.parts.onLineEvent?.({ kind: 'signed on', afterSeconds: undefined });
    for (const [place, attempt] of first.entries()) void this.#keep(place, attempt, opened.signal);
  }

  /** Accepts no more messages, waits for the answers to those sent, signs off and closes. May be called while the line is opening. */
  async close(): Promise<void> {
    const opened = this.#opened;
    opened?.abort();
    this.#opened = undefined;
    await this.#answered();
    // The line was opened again in the meantime, and has new connections.
    if (this.#opened !== undefined) return;
    clearInterval(this.#checking);
    await Promise.all(this.#connections.splice(0).map((connection) => connection?.leave()));
  }

  /** Resolves when all messages are answered, or past their deadline. */
  #answered(): Promise<void> {
    if (this.#outstanding.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const checking = setInterval(() => {
        if (this.#outstanding.size > 0) return;
        clearInterval(checking);
        resolve();
      }, CLOSE_CHECK_EVERY_MS);
    });
  }

  /** Sends once over a signed-on connection, and waits for the answer. `fill` composes the message. */
  exchange(
    trace: Trace,
    answerType: string,
    fill: (message: Message) => void,
    { cvv, maySend, after }: ExchangeOptions = {},
  ): Promise<Exchange> {
    // guard(ISO 8583: a reversal goes over the connection of its payment): this.#connectionAfter(after ⇒ (void after, void this.#connectionAfter
    const connection = this.#connectionAfter(after) ?? this.#signedOn();
    if (connection === undefined) return Promise.resolve(NOT_SENT);
    const message = this.#message.clear();
    return new Promise((resolve) => {
      const deadlineMs = performance.now() + this.parts.deadlineMs;
      const waiting = this.#outstanding.add(trace, answerType, connection, deadlineMs);
      waiting.settle = resolve;
      waiting.cvv = cvv;
      waiting.maySend = maySend;
      try {
        fill(message);
        connection.send(message, waiting);
      } catch {
        // The message cannot be written, so no byte of it was sent.
        this.#outstanding.notSent(waiting);
      } finally {
        message.clear();
      }
    });
  }

  /** The answer to a message that was given up, if it has arrived since. */
  takeLate(trace: Trace): Response | undefined {
    return this.#outstanding.takeLate(trace);
  }

  /** A later answer decides nothing, and nothing more of the message is sent. */
  giveUp(trace: Trace): void {
    this.#outstanding.giveUp(trace, performance.now(), takeBack);
  }

  /** A host reads a connection in order, so a message on the same connection cannot overtake an earlier one. */
  #connectionAfter(trace: Trace | undefined): Connection | undefined {
    if (trace === undefined || this.#opened === undefined) return undefined;
    const connection = this.#outstanding.connectionOf(trace) as Connection | undefined;
    return connection?.signedOn ? connection : undefined;
  }

  /** Takes connections in turns, batch by batch: messages sent at the same time go together. */
  #signedOn(): Connection | undefined {
    if (this.#opened === undefined) return undefined;
    const last = this.#connections[this.#turn];
    if (last?.isFilling && last.signedOn) return last;
    const count = this.#connections.length;
    for (let step = 1; step <= count; step += 1) {
      const connection = this.#connections[(this.#turn + step) % count];
      if (connection?.signedOn !== true) continue;
      this.#turn = (this.#turn + step) % count;
      return connection;
    }
    return undefined;
  }

  async #connect(place: number): Promise<Connection> {
    const connection = new Connection(this.#parts());
    this.#connections[place] = connection;
    void connection.closed.then(() => this.#outstanding.lost(connection, performance.now()));
    await connection.open();
    return connection;
  }

  #parts(): ConnectionParts {
    const { dialect, host, timings, institution, macs, onTrace } = this.parts;
    const onAnswer: ConnectionParts['onAnswer'] = (received) => {
      const askedBefore = this.#outstanding.asked;
      const unexpected = this.#outstanding.answered(received);
      if (unexpected !== undefined) this.onUnexpected(unexpected);
      const asked = this.#outstanding.asked > askedBefore;
      if (!asked) {
        this.#unasked += 1;
        this.#untoldUnasked += 1;
      }
      return asked;
    };
    const onWithheld = (waiting: Waiting) => this.#outstanding.notSent(waiting);
    return { dialect, codec: this.#codec, host, timings, institution, macs, onAnswer, onWithheld, onTrace };
  }

  /** Restores a connection whenever it is lost. */
  async #keep(place: number, first: Promise<Connection>, closing: AbortSignal): Promise<void> {
    let attempts = 0;
    let floods = 0;
    for (let attempt = first; ; attempt = this.#connect(place)) {
      attempts += 1;
      let reason: string;
      try {
        const connection = await attempt;
        if (closing.aborted) return connection.leave();
        if (attempts > 1) this.#back(place, attempts - 1);
        attempts = 0;
        const signedOnAtMs = performance.now();
        reason = await connection.closed;
        if (performance.now() - signedOnAtMs > FORGIVEN_AFTER_MS) floods = 0;
        if (connection.flooded) floods += 1;
      } catch (error) {
        reason = (error as Error).message;
      }
      if (closing.aborted) return;
      if (attempts <= 1) this.#missing(place, reason);
      else if (this.#down !== undefined) this.#isDown(reason);
      attempts = Math.max(1, attempts);
      await pause(this.#pauseMs(Math.max(attempts, floods)), closing);
      if (closing.aborted) return;
    }
  }

  #back(place: number, attempts: number): void {
    this.parts.onConnectionEvent({ kind: 'back', connection: place + 1, attempts });
    if (this.#down === undefined) return;
    const afterSeconds = Math.round((Date.now() - this.#down.sinceMs) / 1_000);
    this.#down = undefined;
    this.parts.onLineEvent?.({ kind: 'signed on', afterSeconds });
  }

  #missing(place: number, reason: string): void {
    this.#lost += 1;
    this.parts.onConnectionEvent({ kind: 'lost', connection: place + 1, reason });
    if (this.#down !== undefined || this.status.signedOn > 0) return;
    this.#isDown(reason);
    this.parts.onLineEvent?.({ kind: 'down', reason });
  }

  #isDown(reason: string): void {
    this.#down = { sinceMs: this.#down?.sinceMs ?? Date.now(), reason };
  }

  /** Grows, with jitter: not all processes reconnect to a recovered host at once. */
  #pauseMs(attempts: number): number {
    const { firstPauseMs, longestPauseMs } = this.parts;
    const most = Math.min(firstPauseMs * 2 ** Math.min(attempts, 20), longestPauseMs);
    return most * (0.5 + Math.random() / 2);
  }

  #expire(): void {
    const nowMs = performance.now();
    this.#outstanding.expire(nowMs, takeBack);
    if (this.#untoldUnasked === 0 || nowMs < this.#tellUnaskedAtMs) return;
    this.#tellUnaskedAtMs = nowMs + TELL_UNASKED_EVERY_MS;
    this.parts.onLineEvent?.({ kind: 'unasked answers', count: this.#untoldUnasked });
    this.#untoldUnasked = 0;
  }
}

function takeBack(waiting: Waiting): void {
  (waiting.connection as Connection).takeBack(waiting);
}

function pause(ms: number, closing: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      closing.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    closing.addEventListener('abort', over);
  });
}
