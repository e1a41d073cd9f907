import { columns, date, float, integer, optionalText, smallint, text } from '../postgres/columns.js';
import type { Statement } from '../postgres/database.js';
import type { Recording, Undecided } from './transaction.js';

export const ANSWERS = columns<Recording>('answer', {
  organisation_id: integer(({ organisationId }) => organisationId),
  audit: integer(({ intent }) => intent.audit),
  resolve_attempts: integer(({ attempt }) => attempt),
  gateway_status_code: smallint(({ outcome }) => outcome.gatewayStatusCode),
  voidable_until_ms: float(({ outcome }) => outcome.voidableUntilMs),
  status: text(({ outcome }) => outcome.status),
  response_code: optionalText(({ outcome }) => outcome.responseCode),
  response_message: optionalText(({ outcome }) => outcome.responseMessage),
  settlement_date: date(({ outcome }) => outcome.settlementDate),
  authorisation_code: optionalText(({ outcome }) => outcome.authorisationCode),
  preauthorisation_code: optionalText(({ outcome }) => outcome.preauthorisationCode),
});

const DECIDE = `
  UPDATE transaction t SET
    status = answer.status, gateway_status_code = answer.gateway_status_code,
    response_code = answer.response_code, response_message = answer.response_message,
    settlement_date = answer.settlement_date, authorisation_code = answer.authorisation_code,
    preauthorisation_code = answer.preauthorisation_code,
    voidable_until = to_timestamp(answer.voidable_until_ms / 1000), resolve_at = NULL,
    decided_at = (SELECT gateway_now())
  FROM ${ANSWERS.rows}
  WHERE t.organisation_id = answer.organisation_id AND t.audit = answer.audit
    AND t.status = 'unknown' AND t.resolve_attempts = answer.resolve_attempts`;

/**
 * Commit B of payments with a method of their own. Once the resolver has taken a transaction (its attempts count up),
 * only that attempt may decide it: an answer that comes late changes nothing. Returned is what was decided.
 */
export const RECORD_DIRECT: Statement = {
  name: 'record-direct',
  text: `${DECIDE}
  RETURNING t.organisation_id AS "organisationId", t.audit`,
};

/**
 * A direct debit that was taken in begins its way to the bank that took it in, for good. The simulated bank takes it when
 * the day closes, the merchant's own when the operator makes the file.
 */
const NEW_ITEMS = `
  INSERT INTO directdebit_item (organisation_id, audit, merchant_id, account_audit, simulated, next_at)
  SELECT organisation_id, audit, merchant_id, coalesce(target_audit, audit), acquirer <> 'directdebit',
    CASE WHEN acquirer <> 'directdebit' THEN voidable_until END
  FROM decided WHERE status = 'pending'`;

/** The same where direct debits are among them. */
export const RECORD_DIRECT_WITH_ITEMS: Statement = {
  name: 'record-direct-with-items',
  text: `
    WITH decided AS (
      ${DECIDE}
      RETURNING t.organisation_id, t.audit, t.merchant_id, t.target_audit, t.status, t.voidable_until, t.acquirer
    ), items AS (
      ${NEW_ITEMS}
    )
    SELECT organisation_id AS "organisationId", audit FROM decided`,
};

/**
 * Commit B of operations on an earlier transaction: what did not happen gives its reservation back; a void that did
 * makes its target voided, and gives a voided completion's or refund's amount back to that one's own target.
 */
export const RECORD_TARGETED: Statement = {
  name: 'record-targeted',
  text: `
    WITH decided AS (
      ${DECIDE}
      RETURNING t.organisation_id, t.audit, t.merchant_id, t.transaction_type, t.target_audit, t.amount_cents,
        t.status, t.voidable_until, t.acquirer, t.status IN ('approved', 'pending') AS happened
    ), items AS (
      ${NEW_ITEMS}
    ), effects AS (
      SELECT organisation_id, target_audit AS audit,
        CASE WHEN transaction_type = 'refund' THEN amount_cents ELSE 0 END AS refund_cents_back,
        transaction_type = 'completion' AS completion_back,
        transaction_type = 'void' AS void_back,
        false AS voided
      FROM decided WHERE NOT happened
      UNION ALL
      SELECT organisation_id, target_audit, 0, false, false, true
      FROM decided WHERE happened AND transaction_type = 'void'
      UNION ALL
      SELECT undone.organisation_id, undone.target_audit,
        CASE WHEN undone.transaction_type = 'refund' THEN undone.amount_cents ELSE 0 END,
        undone.transaction_type = 'completion', false, false
      FROM decided JOIN transaction undone
        ON undone.organisation_id = decided.organisation_id AND undone.audit = decided.target_audit
      WHERE decided.happened AND decided.transaction_type = 'void' AND undone.target_audit IS NOT NULL
    ), merged AS (
      SELECT organisation_id, audit, sum(refund_cents_back) AS refund_cents_back,
        bool_or(completion_back) AS completion_back, bool_or(void_back) AS void_back, bool_or(voided) AS voided
      FROM effects GROUP BY organisation_id, audit ORDER BY audit
    ), applied AS (
      UPDATE transaction target SET
        refunded_cents = target.refunded_cents - merged.refund_cents_back,
        completed_cents = CASE WHEN merged.completion_back THEN 0 ELSE target.completed_cents END,
        completed_by = CASE WHEN merged.completion_back THEN NULL ELSE target.completed_by END,
        voided_by = CASE WHEN merged.void_back THEN NULL ELSE target.voided_by END,
        status = CASE WHEN merged.voided THEN 'voided' ELSE target.status END,
        decided_at = CASE WHEN merged.voided THEN (SELECT gateway_now()) ELSE target.decided_at END
      FROM merged
      WHERE target.organisation_id = merged.organisation_id AND target.audit = merged.audit
    )
    SELECT organisation_id AS "organisationId", audit FROM decided`,
};

export const DOUBTS = columns<Undecided>('doubt', {
  organisation_id: integer(({ organisationId }) => organisationId),
  audit: integer(({ audit }) => audit),
});

/** No readable answer: the resolver takes over at once. */
export const HAND_TO_RESOLVER: Statement = {
  name: 'hand-to-resolver',
  text: `
    UPDATE transaction t SET resolve_at = now()
    FROM ${DOUBTS.rows}
    WHERE t.organisation_id = doubt.organisation_id AND t.audit = doubt.audit
      AND t.status = 'unknown' AND t.resolve_at IS NULL`,
};
