// Messages without an answer yet, over all connections of a link, and answers that came too late.
import type { Cvv } from '../../../values/card.js';
import type { Received } from './codec.js';

/** The fields of an answer that are used. */
export interface Response {
  readonly code: string;
  readonly authorisationCode: string | undefined;
  /** MMDD. */
  readonly settlementDay: string | undefined;
  /** As received. */
  readonly privateData?: string | undefined;
  /** Digits, as received. */
  readonly amount: string | undefined;
}

/** The outcome of a message. */
export type Exchange =
  | { readonly kind: 'answered'; readonly response: Response }
  /** Certainly no byte of it was sent. */
  | { readonly kind: 'not_sent' }
  | { readonly kind: 'unknown'; readonly reason: 'timeout' | 'unreadable' };

export const NOT_SENT: Exchange = { kind: 'not_sent' };
const TIMEOUT: Exchange = { kind: 'unknown', reason: 'timeout' };
const UNREADABLE: Exchange = { kind: 'unknown', reason: 'unreadable' };

/** Identifies an answer, together with its type. */
export interface Trace {
  readonly stan: number;
  readonly terminal: string;
  /** An answer with another reference is about something else. */
  readonly retrievalReference?: string | undefined;
}

/** A message without an answer yet. Objects are reused: new objects in an old table would burden the garbage collector. */
export class Waiting {
  key = 0;
  answerType = '';
  retrievalReference: string | undefined;
  /** The connection that sent it, or is about to. */
  connection: unknown;
  /** Whether any byte of it may have been sent. */
  handedOver = false;
  /** Erased when the message is handed over: until then another link may use it. */
  cvv: Cvv | undefined;
  /** Called when the message is handed over. If false, the message is not sent. */
  maySend: (() => boolean) | undefined;
  deadlineMs = 0;
  settle: ((exchange: Exchange) => void) | undefined;
}

interface Late {
  readonly answerType: string;
  readonly untilMs: number;
  /** The connection that sent it. */
  readonly connection: unknown;
  response: Response | undefined;
  /** Whether an answer has come. A second one is not asked for. */
  answered: boolean;
  /** A reversal has begun: the answer decides nothing any more. */
  reversing: boolean;
}

export interface LateAnswer extends Trace {
  readonly response: Response;
}

/** An answer that nobody waits for: late, sent twice, or not about our messages. */
export interface UnexpectedAnswer extends LateAnswer {
  readonly type: string;
}

const STANS = 1_000_000;
/** How long a late answer, and its connection, are still recognised. A reversal has usually begun by then. */
const LATE_WITHIN_MS = 60_000;
const MOST_LATE = 10_000;

export class Outstanding {
  readonly #waiting = new Map<number, Waiting>();
  readonly #late = new Map<number, Late>();
  readonly #terminals = new Map<string, number>();
  readonly #free: Waiting[] = [];
  /** Answers to messages that were sent, in time or late. All others are unasked for. */
  asked = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** A second message with the same numbers replaces the first, which was given up by then. */
  add(
    { stan, terminal, retrievalReference }: Trace,
    answerType: string,
    connection: unknown,
    deadlineMs: number,
  ): Waiting {
    const key = this.#key(stan, terminal);
    this.#late.delete(key);
    const before = this.#waiting.get(key);
    // guard(ISO 8583: what is still to be handed over is not mistaken for another): , before.handedOver ⇒
    if (before !== undefined) this.#settle(before, UNREADABLE, before.handedOver);
    const waiting = this.#free.pop() ?? new Waiting();
    waiting.key = key;
    waiting.answerType = answerType;
    waiting.retrievalReference = retrievalReference;
    waiting.connection = connection;
    waiting.handedOver = false;
    waiting.deadlineMs = deadlineMs;
    this.#waiting.set(key, waiting);
    return waiting;
  }

  /** Returns the answer if nobody waits for it. An answer without the needed fields is ignored. */
  answered(received: Received): UnexpectedAnswer | undefined {
    const [stan, terminal, response] = [received.text(11), received.text(41), responseOf(received)];
    if (stan === undefined || terminal === undefined || response === undefined) return undefined;
    const { type } = received;
    const retrievalReference = received.text(37);
    const number = this.#terminals.get(terminal);
    const key = number === undefined ? undefined : number * STANS + Number(stan);
    const waiting = key === undefined ? undefined : this.#waiting.get(key);
    // A message that is still here cannot have been answered. A repetition still here will be answered again.
    // guard(ISO 8583: what has not left cannot have been answered): handedOver && waiting. ⇒
    // guard(ISO 8583: an answer is known by its type too): waiting.answerType === type && ⇒
    if (waiting?.handedOver && waiting.answerType === type && isAbout(retrievalReference, waiting)) {
      this.asked += 1;
      this.#settle(waiting, { kind: 'answered', response });
      return undefined;
    }
    const late = key === undefined || waiting !== undefined ? undefined : this.#late.get(key);
    if (late?.answerType === type) {
      if (!late.answered) this.asked += 1;
      late.answered = true;
      if (!late.reversing) late.response ??= response;
    }
    return { type, stan: Number(stan), terminal, retrievalReference, response };
  }

  /** Takes the late answer, if there is one. */
  takeLate({ stan, terminal }: Trace): Response | undefined {
    const key = this.#key(stan, terminal);
    const response = this.#late.get(key)?.response;
    if (response !== undefined) this.#late.delete(key);
    return response;
  }

  /** The connection that sent a message which nobody waits for any more. */
  connectionOf({ stan, terminal }: Trace): unknown {
    return this.#late.get(this.#key(stan, terminal))?.connection;
  }

  /** A later answer decides nothing. A message that was not handed over yet is withdrawn, and never sent. */
  giveUp({ stan, terminal }: Trace, nowMs: number, takeBack: (waiting: Waiting) => void): void {
    const key = this.#key(stan, terminal);
    const waiting = this.#waiting.get(key);
    if (waiting?.handedOver) {
      this.#rememberAsLate(waiting, nowMs);
      this.#settle(waiting, TIMEOUT);
    } else if (waiting !== undefined) {
      // guard(ISO 8583: what is reversed before it was sent is not sent any more): takeBack(waiting); ⇒
      takeBack(waiting);
      this.#settle(waiting, NOT_SENT);
    }
    const late = this.#late.get(key);
    if (late === undefined) return;
    late.response = undefined;
    late.reversing = true;
  }

  /** Ends messages that were not answered in time. A message that was not even handed over is withdrawn, and not sent. */
  expire(nowMs: number, takeBack: (waiting: Waiting) => void): void {
    for (const waiting of this.#waiting.values()) {
      // In the order of sending, all with the same deadline.
      if (waiting.deadlineMs > nowMs) break;
      if (waiting.handedOver) {
        this.#rememberAsLate(waiting, nowMs);
        this.#settle(waiting, TIMEOUT);
      } else {
        // guard(ISO 8583: what is not sent is taken back): takeBack(waiting); ⇒
        takeBack(waiting);
        this.#settle(waiting, NOT_SENT);
      }
    }
    for (const [key, { untilMs }] of this.#late) {
      if (untilMs > nowMs && this.#late.size <= MOST_LATE) break;
      this.#late.delete(key);
    }
  }

  /** The message could not be written, or must not be sent any more. */
  notSent(waiting: Waiting): void {
    this.#settle(waiting, NOT_SENT);
  }

  /** The connection is lost, with every answer that should have come over it. */
  lost(connection: unknown, nowMs: number): void {
    for (const waiting of this.#waiting.values()) {
      if (waiting.connection !== connection) continue;
      if (waiting.handedOver) this.#rememberAsLate(waiting, nowMs);
      this.#settle(waiting, waiting.handedOver ? UNREADABLE : NOT_SENT);
    }
  }

  #rememberAsLate({ key, answerType, connection }: Waiting, nowMs: number): void {
    const untilMs = nowMs + LATE_WITHIN_MS;
    this.#late.set(key, {
      answerType,
      untilMs,
      connection,
      response: undefined,
      answered: false,
      reversing: false,
    });
  }

  /** `letGo`: nothing else refers to the object. An object still in an outbox must not be reused for another message. */
  #settle(waiting: Waiting, exchange: Exchange, letGo = true): void {
    const { settle } = waiting;
    this.#waiting.delete(waiting.key);
    waiting.settle = undefined;
    waiting.connection = undefined;
    waiting.cvv = undefined;
    waiting.maySend = undefined;
    if (letGo) this.#free.push(waiting);
    settle?.(exchange);
  }

  #key(stan: number, terminal: string): number {
    let number = this.#terminals.get(terminal);
    if (number === undefined) {
      number = this.#terminals.size;
      this.#terminals.set(terminal, number);
    }
    return number * STANS + stan;
  }
}

/** A host may omit the reference. */
function isAbout(named: string | undefined, { retrievalReference: sent }: Waiting): boolean {
  // guard(ISO 8583: an answer that names another retrieval reference is not believed): === undefined || sent === undefined || named === sent ⇒ !== null
  return named === undefined || sent === undefined || named === sent;
}

/** Undefined without a response code: such an answer says nothing. */
function responseOf(received: Received): Response | undefined {
  const code = received.text(39);
  if (code === undefined || code.length !== 2) return undefined;
  return {
    code,
    authorisationCode: received.text(38),
    settlementDay: received.text(15),
    privateData: received.text(48),
    amount: received.text(4),
  };
}
