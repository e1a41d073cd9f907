// The payment details that are sealed with a transaction, of a card or of a bank account: where their seal belongs, and how the
// rotation of keys goes through them.
import type { Audit } from '../values/ids.js';
import type { SealedRows, SealOwner } from '../vault/sealed-rows.js';
import type { Place } from '../vault/sealing.js';
import {
  COUNT_OLDER_PAYMENT_DETAILS,
  OLDER_PAYMENT_DETAILS_LEFT,
  RESEAL_PAYMENT_DETAILS,
  TAKE_OLDER_PAYMENT_DETAILS,
} from './payment-details.sql.js';

/**
 * The field is called as it was when only cards were sealed. Every ciphertext is bound to these words: with another, nothing that
 * is stored would open.
 */
export function paymentDetailsPlace({ organisationId, merchantId }: SealOwner, audit: Audit): Place {
  return { table: 'transaction', organisationId, merchantId, row: audit, field: 'card' };
}

export const SEALED_PAYMENT_DETAILS: SealedRows = {
  place: (owner, row) => paymentDetailsPlace(owner, row as Audit),
  left: OLDER_PAYMENT_DETAILS_LEFT,
  count: COUNT_OLDER_PAYMENT_DETAILS,
  take: TAKE_OLDER_PAYMENT_DETAILS,
  reseal: RESEAL_PAYMENT_DETAILS,
  inOrder: true,
};
