import type { Statement } from '../postgres/database.js';

/** The active schedules of a merchant ($1, $2) with their next dates up to the day $3, by day and pace: of the $4 whose turn is first. */
export const DATES_AHEAD: Statement = {
  name: '',
  text: `
    SELECT next_on::text AS day, pace, count(*)::integer AS count, sum(amount_cents)::text AS cents
    FROM (
      SELECT next_on, pace, amount_cents FROM schedule WHERE organisation_id = $1 AND merchant_id = $2 AND next_on <= $3::date
      ORDER BY next_on LIMIT $4
    ) near
    GROUP BY next_on, pace`,
};

/** From which day on DATES_AHEAD has left some out, because there are more than $4. */
export const DATES_LEFT_OUT: Statement = {
  name: '',
  text: `
    SELECT next_on::text AS day FROM schedule WHERE organisation_id = $1 AND merchant_id = $2 AND next_on <= $3::date
    ORDER BY next_on OFFSET $4 LIMIT 1`,
};

/** What was declined and is tried again, by the day on which that is: $4 are the beginnings of the days, and the end of the last. */
export const DATES_TRIED_AGAIN: Statement = {
  name: '',
  text: `
    SELECT greatest(width_bucket(d.look_at, $4::timestamptz[]), 1)::integer AS day, s.pace, count(*)::integer AS count,
      sum(s.amount_cents)::text AS cents
    FROM schedule_date d JOIN schedule s ON s.organisation_id = d.organisation_id AND s.number = d.schedule
    WHERE d.organisation_id = $1 AND d.status = 'retrying' AND d.look_at < $3::timestamptz
      AND s.merchant_id = $2 AND s.terms ->> 'standing' = 'active'
    GROUP BY 1, 2`,
};

/** What has failed since $3, by day and reason. */
export const FAILED_BY_DAY: Statement = {
  name: '',
  text: `
    SELECT width_bucket(d.decided_at, $4::timestamptz[])::integer AS day, d.reason, count(*)::integer AS count
    FROM schedule_date d JOIN schedule s ON s.organisation_id = d.organisation_id AND s.number = d.schedule
    WHERE d.organisation_id = $1 AND d.status = 'failed' AND d.decided_at >= $3::timestamptz AND s.merchant_id = $2
    GROUP BY 1, 2 ORDER BY count DESC, d.reason`,
};

/** The last $4 of them, and what the acquirer or the bank said. */
export const LATEST_FAILURES: Statement = {
  name: '',
  text: `
    SELECT s.id, s.terms ->> 'reference' AS reference, d.due_on::text AS date, d.decided_at AS failed, d.reason,
      t.response_message AS message, d.audit
    FROM schedule_date d JOIN schedule s ON s.organisation_id = d.organisation_id AND s.number = d.schedule
    LEFT JOIN transaction t ON t.organisation_id = d.organisation_id AND t.audit = d.audit
    WHERE d.organisation_id = $1 AND d.status = 'failed' AND d.decided_at >= $3::timestamptz AND s.merchant_id = $2
    ORDER BY d.decided_at DESC, s.number LIMIT $4`,
};

/** How many are paused, up to $3. */
export const PAUSED_SCHEDULES: Statement = {
  name: '',
  text: `
    SELECT count(*)::integer AS paused FROM (
      SELECT FROM schedule WHERE organisation_id = $1 AND merchant_id = $2 AND ended_at IS NULL AND terms ->> 'standing' = 'paused' LIMIT $3
    ) waiting`,
};
