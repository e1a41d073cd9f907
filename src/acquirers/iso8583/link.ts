// The link to an acquirer that speaks ISO 8583, in whatever dialect: orders become messages, and answers become decisions.
import type { CardDetails } from '../../values/card.js';
import type { Mode } from '../../values/mode.js';
import type {
  AcquirerLink,
  Answer,
  Finding,
  LinkStatus,
  Order,
  Prepared,
  Reversal,
  StoredOrder,
} from '../contract.js';
import { type Alarm, Alarms } from './alarms.js';
import {
  cardOf,
  composePayment,
  composeReversal,
  type Original,
  originalOf,
  paidWith,
} from './composition.js';
import type { Dialect } from './dialect.js';
import type { Line } from './line.js';
import type { Message } from './message.js';
import { isStale, type Numbers, originalData, typeOf, typesOf } from './numbers.js';
import type { Exchange, Response } from './outstanding.js';
import { Preparation, type PreparationParts } from './preparation.js';
import type { Begun, Reversals } from './reversals.js';
import { Verdicts } from './verdicts.js';

export interface Iso8583Parts extends PreparationParts {
  readonly name: string;
  readonly mode: Mode;
  /** Of the settings that it is made from. */
  readonly version: number;
  readonly dialect: Dialect;
  readonly line: Line;
  readonly reversals: Reversals;
  readonly onAlarm: (alarm: Alarm) => void;
}

type Direct = Extract<Order, { readonly method: unknown }>;
type OnTarget = Exclude<Order, Direct>;
type Advice = Extract<Order, { readonly operation: 'completion' | 'void' }>;

const NOT_SENT: Answer = { kind: 'not_sent' };
const UNREADABLE: Answer = { kind: 'unknown', reason: 'unreadable' };
const NO_ANSWER: Finding = { kind: 'no_answer' };
/** To an order that arrives after its own reversal. */
const INVALID = '12';

export class Iso8583Link implements AcquirerLink {
  readonly name: string;
  readonly mode: Mode;
  /** A refund names the card again. */
  readonly needsCard = true;
  readonly #parts: Iso8583Parts;
  readonly #verdicts: Verdicts;
  readonly #preparation: Preparation;
  readonly #alarms: Alarms;

  constructor(parts: Iso8583Parts) {
    this.name = parts.name;
    this.mode = parts.mode;
    this.#parts = parts;
    this.#verdicts = new Verdicts(parts.dialect);
    this.#preparation = new Preparation(parts);
    this.#alarms = new Alarms(parts.onAlarm);
  }

  get status(): LinkStatus {
    const { line, version } = this.#parts;
    const { connections, signedOn, down } = line.status;
    return { connections, signedOn, down, version };
  }

  open(): Promise<void> {
    return this.#parts.line.open();
  }

  close(): Promise<void> {
    return this.#parts.line.close();
  }

  prepare(order: Order): Prepared | Promise<Prepared> {
    return this.#preparation.prepare(order);
  }

  ask(order: Order, prepared: Prepared): Promise<Answer> {
    const numbers = prepared as Numbers;
    if (isStale(numbers)) return Promise.resolve(NOT_SENT);
    switch (order.operation) {
      case 'completion':
      case 'void':
        return this.#askAdvice(order, numbers);
      case 'refund':
        return this.#askRefund(order, numbers);
      default:
        return this.#pay(order, numbers);
    }
  }

  async #pay(order: Direct, numbers: Numbers): Promise<Answer> {
    const exchange = await this.#sendPayment(order, paidWith(order), numbers);
    return this.#answerOf(exchange, order, numbers);
  }

  async #askRefund(
    order: Extract<Order, { readonly operation: 'refund' }>,
    numbers: Numbers,
  ): Promise<Answer> {
    const opened = await this.#openTarget(order);
    // To open it may have taken long.
    if (opened === undefined || isStale(numbers)) return NOT_SENT;
    const exchange = await this.#sendPayment(order, opened.card, numbers, opened.original);
    return this.#answerOf(exchange, order, numbers);
  }

  #sendPayment(
    order: Direct | OnTarget,
    card: CardDetails,
    numbers: Numbers,
    original?: Original,
    repeated = false,
  ): Promise<Exchange> {
    const { line, dialect } = this.#parts;
    const types = typesOf(order.operation, dialect);
    const type = repeated ? dialect.types.completion.repeat : types.sent;
    const compose = (message: Message) =>
      composePayment(message, dialect, type, order, card, numbers, original);
    return erasing(order, card, line.exchange(numbers, types.answer, compose, card.cvv));
  }

  async #answerOf(exchange: Exchange, order: Order, numbers: Numbers): Promise<Answer> {
    if (exchange.kind !== 'answered') return exchange;
    const { response } = exchange;
    if (this.#verdicts.isDuplicate(response)) this.#alarms.duplicate(numbers);
    const verdict = this.#verdicts.of(response, order, numbers);
    if (verdict.kind === 'decided') return verdict.decision;
    if (verdict.kind === 'unreadable') return UNREADABLE;
    const reversed = await this.#reverse(order, numbers, response).catch(() => 'no_answer' as const);
    // The next inquiry repeats the reversal, and says then what is said here.
    return reversed === 'reversed' ? verdict.decision : UNREADABLE;
  }

  /** Once a completion or a void was taken back, it is not sent any more. */
  async #askAdvice(order: Advice, numbers: Numbers): Promise<Answer> {
    const begun = await this.#parts.reversals.find(order).catch(() => undefined);
    if (begun !== undefined) return this.#verdicts.declinedWith(INVALID);
    const opened = await this.#openTarget(order);
    if (opened === undefined) return NOT_SENT;
    const exchange = await this.#sendAdvice(order, opened, numbers, false);
    if (exchange.kind !== 'answered') return exchange;
    const finding = await this.#acknowledged(order, exchange.response, numbers).catch(() => NO_ANSWER);
    // Whatever has to be repeated or reversed is left to inquiries.
    return finding.kind === 'no_answer' || finding.kind === 'not_seen' ? UNREADABLE : finding;
  }

  /** A void is sent as a reversal of its target, a completion as a payment that says what it completes. */
  #sendAdvice(
    order: Advice,
    { card, original }: Opened,
    numbers: Numbers,
    repeated: boolean,
  ): Promise<Exchange> {
    if (order.operation === 'completion') return this.#sendPayment(order, card, numbers, original, repeated);
    return this.#sendReversal(order, card, numbers, original, repeated);
  }

  #sendReversal(
    order: Order | StoredOrder,
    card: CardDetails,
    numbers: Numbers,
    original: Original,
    repeated: boolean,
  ): Promise<Exchange> {
    const { line, dialect } = this.#parts;
    const { sent, repeat, answer } = dialect.types.reversal;
    const compose = (message: Message) =>
      composeReversal(message, dialect, repeated ? repeat : sent, order, card, numbers, original);
    return erasing(order, card, line.exchange(numbers, answer, compose));
  }

  /** Every code but those that ask for a repetition acknowledges an advice, and nothing is repeated after it. */
  async #acknowledged(order: Advice, response: Response, numbers: Numbers): Promise<Finding> {
    if (this.#verdicts.isToRepeat(response)) return NO_ANSWER;
    if (order.operation === 'void') return this.#verdicts.ofVoid(response, order, numbers);
    if (this.#verdicts.isDuplicate(response)) this.#alarms.duplicate(numbers);
    const verdict = this.#verdicts.of(response, order, numbers);
    switch (verdict.kind) {
      case 'decided':
        return verdict.decision;
      case 'partial':
        return this.#reversedFor(order, numbers, response);
      case 'unreadable':
        // It was done for another amount, for certain. To repeat it would change nothing.
        return { kind: 'not_seen' };
    }
  }

  /** There are no inquiries: the answer that came late, or not seen. Completions and voids are repeated instead. */
  async inquire(order: StoredOrder, prepared: Prepared): Promise<Finding> {
    const numbers = prepared as Numbers;
    if (order.operation === 'void') return this.#repeatAdvice(order, numbers);
    const { line, reversals } = this.#parts;
    const late = order.operation === 'completion' ? undefined : line.takeLate(numbers);
    if (late !== undefined) {
      const verdict = this.#verdicts.of(late, order, numbers);
      if (verdict.kind === 'decided') return verdict.decision;
      if (verdict.kind === 'partial') return this.#reversedFor(order, numbers, late);
    }
    const begun = await reversals.find(order);
    // A partial approval whose reversal was not acknowledged then.
    if (begun !== undefined && begun.responseCode !== null)
      return this.#reversedFor(order, numbers, {
        code: begun.responseCode,
        authorisationCode: begun.authorisationCode ?? undefined,
        settlementDay: undefined,
        amount: undefined,
      });
    if (begun === undefined && order.operation === 'completion') return this.#repeatAdvice(order, numbers);
    return { kind: 'not_seen' };
  }

  async #reversedFor(order: StoredOrder, numbers: Numbers, response: Response): Promise<Finding> {
    const reversed = await this.#reverse(order, numbers, response);
    return reversed === 'reversed' ? this.#verdicts.declinedWith(response.code) : NO_ANSWER;
  }

  async #repeatAdvice(order: Advice, numbers: Numbers): Promise<Finding> {
    const opened = await this.#openTarget(order);
    if (opened === undefined) return NO_ANSWER;
    const exchange = await this.#sendAdvice(order, opened, numbers, true);
    if (exchange.kind !== 'answered') return NO_ANSWER;
    if (order.operation === 'completion' && this.#verdicts.isDuplicate(exchange.response)) {
      // A duplicate of itself: the host has it, and does not say what it made of it. The money may have moved.
      this.#alarms.about('completion unclear', order, exchange.response);
      return NO_ANSWER;
    }
    return this.#acknowledged(order, exchange.response, numbers);
  }

  reverse(order: StoredOrder, prepared: Prepared): Promise<Reversal> {
    return this.#reverse(order, prepared as Numbers);
  }

  /** Stored before it is sent, so that whoever comes next repeats it as it was. */
  async #reverse(order: Order | StoredOrder, numbers: Numbers, partial?: Response): Promise<Reversal> {
    const { dialect, line, reversals } = this.#parts;
    line.forget(numbers);
    const card = await cardOf(order);
    const before = await reversals.find(order);
    const begun = before ?? (await this.#begin(order, numbers, partial));
    const original: Original = {
      data: originalData(typeOf(order.operation, dialect), numbers),
      operation: order.operation,
      authorisationCode: begun.authorisationCode ?? undefined,
    };
    const own = { ...numbers, stan: begun.stan };
    const exchange = await this.#sendReversal(order, card, own, original, before !== undefined);
    if (exchange.kind !== 'answered') return 'no_answer';
    if (!this.#verdicts.isReversed(exchange.response)) {
      if (!this.#verdicts.isToRepeat(exchange.response))
        this.#alarms.about('reversal refused', order, exchange.response);
      return 'no_answer';
    }
    await reversals.acknowledged(order);
    return 'reversed';
  }

  async #begin(order: Order | StoredOrder, { terminal }: Numbers, partial?: Response): Promise<Begun> {
    const { reversals, stans } = this.#parts;
    const stan = await stans.take(terminal);
    const { code: responseCode = null, authorisationCode = null } = partial ?? {};
    return reversals.begin(order, { stan, responseCode, authorisationCode });
  }

  /** Undefined where the database or a key is away: nothing was sent then. */
  async #openTarget(order: OnTarget): Promise<Opened | undefined> {
    try {
      const [target, card] = await Promise.all([order.target.read(), order.openCard()]);
      return { card, original: originalOf(target, this.#parts.dialect) };
    } catch {
      return undefined;
    }
  }
}

interface Opened {
  readonly card: CardDetails;
  readonly original: Original;
}

/** The message of the exchange is written by now: a card that was opened from its seal for it is not needed any more. */
function erasing<Result>(order: Order | StoredOrder, card: CardDetails, exchange: Result): Result {
  if ('openCard' in order) card.number.erase();
  return exchange;
}
