import type { Statement } from '../../postgres/database.js';
import { TRANSACTION_COLUMNS } from './lookup.sql.js';

/** What the rules for its next operation go by, and what its row does not say of itself. */
export const TRANSACTION_AND_TERMS: Statement = {
  name: '',
  text: `
    SELECT ${TRANSACTION_COLUMNS}, t.version, t.mode, t.merchant_name AS "merchantName", t.card_days AS "cardDays",
      t.customer, t.installation, round(extract(epoch FROM t.resolve_at) * 1000)::bigint AS "resolveMs",
      t.archived_at IS NOT NULL AS archived
    FROM (
      SELECT one.*, m.mode, m.name AS merchant_name, m.card_days,
        coalesce(sent_by(one.organisation_id, one.audit), g.installation) AS installation,
        (SELECT customer_id FROM token WHERE token.organisation_id = one.organisation_id AND token.id = one.token_id) AS customer
      FROM transaction one JOIN merchant m ON m.id = one.merchant_id CROSS JOIN gateway g
      WHERE one.organisation_id = $1 AND one.audit = $2) t`,
};

/** Those that an index leads to: what changed more than once, or was not decided at once. */
export const EVENTS_OF_TRANSACTION: Statement = {
  name: '',
  text: `
    SELECT version, type, round(extract(epoch FROM created_at) * 1000)::bigint AS "createdMs" FROM event_feed
    WHERE organisation_id = $1 AND merchant_id = $2 AND subject = $3
      AND (version > 1 OR type IN ('transaction.unknown', 'transaction.pending'))
      AND (type = 'directdebit.returned' OR type LIKE 'transaction.%')
    ORDER BY version LIMIT $4`,
};

/** What was sent about these events, and what came of it. */
export const WEBHOOK_ATTEMPTS_OF_EVENTS: Statement = {
  name: '',
  text: `
    SELECT a.endpoint_id AS endpoint, e.url, round(extract(epoch FROM a.at) * 1000)::bigint AS "atMs", a.type, a.attempt, a.result,
      a.http_status AS "httpStatus", a.duration_ms AS "durationMs"
    FROM webhook_attempt a LEFT JOIN webhook_endpoint e ON e.organisation_id = a.organisation_id AND e.id = a.endpoint_id
    WHERE a.organisation_id = $1 AND a.event_id = ANY ($2::text[]) ORDER BY a.id LIMIT $3`,
};

/** What is still to be sent about a subject (`$3`, such as `transaction/17`). */
export const WEBHOOKS_TO_COME: Statement = {
  name: '',
  text: `
    SELECT d.endpoint_id AS endpoint, e.url, d.version, d.attempts, round(extract(epoch FROM d.next_at) * 1000)::bigint AS "nextMs"
    FROM webhook_endpoint e JOIN webhook_delivery d
      ON d.organisation_id = e.organisation_id AND d.endpoint_id = e.id AND d.subject = $3
    WHERE e.organisation_id = $1 AND e.merchant_id = $2 ORDER BY d.endpoint_id, d.version LIMIT $4`,
};

/** From the payment that everything goes back to, down to the last operation: so many at most. */
export const RELATED_TRANSACTIONS: Statement = {
  name: '',
  text: `
    WITH RECURSIVE upwards AS (
      SELECT organisation_id, merchant_id, audit, target_audit, 1 AS steps FROM transaction
      WHERE organisation_id = $1 AND audit = $2
      UNION ALL
      SELECT t.organisation_id, t.merchant_id, t.audit, t.target_audit, steps + 1
      FROM upwards JOIN transaction t ON t.organisation_id = $1 AND t.audit = upwards.target_audit
      WHERE steps < 10
    ), downwards AS (
      SELECT organisation_id, merchant_id, audit, 1 AS steps FROM upwards WHERE target_audit IS NULL
      UNION ALL
      SELECT below.organisation_id, below.merchant_id, below.audit, steps + 1
      FROM downwards CROSS JOIN LATERAL (
        SELECT t.organisation_id, t.merchant_id, t.audit FROM transaction t
        WHERE t.organisation_id = $1 AND t.merchant_id = downwards.merchant_id AND t.target_audit = downwards.audit
        ORDER BY t.created_at, t.audit LIMIT $3) below
      WHERE steps < 10
    )
    SELECT t.audit, t.transaction_type AS "transactionType", t.status, t.amount_cents AS "amountCents", t.currency,
      t.target_audit AS "targetAudit", round(extract(epoch FROM t.created_at) * 1000)::bigint AS "createdMs"
    FROM (SELECT DISTINCT audit FROM downwards UNION SELECT audit FROM upwards) found
    JOIN transaction t ON t.organisation_id = $1 AND t.audit = found.audit
    ORDER BY t.created_at, t.audit LIMIT $3`,
};
