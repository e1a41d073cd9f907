import type { Statement } from '../postgres/database.js';

/** How far the counting is, by the gateway's clock. If nothing is left to count, the figures are current. */
export const FIGURES_STATE: Statement = {
  name: '',
  text: `
    SELECT (extract(epoch FROM gateway_now()) * 1000)::float8 AS "nowMs",
      (extract(epoch FROM CASE WHEN f.position >= s.position THEN gateway_now()
        ELSE greatest(f.counted_until, 'epoch') END) * 1000)::float8 AS "countedUntilMs",
      (extract(epoch FROM greatest(f.minutes_from, 'epoch')) * 1000)::float8 AS "minutesFromMs",
      (extract(epoch FROM greatest(f.hours_from, 'epoch')) * 1000)::float8 AS "hoursFromMs"
    FROM figures_progress f CROSS JOIN event_sequencer s`,
};

/** One organisation or all (0), in a period; of one mode and transaction type, if named. */
const WANTED = `organisation_id = $1`;
const OF_KIND = `($4::text IS NULL OR mode = $4) AND ($5::text IS NULL OR transaction_type = $5)`;

export const MINUTES_OF_DAY: Statement = {
  name: '',
  text: `
    SELECT (extract(epoch FROM minute) * 1000)::bigint AS "atMs", status, currency, sum(count)::bigint AS count,
      coalesce(sum(cents) FILTER (WHERE status = 'approved' AND transaction_type IN ('purchase', 'completion')), 0)::bigint AS "takenCents"
    FROM figures_by_minute
    WHERE ${WANTED} AND minute >= to_timestamp($2::float8 / 1000) AND minute < to_timestamp($3::float8 / 1000) AND ${OF_KIND}
    GROUP BY minute, status, currency`,
};

export const HOURS_OF_DAY: Statement = {
  name: '',
  text: `
    SELECT (extract(epoch FROM hour) * 1000)::bigint AS "atMs", currency, transaction_type AS "transactionType", status, acquirer, method,
      response_code AS "responseCode", sum(count)::bigint AS count, sum(cents)::bigint AS cents
    FROM figures_by_hour
    WHERE ${WANTED} AND hour >= to_timestamp($2::float8 / 1000) AND hour < to_timestamp($3::float8 / 1000) AND ${OF_KIND}
    GROUP BY hour, currency, transaction_type, status, acquirer, method, response_code`,
};

export const LINKS_OF_ORGANISATION: Statement = {
  name: '',
  text: `
    SELECT acquirer FROM merchant WHERE organisation_id = $1 AND acquirer IS NOT NULL
    UNION SELECT acquirer FROM route WHERE organisation_id = $1`,
};

/** One organisation or all; a bounded number of waiting rows is examined. */
export const FEED_AND_WEBHOOK_LAGS: Statement = {
  name: '',
  text: `
    SELECT
      (SELECT (extract(epoch FROM gateway_now() - min(created_at)))::float8
        FROM (SELECT created_at FROM event LIMIT $2) unplaced) AS "unplacedSeconds",
      (SELECT count(*)::integer FROM (
        SELECT FROM webhook_delivery WHERE $1::integer IS NULL OR organisation_id = $1 LIMIT $2) deliveries) AS "webhooksWaiting",
      count(*)::integer AS "webhooksFailing",
      (extract(epoch FROM now() - min(failing_since)))::float8 AS "webhooksFailingSeconds"
    FROM (
      SELECT failing_since FROM webhook_endpoint
      WHERE disabled_at IS NULL AND failing_since IS NOT NULL AND ($1::integer IS NULL OR organisation_id = $1) LIMIT $2) failing`,
};

/**
 * The message to consoles each second: for each of these organisations (0: all) and each mode, the figures since `$2` and of
 * the minutes from `$3` and `$4`.
 */
export const LIVE_FIGURES: Statement = {
  name: 'live-figures',
  text: `
    SELECT wanted AS organisation, coalesce(f.mode, 'test') AS mode, coalesce(f.status, '') AS status, coalesce(sum(f.count), 0)::bigint AS count,
      coalesce(sum(f.count) FILTER (WHERE f.minute >= to_timestamp($4::float8 / 1000)), 0)::bigint AS "thisMinute",
      coalesce(sum(f.count) FILTER (WHERE f.minute >= to_timestamp($3::float8 / 1000) AND f.minute < to_timestamp($4::float8 / 1000)), 0)::bigint AS "lastMinute",
      coalesce(sum(f.cents), 0)::bigint AS cents
    FROM unnest($1::integer[]) AS wanted LEFT JOIN figures_by_minute f
      ON f.organisation_id = wanted AND f.minute >= to_timestamp($2::float8 / 1000)
    GROUP BY wanted, f.mode, f.status`,
};

/** Transactions that the resolver holds, by the partial index, up to a limit. */
export const LIVE_DOUBTS: Statement = {
  name: 'live-doubts',
  text: `
    SELECT due.organisation_id AS organisation, m.mode, count(*)::integer AS count
    FROM (
      SELECT organisation_id, merchant_id FROM transaction
      WHERE resolve_at IS NOT NULL AND status = 'unknown' ORDER BY resolve_at LIMIT $1) due
    JOIN merchant m ON m.id = due.merchant_id GROUP BY due.organisation_id, m.mode`,
  spread: `
    SELECT due.organisation_id AS organisation, m.mode, count(*)::integer AS count
    FROM (
      SELECT organisation_id, merchant_id FROM transactions_in_doubt($1::integer) ORDER BY resolve_at LIMIT $1) due
    JOIN merchant m ON m.id = due.merchant_id GROUP BY due.organisation_id, m.mode`,
};
