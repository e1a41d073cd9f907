import type { Statement } from '../../postgres/database.js';

/** Merchants of which transactions are listed. */
export const MERCHANTS_TO_LIST: Statement = {
  name: '',
  text: `
    SELECT organisation_id AS organisation, id, mode FROM merchant
    WHERE ($1::integer IS NULL OR id = $1) AND ($2::integer IS NULL OR organisation_id = $2)
      AND ($3::text IS NULL OR mode = $3)
    ORDER BY organisation_id, id`,
};

/** Of `t`. Between the two stand the audits of what was done to it, as `operations`. */
const SEEN_BY_OPERATORS = `
    SELECT t.organisation_id AS organisation, t.merchant_id AS merchant, t.audit,
      (SELECT username FROM gateway_user u WHERE u.id = t.user_id) AS user,
      CASE WHEN t.user_id = 0 THEN 'an account of the system'
        WHEN t.user_id < 0 THEN (SELECT name FROM operator p WHERE p.id = -t.user_id) END AS operator,
      round(extract(epoch FROM t.created_at) * 1000)::bigint AS "createdMs", t.transaction_type AS "transactionType",
      t.status, t.gateway_status_code AS "gatewayStatusCode", t.amount_cents AS "amountCents", t.currency, t.reference,
      t.correlation_id AS "correlationId", t.acquirer, t.card_mask AS card, t.card_type AS "cardType",
      t.bank_account AS "bankAccount", t.token_id AS token, t.response_code AS "responseCode",
      t.response_message AS "responseMessage", t.settlement_date::text AS "settlementDate",
      t.authorisation_code AS "authorisationCode", t.target_audit AS "targetAudit",
      t.completed_by AS "completedBy", t.voided_by AS "voidedBy", t.refunded_cents AS "refundedCents",
      ARRAY(`;
const AND_OF_ITS_END = `) AS operations,
      round(extract(epoch FROM t.decided_at) * 1000)::bigint AS "decidedMs",
      t.resolve_attempts AS attempts, t.reversing, round(extract(epoch FROM t.resolve_at) * 1000)::bigint AS "nextMs"`;

/** Everything that an operator may see of a transaction. Audits are unique within an organisation: it may be several. */
export const SHOW_TRANSACTION: Statement = {
  name: '',
  text: `${SEEN_BY_OPERATORS}SELECT audit FROM transaction f
        WHERE f.organisation_id = t.organisation_id AND f.merchant_id = t.merchant_id AND f.target_audit = t.audit
        ORDER BY created_at, audit LIMIT 100${AND_OF_ITS_END}
    FROM organisation o JOIN transaction t ON t.organisation_id = o.id AND t.audit = $1
    WHERE $2::integer IS NULL OR o.id = $2
    ORDER BY o.id`,
  spread: `
    WITH found AS MATERIALIZED (
      SELECT * FROM transaction WHERE audit = $1 AND ($2::integer IS NULL OR organisation_id = $2)
    )${SEEN_BY_OPERATORS}SELECT audit FROM operations_on(t.organisation_id, t.merchant_id, t.audit) f ORDER BY created_at, audit LIMIT 100${AND_OF_ITS_END}
    FROM found t ORDER BY t.organisation_id`,
};

/**
 * What is in doubt: what the resolver has, or is about to get, and what living and dead processes have under way, which their
 * leases lead to. The oldest first.
 */
export const IN_DOUBT: Statement = {
  name: '',
  text: `
    WITH doubts AS (
      SELECT organisation_id, audit, NULL::bigint AS process_id FROM transaction
      WHERE resolve_at IS NOT NULL AND status = 'unknown'
      UNION ALL
      SELECT t.organisation_id, t.audit, l.process_id
      FROM audit_lease l CROSS JOIN LATERAL (
        SELECT one.organisation_id, one.audit FROM transaction one
        WHERE one.organisation_id = l.organisation_id AND one.audit BETWEEN l.first_audit AND l.last_audit
          AND one.status = 'unknown' AND one.resolve_at IS NULL OFFSET 0
      ) t
    )
    SELECT t.organisation_id AS organisation, t.merchant_id AS merchant, t.audit,
      round(extract(epoch FROM t.created_at) * 1000)::bigint AS "createdMs", t.transaction_type AS "transactionType",
      t.amount_cents AS "amountCents", t.currency, t.acquirer, t.reference,
      CASE WHEN t.reversing THEN 'reversing' WHEN t.resolve_attempts > 0 THEN 'inquiring'
        WHEN t.resolve_at IS NOT NULL THEN 'waiting' ELSE 'under way' END AS state,
      t.resolve_attempts AS attempts, round(extract(epoch FROM t.resolve_at) * 1000)::bigint AS "nextMs",
      doubts.process_id AS process
    -- One by one: nobody knows beforehand how few they are, and a plan for many would read all that are stored.
    FROM doubts CROSS JOIN LATERAL (
      SELECT * FROM transaction one
      WHERE one.organisation_id = doubts.organisation_id AND one.audit = doubts.audit OFFSET 0
    ) t
    WHERE ($1::integer IS NULL OR t.merchant_id = $1) AND ($3::integer IS NULL OR t.organisation_id = $3)
      AND ($4::text IS NULL OR $4 = (SELECT m.mode FROM merchant m WHERE m.id = t.merchant_id))
    ORDER BY t.created_at, t.organisation_id, t.audit LIMIT $2`,
  spread: `
    WITH doubts AS (
      SELECT organisation_id, audit, NULL::bigint AS process_id FROM transactions_in_doubt(100000)
      UNION ALL
      SELECT t.organisation_id, t.audit, l.process_id
      FROM audit_lease l CROSS JOIN LATERAL transactions_under_way(l.organisation_id, l.first_audit, l.last_audit) t
    )
    SELECT t.organisation_id AS organisation, t.merchant_id AS merchant, t.audit,
      round(extract(epoch FROM t.created_at) * 1000)::bigint AS "createdMs", t.transaction_type AS "transactionType",
      t.amount_cents AS "amountCents", t.currency, t.acquirer, t.reference,
      CASE WHEN t.reversing THEN 'reversing' WHEN t.resolve_attempts > 0 THEN 'inquiring'
        WHEN t.resolve_at IS NOT NULL THEN 'waiting' ELSE 'under way' END AS state,
      t.resolve_attempts AS attempts, round(extract(epoch FROM t.resolve_at) * 1000)::bigint AS "nextMs",
      doubts.process_id AS process
    -- One by one: nobody knows beforehand how few they are, and a plan for many would read all that are stored.
    FROM doubts CROSS JOIN LATERAL transactions_at(ARRAY[doubts.organisation_id], ARRAY[doubts.audit]) t
    WHERE ($1::integer IS NULL OR t.merchant_id = $1) AND ($3::integer IS NULL OR t.organisation_id = $3)
      AND ($4::text IS NULL OR $4 = (SELECT m.mode FROM merchant m WHERE m.id = t.merchant_id))
    ORDER BY t.created_at, t.organisation_id, t.audit LIMIT $2`,
};
