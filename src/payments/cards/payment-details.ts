// The payment details that are sealed with a transaction, of a card or of a bank account: where their seal belongs, and how the
// rotation of keys goes through them.
import type { Audit } from '../../values/ids.js';
import type { Cents } from '../../values/money.js';
import type { SealedRow, SealedRows, SealOwner } from '../../vault/keys/sealed-rows.js';
import type { Place } from '../../vault/keys/sealing.js';
import {
  COUNT_OLDER_PAYMENT_DETAILS,
  OLDER_PAYMENT_DETAILS,
  OLDER_PAYMENT_DETAILS_LEFT,
  RESEAL_PAYMENT_DETAILS,
} from './payment-details.sql.js';

/** What the seal of payment details is bound to: what was asked for with them. */
export interface PaymentSeal {
  readonly audit: Audit;
  readonly transactionType: string;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly paymentMethod: 'card' | 'bank_account';
}

/**
 * The field is called as it was when only cards were sealed. Every ciphertext is bound to these words: with another, nothing that
 * is stored would open.
 */
export function paymentDetailsPlace({ organisationId, merchantId }: SealOwner, payment: PaymentSeal): Place {
  const { audit, transactionType, amountCents, currency, paymentMethod } = payment;
  // guard(direct debit: for the amount that was asked for): ${amountCents} ⇒ -
  const says = `${transactionType}/${amountCents}/${currency}/${paymentMethod}`;
  return { table: 'transaction', organisationId, merchantId, row: audit, field: 'card', says };
}

export const SEALED_PAYMENT_DETAILS: SealedRows = {
  place: (owner, payment: SealedRow & PaymentSeal) => paymentDetailsPlace(owner, payment),
  left: OLDER_PAYMENT_DETAILS_LEFT,
  count: COUNT_OLDER_PAYMENT_DETAILS,
  page: OLDER_PAYMENT_DETAILS,
  reseal: RESEAL_PAYMENT_DETAILS,
  inOrder: true,
};
