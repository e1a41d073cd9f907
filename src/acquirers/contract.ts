// What a link to an acquirer can be asked and what it can answer, how long it is waited for, and what is made of one that fails or says
// what this contract does not allow. Every link, simulated or real, keeps it.
import type { BankAccount } from '../values/bank-account.js';
import type { CardDetails } from '../values/card.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import type { Cents } from '../values/money.js';

/** What every order says. What else a link knows of a merchant, such as its terminals, it keeps under the merchant's ID. */
interface AnyOrder {
  /** Goes with this order and never with another one. */
  readonly reference: string;
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly amountCents: Cents;
  readonly currency: string;
  /** The gateway's time. */
  readonly atMs: number;
}

export type PaymentMethod =
  /** `stored`: the card was opened from the vault, and not given for this payment. */
  | { readonly kind: 'card'; readonly card: CardDetails; readonly stored?: true }
  | { readonly kind: 'bank_account'; readonly bankAccount: BankAccount };

export interface Payment extends AnyOrder {
  readonly operation: 'purchase' | 'preauthorisation';
  readonly method: PaymentMethod;
}

/** A refund without a target. */
export interface StandaloneRefund extends AnyOrder {
  readonly operation: 'standalone_refund';
  readonly method: PaymentMethod;
}

/**
 * An order that acts on an earlier transaction. Its card, and more of its target than the reference, are read and opened
 * when a link asks for them: most links do not need them, and neither a database nor a key provider that is away may
 * keep those links waiting.
 */
interface OnTarget extends AnyOrder {
  readonly target: Target;
  /**
   * The card of the payment that it goes back to, as long as anything can be done with that: each time one of its own, which whoever
   * asked erases (`number.erase()`) when it was sent. Never with a CVV. Rejects with `CardDestroyed` where it is gone.
   */
  openCard(): Promise<CardDetails>;
}

export interface Completion extends OnTarget {
  readonly operation: 'completion';
}

export interface Refund extends OnTarget {
  readonly operation: 'refund';
}

/** Its amount is the target's. */
export interface Void extends OnTarget {
  readonly operation: 'void';
}

export type Order = Payment | StandaloneRefund | Completion | Refund | Void;
export type MoneyOperation = Order['operation'];

interface Target {
  readonly reference: string;
  read(): Promise<StoredTarget>;
}

/** What is stored of a target. Its codes are certain to be there once the order that acts on it is to be asked. */
export interface StoredTarget {
  readonly operation: MoneyOperation;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly atMs: number;
  readonly prepared?: Prepared;
  readonly responseCode?: string;
  readonly authorisationCode?: string;
  readonly preauthorisationCode?: string;
}

/**
 * An order as it was stored before it was asked: what an inquiry or a reversal is made from, by any process, also after
 * a crash. The card is opened from its seal, without a CVV.
 */
export type StoredOrder = Stored<Payment> | Stored<StandaloneRefund> | Completion | Refund | Void;

type Stored<Direct extends Payment | StandaloneRefund> = Omit<Direct, 'method'> & Pick<OnTarget, 'openCard'>;

/** JSON of the link's own, which nobody else reads: for example the numbers under which the acquirer will know an order. */
export type Prepared = unknown;

/** The acquirer's own words for what it did. */
export interface AcquirerResponse {
  readonly responseCode: string;
  readonly responseMessage: string;
  readonly authorisationCode?: string;
  readonly preauthorisationCode?: string;
  /** Where the acquirer does not say, the gateway's calendar decides. */
  readonly settlementDate?: string;
}

/** A readable answer. What the acquirer's response codes mean is the link's to know. */
export type Decision =
  | ({ readonly kind: 'approved' } & AcquirerResponse)
  | ({ readonly kind: 'declined' } & AcquirerResponse)
  /** The acquirer reported a fault of its own; nothing was charged. */
  | ({ readonly kind: 'faulty' } & AcquirerResponse);

/** Taken in, to be decided in some days: a direct debit. */
export interface Pending {
  readonly kind: 'pending';
}

export type Answer =
  | Decision
  | Pending
  /** Not one byte has left: the acquirer cannot have heard of it. */
  | { readonly kind: 'not_sent' }
  /** Everything else without a readable answer. The money may have moved. */
  | { readonly kind: 'unknown'; readonly reason: 'timeout' | 'unreadable' };

export type Finding =
  | Decision
  | Pending
  /** The acquirer has not seen the order (yet): it will be reversed. */
  | { readonly kind: 'not_seen' }
  | { readonly kind: 'no_answer' };

export type Reversal = 'reversed' | 'no_answer';

/** Of a link that could not be signed on to, or not again: since when, and why not at the last attempt. */
export interface LinkDown {
  /** An instant. */
  readonly since: string;
  readonly reason: string;
}

/** Of a link that keeps connections: how many it should have, and how many of them are signed on. */
export interface LinkStatus {
  readonly connections: number;
  readonly signedOn: number;
  readonly down?: LinkDown | undefined;
  /** Of the settings that it was made from: a link that was changed since has another. */
  readonly version: number;
}

export interface AcquirerLink {
  readonly name: string;
  /** `of_merchant`: a link that each merchant has for itself, such as its bank, is what the merchant is. */
  readonly mode: Mode | 'of_merchant';
  /**
   * Connects and signs on. Until then the link is asked nothing; one that refuses is tried again without end. A link
   * that was opened mends its connections by itself, and answers `not_sent` meanwhile.
   */
  open(): Promise<void>;
  /** Also while it is being opened, and where that has failed. */
  close(): Promise<void>;
  /** Only of links that keep connections. */
  readonly status?: LinkStatus;
  /** Its failures are what a test card asks for, and say nothing about the link: it is never taken out for them. */
  readonly simulated?: true | undefined;
  /**
   * A link that prepares, and cannot refund without the card number. Where that has been destroyed, because the customer was deleted, a
   * refund is refused before anything is stored of it.
   */
  readonly needsCard?: boolean;
  /**
   * What must be durable before the order is asked, so that any process can inquire, repeat or reverse it. A link that
   * gets by with the order itself has no such method. An order for which it throws is not processed.
   */
  prepare?(order: Order): Prepared | Promise<Prepared>;
  /**
   * Asks once; must not be retried inside. The gateway waits until its deadline. An answer that comes later still
   * decides, if no reversal has begun by then. A CVV is erased (`cvv.erase()`) as soon as it was sent; the gateway erases it
   * when it stops waiting. What is answered `declined` or `faulty` keeps no card: nothing is left to be reversed then.
   * `maySend` is asked right before the first byte leaves, and what it forbids is `not_sent`: another process may have reversed
   * the order meanwhile, or the gateway has stopped waiting.
   */
  ask(order: Order, prepared: Prepared, maySend: () => boolean): Promise<Answer>;
  /**
   * What became of the order? Where the acquirer cannot be asked that: `not_seen`. An order that is never reversed but
   * repeated until it is acknowledged is repeated here, and never `not_seen`, unless something else was acknowledged.
   */
  inquire(order: StoredOrder, prepared: Prepared): Promise<Finding>;
  /** Undoes whatever was done for this order, and has it refused should it still arrive. Repeated until confirmed. */
  reverse(order: StoredOrder, prepared: Prepared): Promise<Reversal>;
}

/** There is no card to open any more, and never will be. Of a refund, nothing can be sent: `not_sent`. */
export class CardDestroyed extends Error {
  override readonly name = 'CardDestroyed';
  constructor() {
    super('the card of the transaction is destroyed');
  }
}

/** Nothing simulated ever approves a live payment, and no test moves real money. */
export function serves(link: AcquirerLink, mode: Mode): boolean {
  return link.mode === mode || link.mode === 'of_merchant';
}

const NOT_SENT: Answer = { kind: 'not_sent' };
const ANSWERS: ReadonlySet<unknown> = new Set<Answer['kind']>([
  'approved',
  'declined',
  'faulty',
  'pending',
  'not_sent',
  'unknown',
]);
const FINDINGS: ReadonlySet<unknown> = new Set<Finding['kind']>([
  'approved',
  'declined',
  'faulty',
  'pending',
  'not_seen',
  'no_answer',
]);

export interface UnderDeadline<Asked> {
  readonly deadlineMs: number;
  /** Whether the order is still this process's to send. */
  readonly maySend: (asked: Asked) => boolean;
  /** Told what is answered after the deadline. */
  readonly onLate: (asked: Asked, answer: Answer) => void;
}

/** Asks once, and waits no longer than the deadline. Nothing is sent after it. */
export function askUnderDeadline<Asked extends { readonly order: Order; readonly prepared: Prepared }>(
  link: AcquirerLink,
  asked: Asked,
  { deadlineMs, maySend, onLate }: UnderDeadline<Asked>,
): Promise<Answer> {
  return new Promise((resolve) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      // guard(doubt: silence is no decline): unknown', reason: 'timeout ⇒ declined', responseCode: '05', responseMessage: '
      resolve({ kind: 'unknown', reason: 'timeout' } satisfies Answer);
    }, deadlineMs);
    const inTime = () => !late && maySend(asked);
    begin(() => (inTime() ? link.ask(asked.order, asked.prepared, inTime) : Promise.resolve(NOT_SENT))).then(
      (said: Answer | undefined) => {
        clearTimeout(timer);
        const answer: Answer =
          said && ANSWERS.has(said.kind) ? said : { kind: 'unknown', reason: 'unreadable' };
        if (late) onLate(asked, answer);
        else resolve(answer);
      },
      () => {
        clearTimeout(timer);
        // A link that fails in a way it does not know may have sent the order: not a decline.
        // guard(doubt: a link that fails is no decline): unknown', reason: 'unreadable ⇒ declined', responseCode: '05', responseMessage: '
        resolve({ kind: 'unknown', reason: 'unreadable' });
      },
    );
  });
}

/** A link that throws before it has promised anything is no different from one that breaks its promise. */
async function begin<Result>(asking: () => Promise<Result>): Promise<Result> {
  return asking();
}

export async function inquireUnderDeadline(
  link: AcquirerLink,
  order: StoredOrder,
  prepared: Prepared,
  deadlineMs: number,
): Promise<Finding> {
  const inquiry = () => link.inquire(order, prepared);
  const found = await withinDeadline<Finding | undefined>(inquiry, deadlineMs, undefined);
  return found && FINDINGS.has(found.kind) ? found : { kind: 'no_answer' };
}

/** Whatever is no clear confirmation is none. */
export async function reverseUnderDeadline(
  link: AcquirerLink,
  order: StoredOrder,
  prepared: Prepared,
  deadlineMs: number,
): Promise<Reversal> {
  // guard(inquiry: what was not seen is reversed, since it may still arrive): () => link.reverse(order, prepared) ⇒ async () => 'reversed'
  const said = await withinDeadline(() => link.reverse(order, prepared), deadlineMs, 'no_answer');
  return said === 'reversed' ? 'reversed' : 'no_answer';
}

/** What does not come in time, or fails, did not come. */
export async function withinDeadline<Result>(
  asking: () => Promise<Result>,
  deadlineMs: number,
  otherwise: Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Result>((resolve) => {
    timer = setTimeout(resolve, deadlineMs, otherwise);
  });
  try {
    return await Promise.race([begin(asking).catch(() => otherwise), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Throws where the link does, or takes too long. A promise only where the link has to wait for something: most often it has not. */
export function prepareUnderDeadline(
  link: AcquirerLink,
  order: Order,
  deadlineMs: number,
): Prepared | Promise<Prepared> {
  const prepared = link.prepare?.(order);
  return prepared instanceof Promise || prepared === undefined
    ? preparedInTime(Promise.resolve(prepared), deadlineMs)
    : prepared;
}

async function preparedInTime(preparing: Promise<Prepared>, deadlineMs: number): Promise<Prepared> {
  const late = Symbol('late');
  const prepared = await withinDeadline(() => preparing, deadlineMs, late);
  if (prepared === late || prepared === undefined) throw new Error('the link could not prepare the order');
  return prepared;
}
