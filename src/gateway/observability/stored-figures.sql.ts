import type { Statement } from '../../postgres/database.js';

/** For this database transaction: metrics must not hold up anything. */
export const LITTLE_TIME: Statement = {
  name: '',
  text: `SELECT set_config('statement_timeout', '1s', true)`,
};

/** Transactions that the resolver holds, by a partial index, at most `$1`. */
export const IN_DOUBT_FIGURES: Statement = {
  name: '',
  text: `
    SELECT acquirer, count(*)::integer AS count, (count(*) FILTER (WHERE reversing))::integer AS reversing,
      (extract(epoch FROM gateway_now() - min(created_at)))::float8 AS "oldestSeconds"
    FROM (
      SELECT acquirer, reversing, created_at FROM transaction
      WHERE resolve_at IS NOT NULL AND status = 'unknown' ORDER BY resolve_at LIMIT $1) due
    GROUP BY acquirer`,
  spread: `
    SELECT acquirer, count(*)::integer AS count, (count(*) FILTER (WHERE reversing))::integer AS reversing,
      (extract(epoch FROM gateway_now() - min(created_at)))::float8 AS "oldestSeconds"
    FROM (
      SELECT acquirer, reversing, created_at FROM transactions_in_doubt($1::integer) ORDER BY resolve_at LIMIT $1) due
    GROUP BY acquirer`,
};

export const WEBHOOK_FIGURES: Statement = {
  name: '',
  text: `
    SELECT
      (count(*) FILTER (WHERE disabled_at IS NULL AND failing_since IS NULL))::integer AS delivering,
      (count(*) FILTER (WHERE disabled_at IS NULL AND failing_since IS NOT NULL))::integer AS failing,
      (count(*) FILTER (WHERE disabled_at IS NOT NULL))::integer AS disabled,
      (extract(epoch FROM now() - min(failing_since) FILTER (WHERE disabled_at IS NULL)))::float8 AS "failingSeconds",
      (SELECT count(*)::integer FROM (SELECT FROM webhook_delivery LIMIT $1) deliveries) AS waiting
    FROM (SELECT disabled_at, failing_since FROM webhook_endpoint LIMIT $1) endpoints`,
};

/** Each merchant's newest key. */
export const KEY_FIGURES: Statement = {
  name: '',
  text: `
    SELECT count(*)::integer AS count, (extract(epoch FROM now() - min(created_at) FILTER (WHERE newest)))::float8 AS "oldestSeconds"
    FROM (
      SELECT created_at, lead(merchant_id) OVER (ORDER BY organisation_id, merchant_id, version) IS DISTINCT FROM merchant_id AS newest
      FROM (
        SELECT organisation_id, merchant_id, version, created_at FROM data_key
        ORDER BY organisation_id, merchant_id, version LIMIT $1) first
    ) keys`,
};
