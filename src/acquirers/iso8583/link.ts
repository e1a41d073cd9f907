// A link to an acquirer that speaks a dialect of ISO 8583: turns orders into messages, and answers into decisions.
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
import {
  cardOf,
  composePayment,
  composeReversal,
  type Original,
  originalOf,
  paidWith,
} from './composition.js';
import type { Dialect } from './dialects/dialect.js';
import { LateApprovals } from './late-approvals.js';
import {
  type Acceptor,
  type Acceptors,
  type Numbers,
  originalData,
  retrievalReference,
  type Stans,
  typeOf,
  typesOf,
} from './numbers.js';
import type { Begun, Found, Reversals } from './reversals.js';
import { Verdicts } from './verdicts.js';
import type { Message } from './wire/codec.js';
import type { ExchangeOptions, Line } from './wire/line.js';
import type { Exchange, LateAnswer, Response } from './wire/outstanding.js';

interface Iso8583Parts {
  readonly institution: string | undefined;
  readonly acceptors: Acceptors;
  readonly stans: Stans;
  readonly name: string;
  readonly mode: Mode;
  /** The version of the link's settings. */
  readonly version: number;
  readonly dialect: Dialect;
  readonly line: Line;
  readonly reversals: Reversals;
  /** Called when an approval arrives for an order that was reversed: the resolver must reverse it again. */
  readonly onApprovedAfterReversal?: (() => void) | undefined;
  readonly onAlarm: (alarm: Alarm) => void;
}

type Direct = Extract<Order, { readonly method: unknown }>;
type OnTarget = Exclude<Order, Direct>;
type Advice = Extract<Order, { readonly operation: 'completion' | 'void' }>;

const NOT_SENT: Answer = { kind: 'not_sent' };
const UNREADABLE: Answer = { kind: 'unknown', reason: 'unreadable' };
const NO_ANSWER: Finding = { kind: 'no_answer' };
/** The answer for an order that arrives after its own reversal. */
const INVALID = '12';

export class Iso8583Link implements AcquirerLink {
  readonly name: string;
  readonly mode: Mode;
  /** A refund message contains the card number. */
  readonly needsCard = true;
  readonly #parts: Iso8583Parts;
  readonly #verdicts: Verdicts;
  readonly #preparation: Preparation;
  readonly #alarms: Alarms;
  readonly #lateApprovals: LateApprovals;

  constructor(parts: Iso8583Parts) {
    this.name = parts.name;
    this.mode = parts.mode;
    this.#parts = parts;
    this.#verdicts = new Verdicts(parts.dialect);
    this.#preparation = new Preparation(parts);
    this.#alarms = new Alarms(parts.onAlarm);
    this.#lateApprovals = new LateApprovals({
      reversals: parts.reversals,
      onReversed: () => parts.onApprovedAfterReversal?.(),
      onUnexplained: (count) => this.#alarms.unexplained(count),
    });
    const { financial, preauthorisation, completion } = parts.dialect.types;
    const answersToPayments = new Set([financial.answer, preauthorisation.answer, completion.answer]);
    parts.line.onUnexpected = (answer) => {
      // guard(ISO 8583: an approval after the reversal is reversed again): has(answer.type) ⇒ size < 0
      if (answersToPayments.has(answer.type)) this.#noteIfApproved(answer);
    };
  }

  get mostDeclines(): number | undefined {
    return this.#parts.dialect.mostDeclines;
  }

  get status(): LinkStatus {
    const { line, version } = this.#parts;
    const { connections, signedOn, down, unasked } = line.status;
    return { connections, signedOn, down, version, unasked };
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

  ask(order: Order, prepared: Prepared, maySend: () => boolean): Promise<Answer> {
    const numbers = prepared as Numbers;
    switch (order.operation) {
      case 'completion':
      case 'void':
        return this.#askAdvice(order, numbers, maySend);
      case 'refund':
        return this.#askRefund(order, numbers, maySend);
      default:
        return this.#pay(order, numbers, maySend);
    }
  }

  async #pay(order: Direct, numbers: Numbers, maySend: () => boolean): Promise<Answer> {
    const exchange = await this.#sendPayment(order, paidWith(order), numbers, { maySend });
    return this.#answerOf(exchange, order, numbers, maySend);
  }

  async #askRefund(
    order: Extract<Order, { readonly operation: 'refund' }>,
    numbers: Numbers,
    maySend: () => boolean,
  ): Promise<Answer> {
    const opened = await this.#openTarget(order);
    if (opened === undefined) return NOT_SENT;
    const { original } = opened;
    const exchange = await this.#sendPayment(order, opened.card, numbers, { maySend, original });
    return this.#answerOf(exchange, order, numbers, maySend);
  }

  #noteIfApproved(answer: LateAnswer): void {
    if (this.#verdicts.isApproval(answer.response)) this.#lateApprovals.note(answer);
  }

  #sendPayment(
    order: Direct | OnTarget,
    card: CardDetails,
    numbers: Numbers,
    { original, repeated = false, maySend }: Sending,
  ): Promise<Exchange> {
    const { line, dialect } = this.#parts;
    const types = typesOf(order.operation, dialect);
    const type = repeated ? dialect.types.completion.repeat : types.sent;
    const compose = (message: Message) =>
      composePayment(message, dialect, type, order, card, numbers, original);
    return erasing(order, card, line.exchange(numbers, types.answer, compose, { cvv: card.cvv, maySend }));
  }

  async #answerOf(
    exchange: Exchange,
    order: Order,
    numbers: Numbers,
    stillWaits: () => boolean,
  ): Promise<Answer> {
    if (exchange.kind !== 'answered') return exchange;
    const { response } = exchange;
    // Another process may have reversed the order in the meantime.
    if (!stillWaits()) this.#noteIfApproved({ ...numbers, response });
    if (this.#verdicts.isDuplicate(response)) this.#alarms.duplicate(numbers);
    const verdict = this.#verdicts.of(response, order, numbers);
    if (verdict.kind === 'decided') return verdict.decision;
    if (verdict.kind === 'unreadable') return UNREADABLE;
    const reversed = await this.#reverse(order, numbers, response).catch(() => 'no_answer' as const);
    // The next inquiry repeats the reversal, and then returns this decision.
    return reversed === 'reversed' ? verdict.decision : UNREADABLE;
  }

  /** A completion or void that was reversed is not sent any more. */
  async #askAdvice(order: Advice, numbers: Numbers, maySend: () => boolean): Promise<Answer> {
    const begun = await this.#parts.reversals.find(order).catch(() => undefined);
    if (begun !== undefined) return this.#verdicts.declinedWith(INVALID);
    const opened = await this.#openTarget(order);
    if (opened === undefined) return NOT_SENT;
    const exchange = await this.#sendAdvice(order, opened, numbers, { maySend });
    if (exchange.kind !== 'answered') return exchange;
    const finding = await this.#acknowledged(order, exchange.response, numbers).catch(() => NO_ANSWER);
    // Inquiries repeat or reverse it.
    return finding.kind === 'no_answer' || finding.kind === 'not_seen' ? UNREADABLE : finding;
  }

  /** A void is sent as a reversal of its target; a completion as a payment that names its preauthorisation. */
  #sendAdvice(
    order: Advice,
    { card, original }: Opened,
    numbers: Numbers,
    sending: Omit<Sending, 'original'>,
  ): Promise<Exchange> {
    if (order.operation === 'completion')
      return this.#sendPayment(order, card, numbers, { ...sending, original });
    return this.#sendReversal(order, card, numbers, { ...sending, original });
  }

  #sendReversal(
    order: Order | StoredOrder,
    card: CardDetails,
    numbers: Numbers,
    { original, repeated, maySend, after }: Sending & { readonly original: Original },
  ): Promise<Exchange> {
    const { line, dialect } = this.#parts;
    const { sent, repeat, answer } = dialect.types.reversal;
    const compose = (message: Message) =>
      composeReversal(message, dialect, repeated ? repeat : sent, order, card, numbers, original);
    return erasing(order, card, line.exchange(numbers, answer, compose, { maySend, after }));
  }

  /** Every code acknowledges an advice, except those that ask for a repetition. After that the advice is not repeated. */
  async #acknowledged(order: Advice, response: Response, numbers: Numbers): Promise<Finding> {
    if (this.#verdicts.isToRepeat(response)) return NO_ANSWER;
    if (order.operation === 'void') return this.#verdicts.ofVoid(response, order, numbers);
    if (this.#verdicts.isDuplicate(response)) this.#alarms.duplicate(numbers);
    const verdict = this.#verdicts.of(response, order, numbers);
    switch (verdict.kind) {
      case 'decided':
        return verdict.decision;
      case 'partial':
        // guard(ISO 8583: a completion approved in part is reversed): this.#reversedFor(order, numbers, response) ⇒ { kind: 'no_answer' }
        return this.#reversedFor(order, numbers, response);
      case 'unreadable':
        // The host used another amount for certain. Repeating would change nothing.
        return { kind: 'not_seen' };
    }
  }

  /** The host has no inquiries: the finding is a late answer, or `not_seen`. Completions and voids are repeated instead. */
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
    // A partial approval whose reversal has not been acknowledged.
    if (begun !== undefined && begun.responseCode !== null)
      return this.#reversedFor(order, numbers, {
        code: begun.responseCode,
        authorisationCode: begun.authorisationCode ?? undefined,
        settlementDay: undefined,
        amount: undefined,
      });
    // guard(ISO 8583: a completion that was taken back is not repeated): begun === undefined && ⇒
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
    const exchange = await this.#sendAdvice(order, opened, numbers, { repeated: true });
    if (exchange.kind !== 'answered') return NO_ANSWER;
    // guard(ISO 8583: a repetition that the host calls a duplicate is not declined): completion ⇒ void
    if (order.operation === 'completion' && this.#verdicts.isDuplicate(exchange.response)) {
      // A duplicate of itself: the host has the completion, and does not say what it did. The money may have moved.
      this.#alarms.about('completion unclear', order, exchange.response);
      return NO_ANSWER;
    }
    return this.#acknowledged(order, exchange.response, numbers);
  }

  reverse(order: StoredOrder, prepared: Prepared): Promise<Reversal> {
    return this.#reverse(order, prepared as Numbers);
  }

  /** Stores the reversal before sending it, so that any process can repeat exactly the same one. */
  async #reverse(order: Order | StoredOrder, numbers: Numbers, partial?: Response): Promise<Reversal> {
    const { dialect, line, reversals } = this.#parts;
    // guard(ISO 8583: an answer that comes after the reversal is ignored): line.giveUp(numbers); ⇒
    line.giveUp(numbers);
    const card = await cardOf(order);
    const before = await reversals.find(order);
    // guard(ISO 8583: a reversal is stored before it is sent): await this.#begin(order, numbers, partial) ⇒ { stan: await this.#parts.stans.take(numbers.terminal), responseCode: partial?.code ?? null, authorisationCode: null, isSent: false }; ⏎ void this.#begin
    const begun = isBegun(before) ? { ...before, isSent: true } : await this.#begin(order, numbers, partial);
    const original: Original = {
      data: originalData(typeOf(order.operation, dialect), numbers),
      operation: order.operation,
      authorisationCode: begun.authorisationCode ?? undefined,
    };
    const own = { ...numbers, stan: begun.stan };
    const exchange = await this.#sendReversal(order, card, own, {
      original,
      repeated: begun.isSent,
      after: numbers,
    });
    if (exchange.kind !== 'answered') return 'no_answer';
    const { response } = exchange;
    if (!this.#verdicts.isReversed(response)) {
      if (!this.#verdicts.isToRepeat(response)) this.#alarms.about('reversal refused', order, response);
      return 'no_answer';
    }
    const acknowledgement = { code: response.code, unseen: this.#verdicts.isUnseen(response) };
    return (await reversals.acknowledged(order, acknowledgement)) ? 'reversed' : 'no_answer';
  }

  /** If another process began the reversal at the same time, this process repeats that one. */
  async #begin(
    order: Order | StoredOrder,
    numbers: Numbers,
    partial?: Response,
  ): Promise<Begun & { readonly isSent: boolean }> {
    const { reversals, stans } = this.#parts;
    const stan = await stans.take(numbers.terminal);
    const { code: responseCode = null, authorisationCode = null } = partial ?? {};
    const begun = await reversals.begin(order, { stan, responseCode, authorisationCode }, numbers);
    // guard(ISO 8583: a reversal that two processes begin at once is sent as new by one of them): begun.stan !== stan ⇒ false
    return { ...begun, isSent: begun.stan !== stan };
  }

  /** Undefined if the database or a key is unavailable: nothing was sent. */
  async #openTarget(order: OnTarget): Promise<Opened | undefined> {
    try {
      const [target, card] = await Promise.all([order.target.read(), order.openCard()]);
      return { card, original: originalOf(target, this.#parts.dialect) };
    } catch {
      return undefined;
    }
  }
}

interface Sending extends Pick<ExchangeOptions, 'maySend' | 'after'> {
  /** The transaction that the message refers to. */
  readonly original?: Original | undefined;
  readonly repeated?: boolean | undefined;
}

interface Opened {
  readonly card: CardDetails;
  readonly original: Original;
}

/** Otherwise the next reversal is a new one. */
function isBegun(found: Found | undefined): found is Begun {
  return found !== undefined && found.stan !== null;
}

/** The message is written by now, so a card that was decrypted for it is erased. */
function erasing<Result>(order: Order | StoredOrder, card: CardDetails, exchange: Result): Result {
  if ('openCard' in order) card.number.erase();
  return exchange;
}

/** From the vault, or from whoever keeps it and says so. */
function isStored({ method, ...order }: Direct): boolean {
  if (method.kind === 'card' && method.stored) return true;
  const credential = 'credential' in order ? order.credential : undefined;
  return (
    credential !== undefined && (credential.sequence === 'subsequent' || credential.initiator === 'merchant')
  );
}

type Known = Pick<Numbers, 'terminal' | 'acceptor' | 'category' | 'stored'>;

/** Fixes an order's terminal, STAN, retrieval reference and time before the order is stored. */
class Preparation {
  #turn = 0;

  constructor(private readonly parts: Iso8583Parts) {}

  /** A promise only if something has to be read or leased first. */
  prepare(order: Order): Numbers | Promise<Numbers> {
    if ('target' in order) return this.#onTarget(order);
    const acceptor = this.parts.acceptors.of(order.organisationId, order.merchantId);
    return acceptor instanceof Promise
      ? acceptor.then((read) => this.#direct(order, read))
      : this.#direct(order, acceptor);
  }

  /** Uses the merchant's next terminal. */
  #direct(
    order: Direct,
    { acceptorId, terminals, categoryCode: category }: Acceptor,
  ): Numbers | Promise<Numbers> {
    this.#turn = (this.#turn + 1) % terminals.length;
    const terminal = terminals[this.#turn] as string;
    const stored = isStored(order) ? true : undefined;
    const known: Known = { terminal, acceptor: acceptorId, category, stored };
    const stan = this.parts.stans.take(terminal);
    return stan instanceof Promise
      ? stan.then((number) => this.#numbers(number, known))
      : this.#numbers(stan, known);
  }

  /** Uses the terminal and the retrieval reference of the target. */
  async #onTarget(order: OnTarget): Promise<Numbers> {
    const { prepared } = await order.target.read();
    if (prepared === undefined) throw new Error('the target was not sent over this link');
    const target = prepared as Numbers;
    return this.#numbers(await this.parts.stans.take(target.terminal), target, target.retrievalReference);
  }

  /** Always the same shape; undefined fields are not stored. */
  #numbers(stan: number, { terminal, acceptor, category, stored }: Known, targetReference?: string): Numbers {
    const sentMs = Date.now();
    return {
      stan,
      retrievalReference: targetReference ?? retrievalReference(stan, sentMs),
      sentMs,
      terminal,
      acceptor,
      category,
      stored,
      institution: this.parts.institution,
    };
  }
}

/** An answer of the host that an operator must look into. */
export type Alarm =
  /** The number since the last alarm. */
  | { readonly kind: 'unexplained approvals'; readonly count: number }
  | { readonly kind: 'duplicate STAN'; readonly stan: number; readonly terminal: string }
  /** Both are repeated until the host decides. */
  | {
      readonly kind: 'reversal refused' | 'completion unclear';
      readonly reference: string;
      readonly responseCode: string;
    };

class Alarms {
  constructor(private readonly onAlarm: (alarm: Alarm) => void) {}

  duplicate({ stan, terminal }: Numbers): void {
    this.onAlarm({ kind: 'duplicate STAN', stan, terminal });
  }

  unexplained(count: number): void {
    this.onAlarm({ kind: 'unexplained approvals', count });
  }

  about(
    kind: 'reversal refused' | 'completion unclear',
    { reference }: Pick<Order, 'reference'>,
    { code: responseCode }: Response,
  ): void {
    this.onAlarm({ kind, reference, responseCode });
  }
}
