import { INTO_JOURNAL_OF_TRANSACTIONS } from '../../journal/journal.sql.js';
import { bytes, columns, integer, json, optionalBytes, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import { PAYMENT_SEAL } from '../cards/payment-details.sql.js';
import { OUTCOME } from '../outcome-seals.sql.js';
import type { JournalledMove } from '../transaction.js';

export const STORED_TARGET: Statement = {
  name: 'stored-target',
  text: `
    SELECT round(extract(epoch FROM created_at) * 1000)::bigint AS "atMs", prepared, attestation,
      payment_details_key_version AS "keyVersion", payment_details_sealed AS sealed,
      CASE WHEN bank_account IS NULL THEN 'card' ELSE 'bank_account' END AS "paymentMethod", ${OUTCOME} AS stored
    FROM transaction t WHERE organisation_id = $1 AND audit = $2`,
};

/** A void leads back to a refund, a refund to a completion, a completion to the preauthorisation whose row holds the card. */
export const SEALED_CARD: Statement = {
  name: 'sealed-card',
  text: `
    WITH RECURSIVE origin AS (
      SELECT audit, target_audit, merchant_id, payment_details_key_version, payment_details_sealed, card_mask, transaction_type,
        amount_cents, currency, bank_account, acquirer, prepared
      FROM transaction WHERE organisation_id = $1 AND audit = $2
      UNION ALL
      SELECT target.audit, target.target_audit, target.merchant_id, target.payment_details_key_version, target.payment_details_sealed,
        target.card_mask, target.transaction_type, target.amount_cents, target.currency, target.bank_account, target.acquirer,
        target.prepared
      FROM origin JOIN transaction target ON target.organisation_id = $1 AND target.audit = origin.target_audit
    )
    SELECT audit, merchant_id AS "merchantId", payment_details_key_version AS "keyVersion", payment_details_sealed AS sealed,
      ${PAYMENT_SEAL}
    FROM origin WHERE payment_details_sealed IS NOT NULL AND card_mask IS NOT NULL`,
};

export const MOVES = columns<JournalledMove>('moving', {
  organisation_id: integer(({ organisationId }) => organisationId),
  audit: integer(({ audit }) => audit),
  before: text(({ before }) => before),
  acquirer: text(({ acquirer }) => acquirer),
  sealed: bytes(({ sealed }) => sealed),
  key_version: integer(({ keyVersion }) => keyVersion),
  prepared: json(({ prepared }) => prepared),
  detail: text(({ detail }) => detail),
  mark: optionalBytes(({ mac }) => mac),
});

/**
 * Only a transaction in doubt that its own process still holds: a process that took it over asks the link that is stored.
 * Returns the transactions that were moved.
 */
export const REROUTE: Statement = {
  name: 'reroute',
  // guard(routes: what another process has taken over is not moved): AND t.resolve_attempts = 0 AND t.resolve_at IS NULL ⇒
  text: `
    WITH moved AS (
      UPDATE transaction t SET acquirer = moving.acquirer, prepared = moving.prepared::jsonb,
        payment_details_sealed = decode(moving.sealed, 'base64'), payment_details_key_version = moving.key_version
      FROM ${MOVES.rows}
      WHERE t.organisation_id = moving.organisation_id AND t.audit = moving.audit AND t.acquirer = moving.before
        AND t.status = 'unknown' AND t.resolve_attempts = 0 AND t.resolve_at IS NULL
      RETURNING t.organisation_id, t.merchant_id, t.audit, moving.detail, moving.mark
    ), journalled AS (${INTO_JOURNAL_OF_TRANSACTIONS}
      SELECT organisation_id, merchant_id, 'gateway:routes', 'transaction.rerouted', audit, detail, decode(mark, 'base64')
      FROM moved
    )
    SELECT organisation_id AS "organisationId", audit FROM moved`,
};
