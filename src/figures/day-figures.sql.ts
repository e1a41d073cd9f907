import type { Statement } from '../postgres/database.js';

/** Whether any events are still uncounted. */
export const COUNT_IS_DUE = `(SELECT s.position > f.position FROM event_sequencer s CROSS JOIN figures_progress f)`;

export const ANYTHING_TO_COUNT: Statement = {
  name: 'anything-to-count',
  text: `SELECT ${COUNT_IS_DUE} AS any`,
};

/** One process at a time, until the database transaction ends. */
export const LOCK_FIGURES: Statement = {
  name: 'lock-figures',
  // guard(figures: one at a time counts): pg_try_advisory_xact_lock(hashtext('tollgate figures')) ⇒ true
  text: `SELECT pg_try_advisory_xact_lock(hashtext('tollgate figures')) AS locked`,
};

export const FIGURES_PROGRESS: Statement = {
  name: 'figures-progress',
  text: `
    SELECT greatest(f.position, s.forgotten) AS position, s.position AS newest, s.forgotten AS first
    FROM figures_progress f CROSS JOIN event_sequencer s`,
};

/** The acquirer's code at that time: see `past.ts`. */
const CODE_OF_NEW = `CASE WHEN status IN ('unknown', 'pending') THEN '' WHEN status = 'approved' AND status_now = 'declined' THEN '00'
        ELSE code_now END`;
const CODE_OF_EARLIER = `CASE WHEN earlier IN ('unknown', 'pending') THEN '' WHEN earlier = 'approved' AND status_now = 'declined' THEN '00'
        ELSE code_now END`;

/** The transactions of the events. Their source and a condition follow. */
const MADE_AS = `
      SELECT t.merchant_id, date_bin('1 minute', t.created_at, 'epoch') AS minute, t.created_at, t.currency, t.transaction_type,
        t.acquirer, t.amount_cents, t.status AS status_now,
        CASE WHEN t.bank_account IS NULL THEN coalesce(t.card_type, '') ELSE 'bankaccount' END AS method,
        left(coalesce(t.response_code, ''), 32) AS code_now
      FROM`;

const TOLD_OF = `t WHERE t.organisation_id = told.organisation_id AND t.audit = told.audit`;

/** Row by row (`OFFSET 0`): a plan for many would read every stored transaction. */
const MADE = `${MADE_AS} transaction ${TOLD_OF} OFFSET 0`;

const MADE_OF_STORED = `${MADE_AS} stored ${TOLD_OF}`;

/** For distributed organisations: the transactions of the events, read beforehand. */
const STORED = `stored AS MATERIALIZED (
      SELECT t.* FROM (
        SELECT array_agg(organisation_id) AS organisations, array_agg(audit) AS audits FROM taken
        WHERE type = 'directdebit.returned' OR type LIKE 'transaction.%') asked,
        transactions_at(asked.organisations, asked.audits) t
    ), `;

/** A first event that decides: nothing precedes it, and later events show it by their type. */
const DECIDES_AT_ONCE = `version = 1 AND type IN ('transaction.approved', 'transaction.declined', 'transaction.error')`;

const TAKE_EVENTS = `
    WITH taken AS MATERIALIZED (
      SELECT position, created_at, organisation_id, subject AS audit, version, type FROM event_feed
      WHERE slot = ANY ($1::smallint[]) AND position > $2::bigint AND position <= $3::bigint ORDER BY position LIMIT $4
    ), `;

/** One organisation at a time: its audits are consecutive, and so are their index entries. */
const DECIDED_AT_ONCE = `
        SELECT asked.organisation_id, asked.status, made.*
        FROM (
          SELECT organisation_id, split_part(type, '.', 2) AS status, array_agg(audit) AS audits FROM taken
          WHERE ${DECIDES_AT_ONCE} GROUP BY organisation_id, type) asked
        CROSS JOIN LATERAL (${MADE_AS} transaction t
          WHERE t.organisation_id = asked.organisation_id AND t.audit = ANY (asked.audits) OFFSET 0) made`;

const DECIDED_AT_ONCE_OF_STORED = `
        SELECT told.organisation_id, split_part(told.type, '.', 2) AS status, made.*
        FROM taken told CROSS JOIN LATERAL (${MADE_OF_STORED}) made WHERE ${DECIDES_AT_ONCE}`;

const COUNT_AT_ONCE = `decided AS (
      SELECT organisation_id, merchant_id, minute, currency, transaction_type, status, acquirer, method,
        ${CODE_OF_NEW} AS response_code, count(*) AS count, sum(amount_cents) AS cents
      FROM (`;

// guard(figures: what was approved and is undone is taken out from where it was counted): CASE WHEN told.undoes THEN 'approved' END ⇒ NULL
// guard(figures: what is undecided is taken out from where it was counted): before.status, ⇒
const COUNT_CHANGED = `) first
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
    ), told AS MATERIALIZED (
      SELECT position, organisation_id, audit,
        CASE WHEN type = 'directdebit.returned' THEN 'declined' ELSE split_part(type, '.', 2) END AS status,
        type IN ('directdebit.returned', 'transaction.voided') AS undoes
      FROM taken
      WHERE (type = 'directdebit.returned' OR type LIKE 'transaction.%') AND NOT (${DECIDES_AT_ONCE})
    ), changed AS MATERIALIZED (
      SELECT told.organisation_id, told.audit, told.status, made.*,
        coalesce(lag(told.status) OVER of_subject, before.status, CASE WHEN told.undoes THEN 'approved' END) AS earlier,
        lead(told.status) OVER of_subject IS NULL AS last
      FROM told CROSS JOIN LATERAL (`;

// guard(figures: what lies before the days that are kept is not counted): minute >= (SELECT minutes_from FROM figures_progress) ⇒ true
const ADD_UP = `) made
      LEFT JOIN LATERAL (
        SELECT u.status FROM figures_undecided u
        WHERE u.organisation_id = told.organisation_id AND u.audit = told.audit OFFSET 0) before ON true
      WINDOW of_subject AS (PARTITION BY told.organisation_id, told.audit ORDER BY told.position)
    ), counted AS MATERIALIZED (
      SELECT each.*, m.mode
      FROM (
        SELECT * FROM decided
        UNION ALL
        SELECT organisation_id, merchant_id, minute, currency, transaction_type, status, acquirer, method,
          ${CODE_OF_NEW}, 1, amount_cents
        FROM changed
        UNION ALL
        SELECT organisation_id, merchant_id, minute, currency, transaction_type, earlier, acquirer, method,
          ${CODE_OF_EARLIER}, -1, -amount_cents
        FROM changed WHERE earlier IS NOT NULL) each
      JOIN merchant m ON m.id = each.merchant_id
    ), by_minute AS (
      INSERT INTO figures_by_minute AS f (organisation_id, minute, mode, currency, transaction_type, status, count, cents)
      SELECT whose.id, minute, mode, currency, transaction_type, status, sum(count), sum(cents)
      FROM counted CROSS JOIN LATERAL (VALUES (organisation_id), (0)) whose(id)
      WHERE minute >= (SELECT minutes_from FROM figures_progress)
      GROUP BY whose.id, minute, mode, currency, transaction_type, status HAVING sum(count) <> 0 OR sum(cents) <> 0
      ON CONFLICT (organisation_id, minute, mode, currency, transaction_type, status)
      DO UPDATE SET count = f.count + excluded.count, cents = f.cents + excluded.cents
    ), by_hour AS (
      INSERT INTO figures_by_hour AS f (organisation_id, hour, mode, currency, transaction_type, status, acquirer, method,
        response_code, count, cents)
      SELECT whose.id, at.hour, mode, currency, transaction_type, status, acquirer, method, response_code, sum(count), sum(cents)
      FROM counted CROSS JOIN LATERAL (SELECT date_bin('1 hour', minute, 'epoch') AS hour) at
      CROSS JOIN LATERAL (VALUES (organisation_id), (0)) whose(id)
      WHERE at.hour >= (SELECT hours_from FROM figures_progress)
      GROUP BY whose.id, at.hour, mode, currency, transaction_type, status, acquirer, method, response_code
      HAVING sum(count) <> 0 OR sum(cents) <> 0
      ON CONFLICT (organisation_id, hour, mode, currency, transaction_type, status, acquirer, method, response_code)
      DO UPDATE SET count = f.count + excluded.count, cents = f.cents + excluded.cents
    ), kept AS (
      INSERT INTO figures_undecided AS u (organisation_id, audit, status, made_at)
      SELECT organisation_id, audit, status, created_at FROM changed WHERE last AND status IN ('unknown', 'pending')
      ON CONFLICT (organisation_id, audit) DO UPDATE SET status = excluded.status
    ), left_behind AS (
      DELETE FROM figures_undecided u USING changed
      WHERE u.organisation_id = changed.organisation_id AND u.audit = changed.audit
        AND changed.last AND changed.status NOT IN ('unknown', 'pending')
    ), page AS (
      SELECT count(*) < $4 AS all_taken, max(position) AS position, max(created_at) AS created_at FROM taken
    )
    UPDATE figures_progress SET
      position = CASE WHEN page.all_taken THEN $3::bigint ELSE page.position END,
      counted_until = CASE WHEN page.all_taken THEN gateway_now() ELSE page.created_at END
    FROM page RETURNING page.all_taken AS "allTaken"`;

/**
 * Counts the events of days $1 after position $2 and up to $3, at most $4, and returns how far it got. An event removes its
 * transaction from the status it was counted under, if any, and adds it to the new one. An event that undoes an approval shows
 * it by its type; all other earlier statuses are in `figures_undecided`. Nearly all transactions are decided at once: those are
 * summed first.
 */
export const COUNT_EVENTS: Statement = {
  name: 'count-events',
  text: `${TAKE_EVENTS}${COUNT_AT_ONCE}${DECIDED_AT_ONCE}${COUNT_CHANGED}${MADE}${ADD_UP}`,
  spread: `${TAKE_EVENTS}${STORED}${COUNT_AT_ONCE}${DECIDED_AT_ONCE_OF_STORED}${COUNT_CHANGED}${MADE_OF_STORED}${ADD_UP}`,
};

/**
 * The start of the figures that are kept: whole days by the server's clock. It never moves back, because deleted figures cannot
 * be counted again.
 */
export const MOVE_FIGURES_ENDS: Statement = {
  name: 'move-figures-ends',
  text: `
    UPDATE figures_progress SET
      minutes_from = greatest(minutes_from, date_bin('1 day', now(), 'epoch') - $1::integer * interval '1 day'),
      hours_from = greatest(hours_from, date_bin('1 day', now(), 'epoch') - $2::integer * interval '1 day')
    WHERE minutes_from < date_bin('1 day', now(), 'epoch') - $1::integer * interval '1 day'
      OR hours_from < date_bin('1 day', now(), 'epoch') - $2::integer * interval '1 day'`,
};

export const FORGET_MINUTES: Statement = {
  name: 'forget-minutes',
  text: `
    DELETE FROM figures_by_minute WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM figures_by_minute WHERE minute < (SELECT minutes_from FROM figures_progress) ORDER BY minute LIMIT $1))`,
};

export const FORGET_HOURS: Statement = {
  name: 'forget-hours',
  text: `
    DELETE FROM figures_by_hour WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM figures_by_hour WHERE hour < (SELECT hours_from FROM figures_progress) ORDER BY hour LIMIT $1))`,
};

export const FORGET_UNDECIDED: Statement = {
  name: 'forget-undecided',
  text: `
    DELETE FROM figures_undecided WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM figures_undecided WHERE made_at < (SELECT hours_from FROM figures_progress) ORDER BY made_at LIMIT $1))`,
};
