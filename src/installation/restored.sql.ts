import type { Statement } from '../postgres/database.js';

/** Every other number that is given out: those that operators see by less, those that nobody sees by more. */
export const MOVE_SEQUENCES: Statement = {
  name: '',
  text: `
    SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, least(max_value, coalesce(last_value, start_value - 1)
      + $1::bigint * CASE WHEN data_type = 'bigint'::regtype AND sequencename <> 'operator_request_id_seq' THEN 1000000 ELSE 10000 END))
    FROM pg_sequences WHERE schemaname = current_schema()`,
};

/** What waits for a bank may be in a file that was made after the backup. */
export const DEBITS_THAT_WAIT: Statement = {
  name: '',
  text: `
    SELECT i.merchant_id AS merchant, count(*)::integer AS items, sum(t.amount_cents)::float8 AS "amountCents",
      coalesce((SELECT max(f.number) FROM directdebit_file f
        WHERE f.organisation_id = i.organisation_id AND f.merchant_id = i.merchant_id), 0) AS "lastFile"
    FROM directdebit_item i JOIN transaction t ON t.organisation_id = i.organisation_id AND t.audit = i.audit
    WHERE i.state = 'waiting'
    GROUP BY i.organisation_id, i.merchant_id ORDER BY i.merchant_id`,
  spread: `
    SELECT i.merchant_id AS merchant, count(*)::integer AS items, sum(t.amount_cents)::float8 AS "amountCents",
      coalesce((SELECT max(f.number) FROM directdebit_file f
        WHERE f.organisation_id = i.organisation_id AND f.merchant_id = i.merchant_id), 0) AS "lastFile"
    FROM directdebit_item i CROSS JOIN LATERAL transactions_at(ARRAY[i.organisation_id], ARRAY[i.audit]) t
    WHERE i.state = 'waiting'
    GROUP BY i.organisation_id, i.merchant_id ORDER BY i.merchant_id`,
};

export const WEBHOOKS_THAT_WAIT: Statement = {
  name: '',
  text: `
    SELECT (SELECT count(*)::integer FROM webhook_endpoint WHERE disabled_at IS NULL) AS endpoints,
      (SELECT count(*)::integer FROM webhook_delivery) AS deliveries`,
};

export const WHO_MAY_LOG_IN: Statement = {
  name: '',
  text: `SELECT count(*)::integer AS users FROM gateway_user WHERE revoked_at IS NULL`,
};

/**
 * Every link to an acquirer with every settlement day of $1: whether its file was reconciled after $2, and how many of its payments are
 * not here and nobody has looked at.
 */
export const RECONCILED_SINCE: Statement = {
  name: '',
  text: `
    SELECT l.acquirer, d.day AS date,
      EXISTS (SELECT FROM journal j WHERE j.action = 'settlement.reconciled' AND j.at > to_timestamp($2::float8 / 1000)
        AND starts_with(j.detail, d.day || ', ' || l.acquirer || ': ')) AS reconciled,
      (SELECT count(*)::integer FROM settlement_difference s WHERE s.settlement_date = d.day::date AND s.acquirer = l.acquirer
        AND s.kind = 'missing_here' AND s.looked_at IS NULL AND s.gone_at IS NULL) AS "missingHere"
    FROM (SELECT acquirer FROM merchant WHERE acquirer IS NOT NULL UNION SELECT acquirer FROM route UNION SELECT name FROM acquirer) l
    CROSS JOIN unnest($1::text[]) AS d(day)
    ORDER BY d.day, l.acquirer`,
};

export const BACKED_UP_STATE: Statement = {
  name: '',
  text: `
    SELECT (SELECT name FROM schema_migration ORDER BY version DESC LIMIT 1) AS schema, key_proof_key AS "keyEncryptionKey"
    FROM gateway`,
};
