// How key rotation re-encrypts the payment details stored with transactions.
import type { SealedRow, SealedRows } from '../../vault/keys/sealed-rows.js';
import { type PaymentSeal, paymentDetailsPlace } from '../transaction.js';
import {
  COUNT_OLDER_PAYMENT_DETAILS,
  OLDER_PAYMENT_DETAILS,
  OLDER_PAYMENT_DETAILS_LEFT,
  RESEAL_PAYMENT_DETAILS,
} from './payment-details.sql.js';

export const SEALED_PAYMENT_DETAILS: SealedRows = {
  place: (owner, payment: SealedRow & PaymentSeal) => paymentDetailsPlace(owner, payment),
  left: OLDER_PAYMENT_DETAILS_LEFT,
  count: COUNT_OLDER_PAYMENT_DETAILS,
  page: OLDER_PAYMENT_DETAILS,
  reseal: RESEAL_PAYMENT_DETAILS,
  inOrder: true,
};
