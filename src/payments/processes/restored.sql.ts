import type { Statement } from '../../postgres/database.js';

/** Of an organisation `o`: audits before this one are used, or will never be assigned. */
// guard(lost time: audits of blocks that were leased at the backup may be lost, too): least(o.next_audit, (SELECT min(l.first_audit) FROM audit_lease l WHERE l.organisation_id = o.id)) ⇒ o.next_audit
const FIRST_UNUSED = `least(o.next_audit, (SELECT min(l.first_audit) FROM audit_lease l WHERE l.organisation_id = o.id))`;

/**
 * Each counter moves by a fixed part and by a part that grows with the time since the backup: ten times the organisation's
 * average, at least 20 a second. $1: how often this backup has been restored, this time included. $2: seconds since the backup.
 * $3: the number to use instead, if the operator knows better.
 */
export const MOVE_COUNTERS: Statement = {
  name: '',
  // guard(restore: audits and IDs move past what may have been used): + m.audits, ⇒ ,
  text: `
    WITH former AS (
      SELECT id, next_audit, next_customer_id, next_token_id, next_checkout,
        greatest(86400, extract(epoch FROM now() - created_at))::float8 AS age
      FROM organisation FOR UPDATE
    ), moved AS (
      SELECT id, next_audit, next_customer_id, next_token_id,
        coalesce($3::bigint, $1::bigint * 1000000 + ceil($2::float8 * greatest(20, 10 * next_audit / age))::bigint) AS audits,
        coalesce($3::bigint, $1::bigint * 1000000 + ceil($2::float8 * greatest(20, 10 * next_customer_id / age))::bigint) AS customers,
        coalesce($3::bigint, $1::bigint * 1000000 + ceil($2::float8 * greatest(20, 10 * next_token_id / age))::bigint) AS tokens,
        coalesce($3::bigint, $1::bigint * 1000000 + ceil($2::float8 * greatest(20, 10 * next_checkout / age))::bigint) AS checkouts
      FROM former)
    UPDATE organisation o SET lost_first_audit = least(o.lost_first_audit, ${FIRST_UNUSED}),
      lost_last_audit = o.next_audit + m.audits - 1, next_audit = o.next_audit + m.audits, next_customer_id = o.next_customer_id + m.customers,
      next_token_id = o.next_token_id + m.tokens, next_checkout = o.next_checkout + m.checkouts
    FROM moved m WHERE m.id = o.id
    RETURNING o.id AS organisation, m.next_audit::float8 AS "fromAudit", o.next_audit::float8 AS "toAudit",
      m.next_customer_id::float8 AS "fromCustomer", o.next_customer_id::float8 AS "toCustomer",
      m.next_token_id::float8 AS "fromToken", o.next_token_id::float8 AS "toToken"`,
};

/** Search fences are numbered, too, and every transaction in doubt must be found. $2 is the start of the lost time. */
export const MOVE_GATEWAY: Statement = {
  name: '',
  text: `
    UPDATE gateway SET lost_from = least(lost_from, to_timestamp($2::float8 / 1000), now()), lost_until = now(), lineage = database_lineage(), newest_absence = newest_absence + $1::bigint * 1000000, sweep_at = now()
    RETURNING nullif(closed_day, '-infinity')::text AS "closedDay"`,
};

/**
 * Events are identified by their subject's version. A transaction that can still be decided may have been decided, with an
 * event, after the backup.
 */
export const MOVE_VERSIONS_IN_DOUBT: Statement = {
  name: '',
  // guard(counters: what can still be decided gets a version that nobody has seen): $ ⇒ 0 * $
  text: `
    WITH moved AS (
      UPDATE transaction SET version = version + $1 WHERE status IN ('unknown', 'pending')
      RETURNING acquirer, currency, status, amount_cents, created_at)
    SELECT acquirer, currency, count(*)::integer AS transactions, sum(amount_cents)::float8 AS "amountCents", min(created_at) AS oldest
    FROM moved WHERE status = 'unknown' GROUP BY acquirer, currency ORDER BY acquirer, currency`,
};

/**
 * The database has gone back by an unknown time: everything since $1 may be lost. The counters are about to move by $2, or
 * another process has just moved them.
 */
export const NOTE_LOST_TIME: Statement = {
  name: '',
  text: `
    WITH noted AS (
      UPDATE gateway SET lost_from = least(lost_from, $1::timestamptz, now()), lost_until = now()
      RETURNING (extract(epoch FROM lost_from) * 1000)::float8 AS "fromMs", (extract(epoch FROM lost_until) * 1000)::float8 AS "untilMs"
    ), audits AS (
      UPDATE organisation o SET
        lost_first_audit = greatest(1, least(o.lost_first_audit, ${FIRST_UNUSED}, o.next_audit - 2 * $2::bigint)),
        lost_last_audit = greatest(o.lost_last_audit, least(o.next_audit + $2::bigint - 1, 2147483647))
    )
    SELECT * FROM noted`,
};

export const LOST_TIME: Statement = {
  name: '',
  text: `
    SELECT (extract(epoch FROM lost_from) * 1000)::float8 AS "fromMs", (extract(epoch FROM lost_until) * 1000)::float8 AS "untilMs"
    FROM gateway WHERE lost_from IS NOT NULL`,
};

export const LOST_TIME_UNJOURNALLED: Statement = {
  name: '',
  text: `UPDATE gateway SET lost_noted_by = $1`,
};

/** A second caller finds nothing. */
export const TAKE_UNJOURNALLED: Statement = {
  name: '',
  text: `
    WITH unjournalled AS (SELECT only_row, lost_noted_by FROM gateway WHERE lost_noted_by IS NOT NULL FOR UPDATE)
    UPDATE gateway g SET lost_noted_by = NULL FROM unjournalled u WHERE g.only_row = u.only_row
    RETURNING u.lost_noted_by AS "notedBy", (extract(epoch FROM g.lost_from) * 1000)::float8 AS "fromMs",
      (extract(epoch FROM g.lost_until) * 1000)::float8 AS "untilMs"`,
};

export const FORGET_LOST_TIME: Statement = {
  name: '',
  text: `
    WITH audits AS (UPDATE organisation SET lost_first_audit = NULL, lost_last_audit = NULL WHERE lost_first_audit IS NOT NULL)
    UPDATE gateway SET lost_from = NULL, lost_until = NULL WHERE lost_from IS NOT NULL RETURNING only_row`,
};

/** Processes of this database that run now, or ran a moment ago. */
export const LIVING_PROCESSES: Statement = {
  name: '',
  text: `SELECT count(*)::integer AS processes FROM process WHERE seen_at > now() - interval '20 seconds'`,
};
