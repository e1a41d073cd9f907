// Messages that wait for their answers, over all connections of a link, and answers that came too late for whoever waited.
import type { Cvv } from '../../values/card.js';
import type { Received } from './received.js';

/** What an answer says, as far as anybody wants to know. */
export interface Response {
  readonly code: string;
  readonly authorisationCode: string | undefined;
  /** MMDD. */
  readonly settlementDay: string | undefined;
  /** In digits, as it stands there. */
  readonly amount: string | undefined;
}

/** What came of a message that was to be sent. */
export type Exchange =
  | { readonly kind: 'answered'; readonly response: Response }
  /** Certainly not one byte of it has left. */
  | { readonly kind: 'not_sent' }
  | { readonly kind: 'unknown'; readonly reason: 'timeout' | 'unreadable' };

export const NOT_SENT: Exchange = { kind: 'not_sent' };
const TIMEOUT: Exchange = { kind: 'unknown', reason: 'timeout' };
const UNREADABLE: Exchange = { kind: 'unknown', reason: 'unreadable' };

/** By which an answer is known, beside its type. */
export interface Trace {
  readonly stan: number;
  readonly terminal: string;
}

/** One that waits. These are used again and again: nothing young hangs in a table that is old. */
export class Waiting {
  key = 0;
  answerType = '';
  /** Where it was sent, or is about to be. */
  connection: unknown;
  /** Whether any byte of it may have left. */
  handedOver = false;
  /** Erased when it is handed over: until then another link may be asked with it. */
  cvv: Cvv | undefined;
  deadlineMs = 0;
  settle: ((exchange: Exchange) => void) | undefined;
}

interface Late {
  readonly answerType: string;
  readonly untilMs: number;
  response: Response | undefined;
}

const STANS = 1_000_000;
/** So long an answer that comes late is still waited for. A reversal has begun by then, as a rule. */
const LATE_WITHIN_MS = 60_000;
const MOST_LATE = 10_000;

export class Outstanding {
  readonly #waiting = new Map<number, Waiting>();
  readonly #late = new Map<number, Late>();
  readonly #terminals = new Map<string, number>();
  readonly #free: Waiting[] = [];

  get size(): number {
    return this.#waiting.size;
  }

  /** A second one with the same numbers takes the place of the first, which has been given up by then. */
  add({ stan, terminal }: Trace, answerType: string, connection: unknown, deadlineMs: number): Waiting {
    const key = this.#key(stan, terminal);
    this.#late.delete(key);
    const before = this.#waiting.get(key);
    if (before !== undefined) this.#settle(before, UNREADABLE, before.handedOver);
    const waiting = this.#free.pop() ?? new Waiting();
    waiting.key = key;
    waiting.answerType = answerType;
    waiting.connection = connection;
    waiting.handedOver = false;
    waiting.deadlineMs = deadlineMs;
    this.#waiting.set(key, waiting);
    return waiting;
  }

  /** False where nobody waits for it: it came twice, or is not about anything of ours. */
  answered(received: Received): boolean {
    const [stan, terminal] = [received.text(11), received.text(41)];
    const number = terminal === undefined ? undefined : this.#terminals.get(terminal);
    if (stan === undefined || number === undefined) return false;
    const key = number * STANS + Number(stan);
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      // What is still here cannot have been answered; a repetition that is, will be answered once more.
      if (!waiting.handedOver || waiting.answerType !== received.type) return false;
      const response = responseOf(received);
      if (response === undefined) return false;
      this.#settle(waiting, { kind: 'answered', response });
      return true;
    }
    const late = this.#late.get(key);
    if (late === undefined || late.answerType !== received.type || late.response !== undefined) return false;
    late.response = responseOf(received);
    return late.response !== undefined;
  }

  /** Takes the answer that came too late, if there is one. */
  takeLate({ stan, terminal }: Trace): Response | undefined {
    const key = this.#key(stan, terminal);
    const response = this.#late.get(key)?.response;
    if (response !== undefined) this.#late.delete(key);
    return response;
  }

  /** Whatever still comes for it is ignored, and what has not been handed over yet is taken back: nothing of it leaves any more. */
  forget({ stan, terminal }: Trace, takeBack: (waiting: Waiting) => void): void {
    const key = this.#key(stan, terminal);
    this.#late.delete(key);
    const waiting = this.#waiting.get(key);
    if (waiting === undefined || waiting.handedOver) return;
    takeBack(waiting);
    this.#settle(waiting, NOT_SENT);
  }

  /** Settles what was not answered in time. What has not even been handed over is taken back: it is not sent. */
  expire(nowMs: number, takeBack: (waiting: Waiting) => void): void {
    for (const waiting of this.#waiting.values()) {
      // In the order in which they were sent, all with the same deadline.
      if (waiting.deadlineMs > nowMs) break;
      if (waiting.handedOver) {
        this.#rememberAsLate(waiting, nowMs);
        this.#settle(waiting, TIMEOUT);
      } else {
        takeBack(waiting);
        this.#settle(waiting, NOT_SENT);
      }
    }
    for (const [key, { untilMs }] of this.#late) {
      if (untilMs > nowMs && this.#late.size <= MOST_LATE) break;
      this.#late.delete(key);
    }
  }

  /** It could not even be written. */
  unwritable(waiting: Waiting): void {
    this.#settle(waiting, NOT_SENT);
  }

  /** The connection is gone, and with it every answer that should have come over it. */
  lost(connection: unknown, nowMs: number): void {
    for (const waiting of this.#waiting.values()) {
      if (waiting.connection !== connection) continue;
      if (waiting.handedOver) this.#rememberAsLate(waiting, nowMs);
      this.#settle(waiting, waiting.handedOver ? UNREADABLE : NOT_SENT);
    }
  }

  #rememberAsLate({ key, answerType }: Waiting, nowMs: number): void {
    this.#late.set(key, { answerType, untilMs: nowMs + LATE_WITHIN_MS, response: undefined });
  }

  /** `letGo`: nothing else knows it any more. What is still to be handed over must not be mistaken for another. */
  #settle(waiting: Waiting, exchange: Exchange, letGo = true): void {
    const { settle } = waiting;
    this.#waiting.delete(waiting.key);
    waiting.settle = undefined;
    waiting.connection = undefined;
    waiting.cvv = undefined;
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

/** Undefined without a response code: such an answer says nothing. */
function responseOf(received: Received): Response | undefined {
  const code = received.text(39);
  if (code === undefined || code.length !== 2) return undefined;
  return {
    code,
    authorisationCode: received.text(38),
    settlementDay: received.text(15),
    amount: received.text(4),
  };
}
