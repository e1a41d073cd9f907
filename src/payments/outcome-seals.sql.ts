// The columns that the seals of outcomes are checked with.
import type { Statement } from '../postgres/database.js';

/** A row `t` of `transaction` as `StoredOutcome`, in one column. */
export const OUTCOME = `json_build_object('organisationId', t.organisation_id, 'merchantId', t.merchant_id, 'audit', t.audit,
        'transactionType', t.transaction_type, 'targetAudit', t.target_audit, 'correlationId', t.correlation_id,
        'amountCents', t.amount_cents, 'currency', t.currency, 'acquirer', t.acquirer, 'status', t.status,
        'gatewayStatusCode', t.gateway_status_code, 'responseCode', t.response_code, 'authorisationCode', t.authorisation_code,
        'preauthorisationCode', t.preauthorisation_code, 'networkTransactionId', t.network_transaction_id, 'outcomeSeal', encode(t.outcome_seal, 'base64'))`;

/** Of a row `target`. */
export const OUTCOME_OF_TARGET = `${OUTCOME.replaceAll(/\bt\./g, 'target.')}`;

/** Of several rows. Empty if there are none. */
export const OUTCOMES = `coalesce(json_agg(${OUTCOME}), '[]'::json)`;

/** A transaction ($1, $2) of a merchant ($3), and everything that was ever asked of it. */
export const TARGET_AND_OPERATIONS: Statement = {
  name: 'target-and-operations',
  text: `
    SELECT ${OUTCOME} AS target, (
      SELECT ${OUTCOMES} FROM transaction t WHERE t.organisation_id = $1 AND t.merchant_id = $3 AND t.target_audit = $2
    ) AS operations
    FROM transaction t WHERE t.organisation_id = $1 AND t.merchant_id = $3 AND t.audit = $2`,
};

/** A page of a merchant's ($1, $2) transactions, with what their counters say, and what the operations on them do. */
export const OUTCOMES_TO_VERIFY: Statement = {
  name: 'outcomes-to-verify',
  text: `
    SELECT ${OUTCOME} AS stored, t.prepared, t.attestation, t.archived_at IS NOT NULL AND t.prepared IS NULL AS archived,
      t.refunded_cents AS "refundedCents", t.completed_by IS NOT NULL AS completed,
      t.voided_by IS NOT NULL AS voided, coalesce(live.refunds, 0)::bigint AS refunds, coalesce(live.completions, 0)::integer AS completions,
      coalesce(live.voids, 0)::integer AS voids
    FROM (SELECT * FROM transaction
      WHERE organisation_id = $1 AND merchant_id = $2 AND audit > $3 ORDER BY audit LIMIT $4) t
    LEFT JOIN LATERAL (
      SELECT sum(o.amount_cents) FILTER (WHERE o.transaction_type = 'refund') AS refunds,
        count(*) FILTER (WHERE o.transaction_type = 'completion') AS completions,
        count(*) FILTER (WHERE o.transaction_type = 'void') AS voids
      FROM transaction o
      WHERE o.organisation_id = $1 AND o.merchant_id = $2 AND o.target_audit = t.audit
        AND o.status IN ('unknown', 'pending', 'approved')
    ) live ON true
    ORDER BY t.audit`,
};
