import type { Statement } from '../../postgres/database.js';

/** One for a target: what the same operator has asked for it before is summed and decided by one at a time. */
export const LOCK_REQUESTS_OF_TARGET: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(hashtextextended(format('tollgate operator requests %s/%s', $1::integer, $2::integer), 0))`,
};

/** The number by which transactions and events know an operator, and which version of it there is, unless it was removed. */
export const OPERATOR_NUMBER: Statement = {
  name: '',
  text: `SELECT id, version, removed_at IS NOT NULL AS removed FROM operator WHERE name = $1`,
};

/** A request `r` and the transaction `t` that it has become, if it has. */
const REQUEST = `
    SELECT r.id, r.organisation_id AS organisation, r.merchant_id AS merchant, r.operation, r.target_audit AS "targetAudit",
      r.amount_cents AS "amountCents", r.currency, r.reason, r.requested_by AS "requestedBy",
      round(extract(epoch FROM r.requested_at) * 1000)::bigint AS "requestedMs", r.correlation_id AS "correlationId",
      CASE WHEN t.audit IS NOT NULL THEN 'done'
        WHEN r.state IN ('ready', 'waiting', 'approved') AND r.expires_at <= now() THEN 'expired' ELSE r.state END AS state,
      round(extract(epoch FROM r.expires_at) * 1000)::bigint AS "expiresMs", r.decided_by AS "decidedBy",
      round(extract(epoch FROM r.alone_from) * 1000)::bigint AS "aloneFromMs",
      round(extract(epoch FROM r.decided_at) * 1000)::bigint AS "decidedMs", r.decision_reason AS "decisionReason",
      r.failure, r.address, r.requester_version AS "requesterVersion", r.approver_version AS "approverVersion", r.seal, t.audit, t.status, t.response_code AS "responseCode", t.response_message AS "responseMessage"`;

const BECOME = `LEFT JOIN transaction t ON t.organisation_id = r.organisation_id AND t.merchant_id = r.merchant_id
      AND t.correlation_id = r.correlation_id`;

export const REQUEST_BY_CORRELATION_ID: Statement = {
  name: '',
  text: `${REQUEST}
    FROM operator_request r ${BECOME}
    WHERE r.organisation_id = $1 AND r.correlation_id = $2`,
};

/** Of this organisation ($2), or of any. */
export const REQUEST_BY_ID: Statement = {
  name: '',
  // guard(four eyes: a request of another organisation is not there): r.organisation_id = $2 ⇒ $2 > 0
  text: `${REQUEST}
    FROM operator_request r ${BECOME}
    WHERE r.id = $1 AND ($2::integer IS NULL OR r.organisation_id = $2)`,
};

/** The newest first: of an organisation ($1) or of all, and of one transaction ($2) or of all. `$3`: only those that are not at their end. */
export const LIST_REQUESTS: Statement = {
  name: '',
  text: `${REQUEST}
    FROM operator_request r ${BECOME}
    WHERE ($1::integer IS NULL OR r.organisation_id = $1) AND ($2::integer IS NULL OR r.target_audit = $2)
      AND (NOT $3::boolean OR (r.state IN ('ready', 'waiting', 'approved') AND r.expires_at > now() AND t.audit IS NULL))
    ORDER BY r.id DESC LIMIT $4`,
};

/** What this operator has asked for about one transaction, as far as it was done or may still be. */
export const ASKED_ALREADY: Statement = {
  name: '',
  text: `
    SELECT coalesce(sum(r.amount_cents), 0)::bigint AS cents
    FROM operator_request r ${BECOME}
    WHERE r.organisation_id = $1 AND r.target_audit = $2 AND r.requested_by = $3
      AND r.state IN ('ready', 'waiting', 'approved', 'done') AND coalesce(t.status, '') NOT IN ('declined', 'error')
      AND (t.audit IS NOT NULL OR r.expires_at > now())`,
};

/** Anew, or once more where it has failed before. */
export const STORE_REQUEST: Statement = {
  name: '',
  text: `
    INSERT INTO operator_request AS r (organisation_id, merchant_id, target_audit, operation, amount_cents, currency, reason,
      requested_by, correlation_id, state, expires_at, alone_from, address, requester_version, seal)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, to_timestamp($11::float8 / 1000), to_timestamp($12::float8 / 1000), $13, $14, $15)
    ON CONFLICT (organisation_id, correlation_id) DO UPDATE
      SET state = excluded.state, expires_at = excluded.expires_at, alone_from = excluded.alone_from, reason = excluded.reason, requested_by = excluded.requested_by,
        address = excluded.address, requester_version = excluded.requester_version, seal = excluded.seal, failure = NULL,
        taken_until = NULL, decided_by = NULL, decided_at = NULL, decision_reason = NULL, approver_version = NULL
      WHERE r.state = 'failed' AND r.target_audit = excluded.target_audit AND r.operation = excluded.operation
        AND r.amount_cents = excluded.amount_cents
    RETURNING r.id`,
};

/**
 * By another person, or after the day that somebody has to wait who is alone. In time, once: whoever is returned has decided. Until when
 * it has to be done ($5) goes along.
 */
export const APPROVE_REQUEST: Statement = {
  name: '',
  // guard(four eyes: not after its time): expires_at > now() AND ⇒
  // guard(four eyes: whoever asks for it does not approve it): AND (requested_by <> $3 OR alone_from <= now()) ⇒
  text: `
    UPDATE operator_request SET state = 'approved', decided_by = $3, decided_at = now(), decision_reason = $4,
      expires_at = to_timestamp($5::float8 / 1000), requester_version = $6, approver_version = $7, seal = $8
    WHERE organisation_id = $1 AND id = $2 AND state = 'waiting' AND expires_at > now() AND (requested_by <> $3 OR alone_from <= now())
    RETURNING id`,
};

/** Whoever made it may take it back. */
export const REFUSE_REQUEST: Statement = {
  name: '',
  text: `
    UPDATE operator_request SET state = 'refused', decided_by = $3, decided_at = now(), decision_reason = $4
    WHERE organisation_id = $1 AND id = $2 AND state = 'waiting' AND expires_at > now()
    RETURNING id`,
};

/** Nothing is begun in the last minute: when a request is shown as expired, no claim of it is under way any more. */
// guard(operator: what has expired is not taken): 1 minute ⇒ -1 day
const LAST_CALL = `interval '1 minute'`;

const TO_BE_TAKEN = `state IN ('ready', 'approved') AND expires_at > now() + ${LAST_CALL} AND (taken_until IS NULL OR taken_until <= now())`;

export const REQUEST_IS_DUE = `EXISTS (SELECT FROM operator_request WHERE ${TO_BE_TAKEN})`;

/**
 * The oldest that nobody works on, or whose gateway has not come to an end with it in time ($1). Not of an organisation of which this
 * process has enough in hand ($2).
 */
export const TAKE_REQUEST: Statement = {
  name: 'take-operator-request',
  text: `
    UPDATE operator_request r SET taken_until = least(now() + $1::float8 * interval '1 millisecond', r.expires_at - ${LAST_CALL})
    FROM (
      SELECT organisation_id, id FROM operator_request
      WHERE ${TO_BE_TAKEN}
        AND organisation_id <> ALL ($2::integer[])
      ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED) due
    WHERE r.organisation_id = due.organisation_id AND r.id = due.id
    RETURNING r.organisation_id AS organisation, r.id, r.correlation_id AS "correlationId",
      round(extract(epoch FROM r.taken_until) * 1000)::bigint AS "untilMs"`,
};

/** Its transaction is there. */
export const FINISH_REQUEST: Statement = {
  name: '',
  text: `UPDATE operator_request SET state = 'done' WHERE organisation_id = $1 AND id = $2 AND state IN ('ready', 'approved')`,
};

/** It could not be done, and nothing was: it no longer counts, and can be tried again. */
export const FAIL_REQUEST: Statement = {
  name: '',
  text: `
    UPDATE operator_request r SET state = 'failed', failure = $3
    WHERE r.organisation_id = $1 AND r.id = $2 AND r.state IN ('ready', 'approved') AND NOT EXISTS (
      SELECT 1 FROM transaction t WHERE t.organisation_id = r.organisation_id AND t.merchant_id = r.merchant_id
        AND t.correlation_id = r.correlation_id)`,
  spread: `
    UPDATE operator_request r SET state = 'failed', failure = $3
    WHERE r.organisation_id = $1 AND r.id = $2 AND r.state IN ('ready', 'approved') AND NOT EXISTS (
      SELECT 1 FROM transactions_called(r.organisation_id, r.merchant_id, r.correlation_id))`,
};
