import type { Statement } from '../postgres/database.js';

/**
 * Each by a share that is certain and by one that grows with the time since the backup: ten times what the organisation has used on
 * average, and at least 20 a second. $1: how often that backup was brought back, this time included. $2: the seconds. $3: how many
 * instead, if the operator knows better.
 */
export const MOVE_COUNTERS: Statement = {
  name: '',
  text: `
    WITH former AS (
      SELECT id, next_audit, next_customer_id, next_token_id,
        greatest(86400, extract(epoch FROM now() - created_at))::float8 AS age
      FROM organisation FOR UPDATE
    ), moved AS (
      SELECT id, next_audit, next_customer_id, next_token_id,
        coalesce($3::bigint, $1::bigint * 1000000 + ceil($2::float8 * greatest(20, 10 * next_audit / age))::bigint) AS audits,
        coalesce($3::bigint, $1::bigint * 1000000 + ceil($2::float8 * greatest(20, 10 * next_customer_id / age))::bigint) AS customers,
        coalesce($3::bigint, $1::bigint * 1000000 + ceil($2::float8 * greatest(20, 10 * next_token_id / age))::bigint) AS tokens
      FROM former)
    UPDATE organisation o SET next_audit = o.next_audit + m.audits, next_customer_id = o.next_customer_id + m.customers,
      next_token_id = o.next_token_id + m.tokens
    FROM moved m WHERE m.id = o.id
    RETURNING o.id AS organisation, m.next_audit::float8 AS "fromAudit", o.next_audit::float8 AS "toAudit",
      m.next_customer_id::float8 AS "fromCustomer", o.next_customer_id::float8 AS "toCustomer",
      m.next_token_id::float8 AS "fromToken", o.next_token_id::float8 AS "toToken"`,
};

/** Search fences are numbered, too; and every transaction in doubt is to be found. */
export const MOVE_GATEWAY: Statement = {
  name: '',
  text: `
    UPDATE gateway SET lineage = database_lineage(), newest_absence = newest_absence + $1::bigint * 1000000, sweep_at = now()
    RETURNING nullif(closed_day, '-infinity')::text AS "closedDay"`,
};

/** Events are known by the versions of what they are about. What can still be decided may have been decided, and told, after the backup. */
export const MOVE_VERSIONS_IN_DOUBT: Statement = {
  name: '',
  text: `
    WITH moved AS (
      UPDATE transaction SET version = version + $1 WHERE status IN ('unknown', 'pending')
      RETURNING acquirer, currency, status, amount_cents, created_at)
    SELECT acquirer, currency, count(*)::integer AS transactions, sum(amount_cents)::float8 AS "amountCents", min(created_at) AS oldest
    FROM moved WHERE status = 'unknown' GROUP BY acquirer, currency ORDER BY acquirer, currency`,
};

/** Processes of this database that are at work, or were a moment ago. */
export const LIVING_PROCESSES: Statement = {
  name: '',
  text: `SELECT count(*)::integer AS processes FROM process WHERE seen_at > now() - interval '20 seconds'`,
};
