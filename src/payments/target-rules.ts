// The operations that a transaction allows next. Each rule is written once and used twice: as the SQL by which the target's row
// decides in commit A, and as the predicate for links, look-ups and refusals. So the two cannot disagree.
import type { Transaction } from './transaction.js';

const DAY_MS = 86_400_000;

/** A column of the target's row, and the same value in a transaction. */
interface Column<Value> {
  readonly name: string;
  readonly of: (target: Transaction) => Value | undefined;
}

/** The merchant's settings that the rules depend on. */
export interface Terms {
  /** For how many days a card payment can be refunded. */
  readonly cardDays: number;
}

export interface Rule {
  /**
   * About the row `target`, at the time `asked.created_at`; card payments older than `asked.refundable_from` cannot be
   * refunded.
   */
  readonly sql: string;
  readonly allows: (target: Transaction, nowMs: number, terms: Terms) => boolean;
}

export interface Limit {
  /** About the row `target`. */
  readonly sql: string;
  readonly cents: (target: Transaction) => number;
}

const TYPE: Column<Transaction['transactionType']> = {
  name: 'transaction_type',
  of: (t) => t.transactionType,
};
const STATUS: Column<Transaction['status']> = { name: 'status', of: (t) => t.status };
const COMPLETED_BY: Column<number> = { name: 'completed_by', of: (t) => t.completedBy };
const VOIDED_BY: Column<number> = { name: 'voided_by', of: (t) => t.voidedBy };
const AMOUNT: Column<number> = { name: 'amount_cents', of: (t) => t.amountCents };
const REFUNDED: Column<number> = { name: 'refunded_cents', of: (t) => t.refundedCents };
const COMPLETABLE_UNTIL: Column<number> = { name: 'completable_until', of: (t) => t.completableUntilMs };
const BANK_ACCOUNT: Column<unknown> = { name: 'bank_account', of: (t) => t.bankAccount };
const VOIDABLE_UNTIL: Column<number> = { name: 'voidable_until', of: (t) => t.voidableUntilMs };

function is<Value extends string>({ name, of }: Column<Value>, ...values: readonly Value[]): Rule {
  return {
    sql: `target.${name} IN (${values.map((value) => `'${value}'`).join(', ')})`,
    allows: (target) => values.includes(of(target) as Value),
  };
}

function isNot<Value extends string>({ name, of }: Column<Value>, value: Value): Rule {
  return { sql: `target.${name} <> '${value}'`, allows: (target) => of(target) !== value };
}

function isEmpty({ name, of }: Column<unknown>): Rule {
  return { sql: `target.${name} IS NULL`, allows: (target) => of(target) === undefined };
}

function isSet({ name, of }: Column<unknown>): Rule {
  return { sql: `target.${name} IS NOT NULL`, allows: (target) => of(target) !== undefined };
}

function isZero({ name, of }: Column<number>): Rule {
  return { sql: `target.${name} = 0`, allows: (target) => of(target) === 0 };
}

function isAhead({ name, of }: Column<number>): Rule {
  return {
    sql: `target.${name} > asked.created_at`,
    allows: (target, nowMs) => (of(target) ?? 0) > nowMs,
  };
}

/** Within the refund period of a card payment. */
const IN_CARD_DAYS: Rule = {
  sql: 'target.created_at > asked.refundable_from',
  allows: (target, nowMs, terms) => target.createdMs > refundableFromMs(nowMs, terms),
};

function all(...rules: readonly Rule[]): Rule {
  return {
    sql: `(${rules.map(({ sql }) => sql).join(' AND ')})`,
    allows: (target, nowMs, terms) => rules.every((rule) => rule.allows(target, nowMs, terms)),
  };
}

function any(...rules: readonly Rule[]): Rule {
  return {
    sql: `(${rules.map(({ sql }) => sql).join(' OR ')})`,
    allows: (target, nowMs, terms) => rules.some((rule) => rule.allows(target, nowMs, terms)),
  };
}

/** The first amount minus the others. */
function rest(whole: Column<number>, ...parts: readonly Column<number>[]): Limit {
  return {
    sql: [whole, ...parts].map(({ name }) => `target.${name}`).join(' - '),
    cents: (target) => parts.reduce((left, part) => left - (part.of(target) ?? 0), whole.of(target) ?? 0),
  };
}

export const REFUNDABLE = all(
  // guard(refund: only of a purchase or a completion): is(TYPE, 'purchase', 'completion'), ⇒
  // guard(target: approved): is(STATUS, 'approved'), ⇒
  is(TYPE, 'purchase', 'completion'),
  is(STATUS, 'approved'),
  // guard(target: no void of it under way): isEmpty(VOIDED_BY), ⇒
  isEmpty(VOIDED_BY),
  // Afterwards the card is destroyed, and an acquirer could not be told where to send the money.
  // guard(refund: no longer than the card is kept): any(isSet(BANK_ACCOUNT), IN_CARD_DAYS), ⇒
  any(isSet(BANK_ACCOUNT), IN_CARD_DAYS),
);
export const MOST_REFUNDABLE = rest(AMOUNT, REFUNDED);

export const COMPLETABLE = all(
  // guard(completion: only of a preauthorisation): is(TYPE, 'preauthorisation'), ⇒
  // guard(target: approved): is(STATUS, 'approved'), ⇒
  is(TYPE, 'preauthorisation'),
  is(STATUS, 'approved'),
  // guard(target: no void of it under way): isEmpty(VOIDED_BY), ⇒
  isEmpty(VOIDED_BY),
  // guard(completion: once): isEmpty(COMPLETED_BY), ⇒
  isEmpty(COMPLETED_BY),
  // guard(completion: not of a preauthorisation that is too old): isAhead(COMPLETABLE_UNTIL), ⇒
  // guard(completion: only of a preauthorisation): isAhead(COMPLETABLE_UNTIL), ⇒
  isAhead(COMPLETABLE_UNTIL),
);
export const MOST_COMPLETABLE = rest(AMOUNT);

export const VOIDABLE = all(
  // guard(void: not of a void): isNot(TYPE, 'void'), ⇒
  isNot(TYPE, 'void'),
  // guard(void: not of what has live refunds): isZero(REFUNDED), ⇒
  isZero(REFUNDED),
  // guard(void: not of a completed preauthorisation): isEmpty(COMPLETED_BY), ⇒
  // guard(target: no void of it under way): isEmpty(VOIDED_BY), ⇒
  isEmpty(COMPLETED_BY),
  isEmpty(VOIDED_BY),
  any(
    // guard(void: not after the settlement cut-off): all(is(STATUS, 'approved'), isAhead(VOIDABLE_UNTIL) ⇒ is(STATUS, 'approved'
    // guard(target: approved): is(STATUS, 'approved'), isAhead(VOIDABLE_UNTIL ⇒ isEmpty(VOIDED_BY
    all(is(STATUS, 'approved'), isAhead(VOIDABLE_UNTIL)),
    // A direct debit can be voided until a bank file includes it, however late: that empties the column.
    // guard(void of a direct debit: not once it is in a file): all(is(STATUS, 'pending'), isSet(VOIDABLE_UNTIL) ⇒ is(STATUS, 'pending'
    all(is(STATUS, 'pending'), isSet(VOIDABLE_UNTIL)),
  ),
);

/** Card payments made before this can no longer be refunded. */
export function refundableFromMs(nowMs: number, { cardDays }: Terms): number {
  return nowMs - cardDays * DAY_MS;
}

/** The amount left to complete; undefined if a completion would be refused. */
export function completableCents(target: Transaction, nowMs: number, terms: Terms): number | undefined {
  if (!COMPLETABLE.allows(target, nowMs, terms)) return undefined;
  // Without the surcharge, which the completion adds itself.
  return target.pricing?.originalCents ?? MOST_COMPLETABLE.cents(target);
}

/** The amount left to refund; undefined if any refund would be refused. */
export function refundableCents(target: Transaction, nowMs: number, terms: Terms): number | undefined {
  const left = MOST_REFUNDABLE.cents(target);
  return left > 0 && REFUNDABLE.allows(target, nowMs, terms) ? left : undefined;
}

export function voidable(target: Transaction, nowMs: number, terms: Terms): boolean {
  return VOIDABLE.allows(target, nowMs, terms);
}
