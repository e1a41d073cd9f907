// The contract with acquirers: what a link can be asked, what it can answer, the deadlines, and how failures and invalid answers are
// treated. Every link, simulated or real, keeps it.
import type { BankAccount } from '../values/bank-account.js';
import type { CardDetails } from '../values/card.js';
import type { Credential } from '../values/credential.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import type { Cents } from '../values/money.js';

/** What every order has. A link looks up everything else about a merchant, such as its terminals, by the merchant's ID. */
interface AnyOrder {
  /** Unique to this order. */
  readonly reference: string;
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly amountCents: Cents;
  readonly currency: string;
  /** The gateway's time. */
  readonly atMs: number;
}

export type PaymentMethod =
  /** `stored`: the card comes from the vault, and was not given for this payment. */
  | { readonly kind: 'card'; readonly card: CardDetails; readonly stored?: true }
  | { readonly kind: 'bank_account'; readonly bankAccount: BankAccount };

export interface Payment extends AnyOrder {
  readonly operation: 'purchase' | 'preauthorisation';
  readonly method: PaymentMethod;
  readonly credential?: Credential | undefined;
  /** Of the payment that began the agreement, as the request or the token has it. */
  readonly networkTransactionId?: string | undefined;
}

/** A refund without a target. */
export interface StandaloneRefund extends AnyOrder {
  readonly operation: 'standalone_refund';
  readonly method: PaymentMethod;
}

/**
 * An order that acts on an earlier transaction. The card and the details of its target are read only when a link asks for them. Most
 * links do not need them, and must not wait for an unavailable database or key provider.
 */
interface OnTarget extends AnyOrder {
  readonly target: Target;
  /**
   * Opens the card of the original payment, as long as that payment can be changed. The caller gets a copy of its own and erases it
   * (`number.erase()`) after sending. Never has a CVV. Rejects with `CardDestroyed` if the card is gone.
   */
  openCard(): Promise<CardDetails>;
}

export interface Completion extends OnTarget {
  readonly operation: 'completion';
}

export interface Refund extends OnTarget {
  readonly operation: 'refund';
}

/** The amount is the target's. */
export interface Void extends OnTarget {
  readonly operation: 'void';
}

export type Order = Payment | StandaloneRefund | Completion | Refund | Void;
export type MoneyOperation = Order['operation'];

interface Target {
  readonly reference: string;
  read(): Promise<StoredTarget>;
}

/** The stored part of a target. Its codes are present by the time the link is asked. */
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
 * An order as it was stored before the link was asked. Any process can make an inquiry or a reversal from it, even after a crash. The
 * card is decrypted from the vault, without a CVV.
 */
export type StoredOrder = Stored<Payment> | Stored<StandaloneRefund> | Completion | Refund | Void;

type Stored<Direct extends Payment | StandaloneRefund> = Omit<Direct, 'method'> & Pick<OnTarget, 'openCard'>;

/** JSON that only the link itself reads: for example the numbers under which the acquirer knows an order. */
export type Prepared = unknown;

/** The acquirer's response in its own terms. */
export interface AcquirerResponse {
  readonly responseCode: string;
  readonly responseMessage: string;
  readonly authorisationCode?: string;
  readonly preauthorisationCode?: string;
  /** Under which the network knows the payment. */
  readonly networkTransactionId?: string;
  /** What the network says to do after a decline: Mastercard's Merchant Advice Code. */
  readonly adviceCode?: string;
  /** If the acquirer does not give it, the gateway's calendar decides. */
  readonly settlementDate?: string;
}

/** A readable answer. Only the link knows the meaning of response codes. */
export type Decision =
  | ({ readonly kind: 'approved' } & AcquirerResponse)
  | ({ readonly kind: 'declined' } & AcquirerResponse)
  /** The acquirer reported a fault of its own; nothing was charged. */
  | ({ readonly kind: 'faulty' } & AcquirerResponse);

/** Accepted, to be decided in a few days: a direct debit. */
export interface Pending {
  readonly kind: 'pending';
}

export type Answer =
  | Decision
  | Pending
  /** No byte was sent: the acquirer cannot know the order. */
  | { readonly kind: 'not_sent' }
  /** Any other case without a readable answer. The money may have moved. */
  | { readonly kind: 'unknown'; readonly reason: 'timeout' | 'unreadable' };

export type Finding =
  | Decision
  | Pending
  /** The acquirer has not seen the order (yet): the gateway will reverse it. */
  | { readonly kind: 'not_seen' }
  | { readonly kind: 'no_answer' };

export type Reversal = 'reversed' | 'no_answer';

/** Since when no sign-on has succeeded, and why the last attempt failed. */
export interface LinkDown {
  /** As ISO 8601 text. */
  readonly since: string;
  readonly reason: string;
}

/** For links that keep connections: how many there should be, and how many are signed on. */
export interface LinkStatus {
  readonly connections: number;
  readonly signedOn: number;
  readonly down?: LinkDown | undefined;
  /** Answers that nothing asked for, since the start. */
  readonly unasked?: number;
  /** The version of the link's settings; it changes with them. */
  readonly version: number;
}

export interface AcquirerLink {
  readonly name: string;
  /** `of_merchant`: the merchant's own link, such as its bank, has the merchant's mode. */
  readonly mode: Mode | 'of_merchant';
  /**
   * Connects and signs on. The link is not asked before that; if it refuses, it is tried again without end. Once open, the link restores
   * its connections by itself, and answers `not_sent` in the meantime.
   */
  open(): Promise<void>;
  /** May be called while the link is opening, and after opening failed. */
  close(): Promise<void>;
  /** Only for links that keep connections. */
  readonly status?: LinkStatus;
  /** Failures come from test cards and say nothing about the link: it is never taken out of use for them. */
  readonly simulated?: true | undefined;
  /**
   * A link with `prepare` that cannot refund without the card number. If the card was destroyed with its customer, a refund is refused
   * before anything is stored.
   */
  readonly needsCard?: boolean;
  /** Declines of one card in 30 days after which its merchant must not try it again by itself; 20 where a link says nothing. */
  readonly mostDeclines?: number | undefined;
  /**
   * What must be stored before the link is asked, so that any process can inquire, repeat or reverse the order. Links that need only the
   * order have no such method. If it throws, the order is not processed.
   */
  prepare?(order: Order): Prepared | Promise<Prepared>;
  /**
   * Asks once, and must not retry. The gateway waits until its deadline. A later answer still decides if no reversal has begun by then.
   * The link erases a CVV (`cvv.erase()`) once it is sent; the gateway erases it when it stops waiting. After `declined` or `faulty` no
   * card is kept, because nothing can be reversed. The link calls `maySend` right before the first byte; if that is false, the answer is
   * `not_sent`: another process may have reversed the order, or the gateway has stopped waiting.
   */
  ask(order: Order, prepared: Prepared, maySend: () => boolean): Promise<Answer>;
  /**
   * Finds out what became of the order; `not_seen` if the acquirer has no inquiries. An order that is repeated until acknowledged, and
   * never reversed, is repeated here. It is then never `not_seen`, unless the acquirer acknowledged something else.
   */
  inquire(order: StoredOrder, prepared: Prepared): Promise<Finding>;
  /** Undoes the order, and makes the acquirer refuse it if it still arrives. Repeated until confirmed. */
  reverse(order: StoredOrder, prepared: Prepared): Promise<Reversal>;
}

/** The card is destroyed for good. A refund cannot be sent: `not_sent`. */
export class CardDestroyed extends Error {
  override readonly name = 'CardDestroyed';
  constructor() {
    super('the card of the transaction is destroyed');
  }
}

/** Simulated links never approve live payments, and tests never move real money. */
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
  /** Whether this process may still send the order. */
  readonly maySend: (asked: Asked) => boolean;
  /** Gets an answer that arrives after the deadline. */
  readonly onLate: (asked: Asked, answer: Answer) => void;
}

/** Asks once, and waits until the deadline at most. Nothing is sent after the deadline. */
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
        // A link that fails unexpectedly may have sent the order: not a decline.
        // guard(doubt: a link that fails is no decline): unknown', reason: 'unreadable ⇒ declined', responseCode: '05', responseMessage: '
        resolve({ kind: 'unknown', reason: 'unreadable' });
      },
    );
  });
}

/** Turns a synchronous throw into a rejection. */
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

/** Anything but a clear confirmation counts as none. */
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

/** A failure counts like no answer in time. */
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

/** Throws if the link does, or takes too long. Returns a promise only if the link has to wait, which is rare. */
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
