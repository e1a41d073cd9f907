import type { Statement } from '../../postgres/database.js';
import { PAYMENT_SEAL } from '../cards/payment-details.sql.js';

export const STORED_TARGET: Statement = {
  name: 'stored-target',
  text: `
    SELECT transaction_type AS operation, amount_cents AS "amountCents", currency,
      round(extract(epoch FROM created_at) * 1000)::bigint AS "atMs", prepared, response_code AS "responseCode",
      authorisation_code AS "authorisationCode", preauthorisation_code AS "preauthorisationCode"
    FROM transaction WHERE organisation_id = $1 AND audit = $2`,
};

/** A void goes back to a refund, that to a completion, and that to the preauthorisation, in whose row the card is. */
export const SEALED_CARD: Statement = {
  name: 'sealed-card',
  text: `
    WITH RECURSIVE origin AS (
      SELECT audit, target_audit, merchant_id, payment_details_key_version, payment_details_sealed, card_mask, transaction_type,
        amount_cents, currency, bank_account
      FROM transaction WHERE organisation_id = $1 AND audit = $2
      UNION ALL
      SELECT target.audit, target.target_audit, target.merchant_id, target.payment_details_key_version, target.payment_details_sealed,
        target.card_mask, target.transaction_type, target.amount_cents, target.currency, target.bank_account
      FROM origin JOIN transaction target ON target.organisation_id = $1 AND target.audit = origin.target_audit
    )
    SELECT audit, merchant_id AS "merchantId", payment_details_key_version AS "keyVersion", payment_details_sealed AS sealed,
      ${PAYMENT_SEAL}
    FROM origin WHERE payment_details_sealed IS NOT NULL AND card_mask IS NOT NULL`,
};
