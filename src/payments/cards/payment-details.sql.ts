import type { Statement } from '../../postgres/database.js';
import { RESEALED } from '../../vault/keys/rotation.sql.js';

/** Of a row of `transaction`: the values that the seal of its payment details is bound to. */
export const PAYMENT_SEAL = `transaction_type AS "transactionType", amount_cents AS "amountCents", currency,
      CASE WHEN bank_account IS NULL THEN 'card' ELSE 'bank_account' END AS "paymentMethod", acquirer, prepared`;

export const OLDER_PAYMENT_DETAILS_LEFT: Statement = {
  name: '',
  text: `
    SELECT EXISTS (SELECT FROM transaction
      WHERE organisation_id = $1 AND merchant_id = $2 AND payment_details_key_version < $3) AS left`,
};

export const COUNT_OLDER_PAYMENT_DETAILS: Statement = {
  name: '',
  text: `
    SELECT count(*) AS rows FROM transaction
    WHERE organisation_id = $1 AND merchant_id = $2 AND payment_details_key_version < $3`,
};

export const OLDER_PAYMENT_DETAILS: Statement = {
  name: 'older-payment-details',
  text: `
    SELECT audit AS row, payment_details_key_version AS "keyVersion", payment_details_sealed AS sealed, audit, ${PAYMENT_SEAL}
    FROM transaction
    WHERE organisation_id = $1 AND merchant_id = $2 AND payment_details_key_version < $3 AND audit > $5
      AND audit <> ALL ($6::integer[])
    ORDER BY audit LIMIT $4`,
};

export const RESEAL_PAYMENT_DETAILS: Statement = {
  name: 'reseal-payment-details',
  text: `
    UPDATE transaction t SET payment_details_key_version = $3, payment_details_sealed = decode(resealed.sealed, 'base64')
    FROM ${RESEALED.rows}
    WHERE t.organisation_id = $1 AND t.audit = resealed.row AND t.merchant_id = $2`,
};
