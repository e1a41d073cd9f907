import type { Statement } from '../postgres/database.js';
import { RESEALED } from '../vault/rotation.sql.js';

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

/** What another rotation or a request has locked is left to it, or to the next pass. */
export const TAKE_OLDER_PAYMENT_DETAILS: Statement = {
  name: 'take-older-payment-details',
  text: `
    SELECT audit AS row, payment_details_key_version AS "keyVersion", payment_details_sealed AS sealed FROM transaction
    WHERE organisation_id = $1 AND merchant_id = $2 AND payment_details_key_version < $3 AND audit > $5
    ORDER BY audit LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED`,
};

export const RESEAL_PAYMENT_DETAILS: Statement = {
  name: 'reseal-payment-details',
  text: `
    UPDATE transaction t SET payment_details_key_version = $3, payment_details_sealed = decode(resealed.sealed, 'base64')
    FROM ${RESEALED.rows}
    WHERE t.organisation_id = $1 AND t.audit = resealed.row AND t.merchant_id = $2`,
};
