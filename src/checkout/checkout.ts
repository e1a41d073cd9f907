// A checkout: what a payer is asked to pay on a page of the gateway, and what has come of it.
import type { Audit, CustomerId, MerchantId, OrganisationId } from '../values/ids.js';
import type { Cents } from '../values/money.js';
import { makeUnguessableId, unguessableIdPattern } from '../values/unguessable-id.js';

export const OPERATIONS = ['purchase', 'preauthorisation', 'tokenise'] as const;
export type CheckoutOperation = (typeof OPERATIONS)[number];
export const PAYMENT_METHODS = ['creditcard', 'bankaccount'] as const;
export type CheckoutMethod = (typeof PAYMENT_METHODS)[number];

/** What was asked for. It never changes. */
export interface Terms {
  readonly reference: string;
  readonly operation: CheckoutOperation;
  readonly paymentMethods: readonly CheckoutMethod[];
  /** Absent for `tokenise`. */
  readonly amountCents?: Cents;
  readonly currency?: string;
  /** Shown to the payer. */
  readonly description?: string;
  /** Whose token the card can become. */
  readonly customerId?: CustomerId;
  readonly returnUrl?: string;
  readonly cancelUrl?: string;
  /** That may show the page in a frame. */
  readonly frameOrigins?: readonly string[];
}

/** `processing`: an attempt is under way or in doubt. */
export const CHECKOUT_STATUSES = ['open', 'processing', 'complete', 'expired', 'cancelled'] as const;
export type CheckoutStatus = (typeof CHECKOUT_STATUSES)[number];

export interface Attempt {
  /** Counted from 1. */
  readonly n: number;
  /** Null while it is under way or in doubt. */
  readonly outcome: 'paid' | 'not paid' | null;
  /** Of its transaction; null as long as that is not known, and where the attempt came to none. */
  readonly audit: Audit | null;
}

export interface Checkout {
  readonly organisationId: OrganisationId;
  /** Within its organisation. */
  readonly number: number;
  readonly merchantId: MerchantId;
  readonly id: string;
  readonly correlationId: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly attemptsAllowed: number;
  readonly terms: Terms;
  /** The user who made it, or the negative number of an operator. */
  readonly userId: number | null;
  readonly status: CheckoutStatus;
  readonly attempts: readonly Attempt[];
  readonly resultAudit: Audit | null;
  readonly resultVirtualPan: string | null;
}

/** A checkout that can be paid, or shown to be over. */
export type Paid = { readonly audit: Audit } | { readonly virtualPan: string };

export const MOST_ATTEMPTS = 10;

const PREFIX = 'co_';

export const CHECKOUT_ID_PATTERN = unguessableIdPattern(PREFIX);
const checkoutId = new RegExp(CHECKOUT_ID_PATTERN);

export function isCheckoutId(text: string): boolean {
  return checkoutId.test(text);
}

export function makeCheckoutId(): string {
  return makeUnguessableId(PREFIX);
}

/** Under which an attempt is one payment, whoever tries it how often. */
export function correlationIdOfAttempt(id: string, n: number): string {
  return `checkout:${id}:${n}`;
}

/** Those of every attempt that there can be. */
export function correlationIdsOf(id: string): string[] {
  return Array.from({ length: MOST_ATTEMPTS }, (_, index) => correlationIdOfAttempt(id, index + 1));
}

/** What the seal of a checkout is of: nobody who writes to the database changes what a payer is asked for, or who gets it. */
export function sealedWords(
  checkout: Pick<
    Checkout,
    'organisationId' | 'number' | 'merchantId' | 'id' | 'expiresMs' | 'attemptsAllowed'
  >,
  terms: string,
): string {
  const { organisationId, number, merchantId, id, expiresMs, attemptsAllowed } = checkout;
  const place = [organisationId, number, merchantId, id, expiresMs, attemptsAllowed];
  // guard(checkout: sealed with what it asks for): ...place, terms] ⇒ ...place]
  return JSON.stringify(['checkout', ...place, terms]);
}
