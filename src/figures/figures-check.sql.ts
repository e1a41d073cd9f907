import type { Statement } from '../postgres/database.js';

/** Waits for whoever counts just now; until the transaction ends. */
export const TAKE_FIGURES: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(hashtext('tollgate figures'))`,
};

/** Nothing is counted any more: the next turn begins with the oldest event that is kept. */
export const FORGET_FIGURES: Statement = {
  name: '',
  text: `
    WITH minutes AS (DELETE FROM figures_by_minute), hours AS (DELETE FROM figures_by_hour),
      undecided AS (DELETE FROM figures_undecided)
    UPDATE figures_progress SET position = 0, counted_until = '-infinity'`,
};

/** How many events are kept. */
export const COUNT_KEPT_EVENTS: Statement = {
  name: '',
  text: `SELECT count(*)::integer AS events FROM event_feed WHERE position > (SELECT forgotten FROM event_sequencer)`,
};

/**
 * Hours, from $1 on and before $2, of which the figures are not what the transactions come to. A transaction without an event is not
 * counted yet. Each merchant along its index of time. What is left of an organisation that is elsewhere is not counted here: the figures
 * of one that arrives come last, and not at all if its move is taken back.
 */
export const WRONG_FIGURES: Statement = {
  name: '',
  text: `
    WITH counted AS (
      SELECT organisation_id, hour, mode, currency, transaction_type, status, acquirer, method, response_code, count, cents
      FROM figures_by_hour
      WHERE organisation_id <> 0 AND organisation_id <> ALL (organisations_elsewhere())
        AND hour >= to_timestamp($1::float8 / 1000) AND hour < to_timestamp($2::float8 / 1000)
        AND hour >= (SELECT hours_from FROM figures_progress) AND (count <> 0 OR cents <> 0)
    ), stored AS (
      SELECT t.organisation_id, date_bin('1 hour', t.created_at, 'epoch') AS hour, m.mode, t.currency, t.transaction_type, t.status,
        t.acquirer, CASE WHEN t.bank_account IS NULL THEN coalesce(t.card_type, '') ELSE 'bankaccount' END AS method,
        left(CASE WHEN t.status IN ('unknown', 'pending') THEN '' ELSE coalesce(t.response_code, '') END, 32) AS response_code,
        count(*) AS count, sum(t.amount_cents) AS cents
      FROM merchant m JOIN transaction t ON t.organisation_id = m.organisation_id AND t.merchant_id = m.id
      WHERE t.created_at > '-infinity' AND t.created_at >= to_timestamp($1::float8 / 1000)
        AND t.created_at < to_timestamp($2::float8 / 1000) AND t.version > 0
        AND m.organisation_id <> ALL (organisations_elsewhere())
        AND t.created_at >= (SELECT hours_from FROM figures_progress)
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
    )
    SELECT hour, organisation_id AS organisation, transaction_type AS "transactionType", status, currency, acquirer, method,
      response_code AS "responseCode", coalesce(counted.count, 0)::float8 AS counted, coalesce(stored.count, 0)::float8 AS stored,
      coalesce(counted.cents, 0)::float8 AS "countedCents", coalesce(stored.cents, 0)::float8 AS "storedCents"
    FROM counted FULL JOIN stored
      USING (organisation_id, hour, mode, currency, transaction_type, status, acquirer, method, response_code)
    WHERE counted.count IS DISTINCT FROM stored.count OR counted.cents IS DISTINCT FROM stored.cents
    ORDER BY hour, organisation_id, transaction_type, status LIMIT 1000`,
};
