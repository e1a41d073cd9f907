import { INTO_EVENTS_WITH_DATA } from '../events/events.sql.js';
import { newestSeal } from '../journal/seals.js';
import type { Statement } from '../postgres/database.js';

export const ADD_SCHEDULE: Statement = {
  name: 'add-schedule',
  text: `
    INSERT INTO schedule (organisation_id, number, merchant_id, customer_id, id, correlation_id, created_at, user_id, terms, due_at, next_on,
      amount_cents, pace)
    VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), $8, $9::json, to_timestamp($10::float8 / 1000), $11::date, $12, $13)
    ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING
    RETURNING id`,
};

const SCHEDULE = `
    SELECT s.organisation_id AS "organisationId", s.number, s.merchant_id AS "merchantId", s.id, s.correlation_id AS "correlationId",
      round(extract(epoch FROM s.created_at) * 1000)::float8 AS "createdMs", s.user_id AS "userId", s.terms::text AS terms,
      s.next_n AS "nextN", CASE WHEN s.ended_at IS NULL THEN s.terms ->> 'standing' ELSE 'ended' END AS status,
      ${newestSeal("'schedule/' || s.id")} AS newest
    FROM schedule s`;

export const SCHEDULE_OF_MERCHANTS: Statement = {
  name: 'schedule-of-merchants',
  // guard(schedule: a merchant sees its own): s.organisation_id = $2 AND s.merchant_id = ANY ($3::integer[]) ⇒ ($2::integer, $3::integer[]) IS NOT NULL
  text: `${SCHEDULE} WHERE s.id = $1 AND s.organisation_id = $2 AND s.merchant_id = ANY ($3::integer[])`,
};

export const SCHEDULE_BY_CORRELATION_ID: Statement = {
  name: 'schedule-by-correlation-id',
  text: `${SCHEDULE} WHERE s.organisation_id = $1 AND s.merchant_id = $2 AND s.correlation_id = $3`,
};

export const SCHEDULE_BY_NUMBER: Statement = {
  name: 'schedule-by-number',
  text: `${SCHEDULE} WHERE s.organisation_id = $1 AND s.number = $2`,
};

/** Of one that is to be changed. */
export const LOCK_SCHEDULE: Statement = {
  name: 'lock-schedule',
  text: `SELECT 1 FROM schedule WHERE organisation_id = $1 AND number = $2 FOR NO KEY UPDATE`,
};

export const MERCHANTS_OF_SCHEDULES: Statement = {
  name: '',
  text: `SELECT organisation_id AS "organisationId", id AS "merchantId" FROM merchant WHERE id = $1`,
};

/** The newest first, of a merchant ($2): after another ($4, $5), of a customer ($6), of a status ($7), by a correlation ID ($8). */
export const LIST_SCHEDULES: Statement = {
  name: '',
  text: `
    SELECT * FROM (${SCHEDULE}
      WHERE s.organisation_id = $1 AND s.merchant_id = $2 AND ($6::integer IS NULL OR s.customer_id = $6)
        AND ($8::text IS NULL OR s.correlation_id = $8)
        AND ($4::float8 IS NULL OR (s.created_at, s.number) < (to_timestamp($4 / 1000), $5::integer))
    ) AS listed
    WHERE $7::text IS NULL OR status = $7
    ORDER BY "createdMs" DESC, number DESC LIMIT $3`,
};

/** For moves and reviews of seals: of merchants, after another. */
export const SCHEDULES_TO_LOOK_AT: Statement = {
  name: '',
  text: `${SCHEDULE}
    WHERE (s.organisation_id, s.number) > ($1::integer, $2::integer) AND ($3::integer IS NULL OR s.merchant_id = $3)
    ORDER BY s.organisation_id, s.number LIMIT $4`,
};

const DATE = `n, due_on::text AS "dueOn", status, attempt, refusals, round(extract(epoch FROM begun_at) * 1000)::float8 AS "begunMs",
      round(extract(epoch FROM look_at) * 1000)::float8 AS "lookMs", reason, audit`;

/** The last one first. */
export const LATEST_DATES: Statement = {
  name: 'latest-dates-of-schedule',
  text: `SELECT ${DATE} FROM schedule_date WHERE organisation_id = $1 AND schedule = $2 ORDER BY n DESC LIMIT $3`,
};

/** Those that are not decided, and the one that was begun last. */
export const OPEN_DATES: Statement = {
  name: 'open-dates-of-schedule',
  text: `
    SELECT ${DATE} FROM schedule_date
    WHERE organisation_id = $1 AND schedule = $2
      AND (decided_at IS NULL OR n = (SELECT max(n) FROM schedule_date WHERE organisation_id = $1 AND schedule = $2))
    ORDER BY n`,
};

export const COUNT_DATES: Statement = {
  name: 'count-dates-of-schedule',
  text: `
    SELECT count(*) FILTER (WHERE status = 'paid')::integer AS paid, count(*) FILTER (WHERE status = 'failed')::integer AS failed,
      count(*) FILTER (WHERE status = 'skipped')::integer AS skipped
    FROM schedule_date WHERE organisation_id = $1 AND schedule = $2`,
};

/** A number for each event of a schedule: reads `told` with its data, and the schedule's own row in `telling`. */
const EVENT = `${INTO_EVENTS_WITH_DATA}
      SELECT telling.organisation_id, telling.merchant_id, telling.number, telling.events, 'schedule.' || told.type, (SELECT gateway_now()),
        told.data, telling.user_id
      FROM telling, told`;

/**
 * What a schedule says from now on ($3), which is looked at at once; an event ($4) with its data ($5), if that is not null; and what the calendar
 * counts it by ($6, $7, $8).
 */
export const CHANGE_SCHEDULE: Statement = {
  name: 'change-schedule',
  text: `
    WITH telling AS (
      UPDATE schedule SET terms = $3::json, due_at = gateway_now(), events = events + CASE WHEN $4::text IS NULL THEN 0 ELSE 1 END,
        next_on = $6::date, amount_cents = $7, pace = $8
      WHERE organisation_id = $1 AND number = $2 RETURNING *
    ), told AS (SELECT $4::text AS type, $5::json AS data WHERE $4::text IS NOT NULL), event AS (${EVENT})
    SELECT number FROM telling`,
};

/** Whether there is anything to do: most of the time there is not. */
export const SCHEDULES_ARE_DUE: Statement = {
  name: 'schedules-are-due',
  text: `
    SELECT EXISTS (SELECT FROM schedule WHERE due_at <= gateway_now() AND (held_until IS NULL OR held_until <= now())) AS due`,
};

/** How many have been due for more than an hour, up to $1, and for how many seconds the one that has been due longest is. */
export const LATE_SCHEDULES: Statement = {
  name: '',
  text: `
    WITH waiting AS MATERIALIZED (
      SELECT due_at FROM schedule WHERE due_at < gateway_now() AND organisation_id <> ALL (organisations_elsewhere())
      ORDER BY due_at LIMIT $1
    )
    SELECT count(*) FILTER (WHERE due_at < gateway_now() - interval '1 hour')::integer AS late,
      coalesce(extract(epoch FROM gateway_now() - min(due_at)), 0)::float8 AS "longestSeconds"
    FROM waiting`,
};

/** Up to $3 that are due, the longest due first, for $1 milliseconds, and none of these organisations ($2). */
export const TAKE_SCHEDULES: Statement = {
  name: 'take-schedules',
  text: `
    WITH due AS (
      SELECT organisation_id, number FROM schedule
      WHERE due_at <= gateway_now() AND (held_until IS NULL OR held_until <= now())
        AND organisation_id <> ALL (organisations_elsewhere()) AND organisation_id <> ALL ($2::integer[])
      ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
    )
    UPDATE schedule s SET held_until = now() + $1::integer * interval '1 millisecond' FROM due d
    WHERE s.organisation_id = d.organisation_id AND s.number = d.number
    RETURNING s.organisation_id AS "organisationId", s.number, s.held_until::text AS "heldUntil",
      round(extract(epoch FROM s.due_at) * 1000)::float8 AS "dueMs"`,
};

/** Leaves a schedule as it was taken ($3), to be looked at again at $5; at once if what it says ($4) was changed meanwhile. */
export const LEAVE_SCHEDULE: Statement = {
  name: 'leave-schedule',
  text: `
    UPDATE schedule SET held_until = NULL,
      due_at = CASE WHEN terms::text = $4 THEN to_timestamp($5::float8 / 1000) ELSE gateway_now() END
    WHERE organisation_id = $1 AND number = $2 AND held_until = $3::timestamptz`,
};

/** Begins the date $3, which is on $4, if it is its turn and the schedule is as it was read ($5): with its status ($6) and reason ($7). The one after it is on $8. */
export const BEGIN_DATE: Statement = {
  name: 'begin-date-of-schedule',
  // guard(schedule: nothing is begun once it was changed): AND terms::text = $5 AND ended_at IS NULL ⇒ AND $5::text IS NOT NULL
  text: `
    WITH begun AS (
      UPDATE schedule SET next_n = next_n + 1, next_on = $8::date
      WHERE organisation_id = $1 AND number = $2 AND next_n = $3::integer AND terms::text = $5 AND ended_at IS NULL
      RETURNING organisation_id, number
    )
    INSERT INTO schedule_date (organisation_id, schedule, n, due_on, begun_at, status, attempt, reason, decided_at)
    SELECT organisation_id, number, $3, $4::date, gateway_now(), $6, CASE WHEN $6 = 'skipped' THEN 0 ELSE 1 END, $7,
      CASE WHEN $6 = 'skipped' THEN gateway_now() END
    FROM begun RETURNING n`,
};

/** Begins the payment $4 of a date ($3), or goes on with it, if the schedule is as it was read ($5). */
export const TRY_DATE: Statement = {
  name: 'try-date-of-schedule',
  // guard(schedule: a further payment is made beside those before it): AND ((d.attempt = $4 AND d.status = 'processing') OR (d.attempt < $4 AND d.status = 'retrying')) ⇒
  // guard(schedule: nothing is tried again once it was changed): AND s.terms::text = $5 ⇒ AND $5::text IS NOT NULL
  text: `
    WITH held AS (
      SELECT organisation_id, number FROM schedule s WHERE organisation_id = $1 AND number = $2 AND s.terms::text = $5
      FOR NO KEY UPDATE
    )
    UPDATE schedule_date d SET attempt = $4::smallint, status = 'processing' FROM held h
    WHERE d.organisation_id = h.organisation_id AND d.schedule = h.number AND d.n = $3::integer AND d.decided_at IS NULL
      AND ((d.attempt = $4 AND d.status = 'processing') OR (d.attempt < $4 AND d.status = 'retrying'))
    RETURNING d.n`,
};

/** A date ($3) that goes on after its payment $4: its status ($5), when it is looked at ($6), refusals ($7), its transaction ($8), why ($9). */
export const KEEP_DATE: Statement = {
  name: 'keep-date-of-schedule',
  text: `
    UPDATE schedule_date SET status = $5, look_at = to_timestamp($6::float8 / 1000), refusals = $7, audit = coalesce($8::integer, audit),
      reason = $9
    WHERE organisation_id = $1 AND schedule = $2 AND n = $3 AND attempt = $4::smallint AND decided_at IS NULL`,
};

/** How a date ($3) has ended, with its payment $4: outcome ($5), reason ($6), transaction ($7). What has failed is told of. */
export const DECIDE_DATE: Statement = {
  name: 'decide-date-of-schedule',
  text: `
    WITH decided AS (
      UPDATE schedule_date SET status = $5, reason = $6, audit = coalesce($7::integer, audit), look_at = NULL, decided_at = gateway_now()
      WHERE organisation_id = $1 AND schedule = $2 AND n = $3 AND attempt = $4::smallint AND decided_at IS NULL
      RETURNING *
    ), telling AS (
      UPDATE schedule s SET events = s.events + 1 FROM decided d
      WHERE d.status = 'failed' AND s.organisation_id = d.organisation_id AND s.number = d.schedule RETURNING s.*
    ), told AS (
      SELECT 'payment_failed' AS type, json_build_object('schedule', telling.id, 'date', decided.due_on, 'reason', decided.reason,
        'audit', decided.audit) AS data FROM decided, telling
    ), event AS (${EVENT})
    SELECT n FROM decided`,
};

/** After its last date. */
export const END_SCHEDULE: Statement = {
  name: 'end-schedule',
  text: `
    WITH telling AS (
      UPDATE schedule SET ended_at = gateway_now(), events = events + 1
      WHERE organisation_id = $1 AND number = $2 AND ended_at IS NULL AND terms::text = $3 RETURNING *
    ), told AS (SELECT 'ended' AS type, json_build_object('schedule', telling.id, 'status', 'ended') AS data FROM telling),
    event AS (${EVENT})
    SELECT number FROM telling`,
};
