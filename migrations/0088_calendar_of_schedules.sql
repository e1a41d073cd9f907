-- The calendar of schedules: what is due by day, what is tried again, and what has failed.

ALTER TABLE schedule ADD COLUMN next_on date, ADD COLUMN amount_cents bigint, ADD COLUMN pace text COLLATE "C";

-- The date $2 of a schedule that says $1, counted from the last anchor that is not after it. A month that is too short ends on its last day.
CREATE FUNCTION pg_temp.date_of(json, integer) RETURNS date LANGUAGE sql AS $$
  SELECT ((a ->> 'date')::date + ($2 - (a ->> 'n')::integer) * make_interval(
    months => coalesce(($1 -> 'every' ->> 'months')::integer, 0),
    days => coalesce(($1 -> 'every' ->> 'days')::integer, 7 * ($1 -> 'every' ->> 'weeks')::integer, 0)))::date
  FROM json_array_elements($1 -> 'anchors') a WHERE (a ->> 'n')::integer <= $2 ORDER BY (a ->> 'n')::integer DESC LIMIT 1
$$;
UPDATE schedule SET amount_cents = (terms ->> 'amountCents')::bigint,
  next_on = CASE
    WHEN ended_at IS NULL AND terms ->> 'standing' = 'active' AND next_n <= coalesce((terms ->> 'count')::integer, next_n)
      AND pg_temp.date_of(terms, next_n) <= coalesce((terms ->> 'until')::date, 'infinity') THEN pg_temp.date_of(terms, next_n)
  END,
  pace = concat_ws(' ', terms ->> 'currency', terms ->> 'method',
    coalesce((terms -> 'every' ->> 'days')::integer, 7 * (terms -> 'every' ->> 'weeks')::integer, 0),
    coalesce((terms ->> 'until')::date, pg_temp.date_of(terms, (terms ->> 'count')::integer)));
DROP FUNCTION pg_temp.date_of(json, integer);
ALTER TABLE schedule ALTER COLUMN amount_cents SET NOT NULL, ALTER COLUMN pace SET NOT NULL;

CREATE INDEX schedule_by_next_date ON schedule (organisation_id, merchant_id, next_on) INCLUDE (pace, amount_cents) WHERE next_on IS NOT NULL;
CREATE INDEX schedule_paused ON schedule (organisation_id, merchant_id) WHERE ended_at IS NULL AND terms ->> 'standing' = 'paused';
CREATE INDEX schedule_date_tried_again ON schedule_date (organisation_id, look_at) WHERE status = 'retrying';
CREATE INDEX schedule_date_failed ON schedule_date (organisation_id, decided_at) WHERE status = 'failed';

DO $$
BEGIN
  GRANT UPDATE (next_on, amount_cents, pace) ON schedule TO tollgate_application, tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the rights of the gateway''s roles on the next dates of schedules could not be set';
END $$;
