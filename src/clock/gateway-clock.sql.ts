import type { Statement } from '../postgres/database.js';

export const ADVANCED: Statement = {
  name: '',
  text: `SELECT advanced_ms AS "advancedMs" FROM gateway`,
};

/** Until the end of the transaction nobody moves the clock. */
export const HOLD_CLOCK: Statement = {
  name: '',
  text: `SELECT advanced_ms AS "advancedMs" FROM gateway FOR SHARE`,
};

/**
 * Days that only a clock that was ahead has closed, and on which nothing is dated, are open again when it goes back. $2 is the
 * last day that real time has closed.
 */
export const MOVE_CLOCK: Statement = {
  name: '',
  text: `
    UPDATE gateway SET advanced_ms = greatest(0, advanced_ms + $1),
      closed_day = CASE WHEN $1 < 0 THEN least(closed_day, $2::date) ELSE closed_day END`,
};

export const SHOW_CLOCK: Statement = {
  name: '',
  text: `
    SELECT advanced_ms AS "advancedMs",
      coalesce((SELECT array_agg(DISTINCT name) FROM (
        SELECT acquirer FROM merchant WHERE acquirer <> ALL ($1)
        UNION ALL SELECT acquirer FROM route WHERE acquirer <> ALL ($1)
        UNION ALL SELECT 'the bank of merchant ' || merchant_id FROM direct_entry WHERE NOT simulated
      ) AS real(name)), '{}') AS "realAcquirers",
      (SELECT count(*) FROM directdebit_item
        WHERE next_at <= now() + (gateway.advanced_ms * interval '1 millisecond')) AS due,
      (SELECT count(*) FROM process p WHERE p.seen_at > now() - interval '5 seconds') AS running,
      (SELECT count(*) FROM process p WHERE p.seen_at > now() - interval '5 seconds'
        AND p.advanced_ms <> gateway.advanced_ms) AS behind
    FROM gateway`,
};

/** What is dated later than real time: a clock that goes back would come by it again. $1 is the business day that is open. */
export const DATED_AHEAD: Statement = {
  name: '',
  text: `
    SELECT (SELECT count(*) FROM transaction WHERE created_at > now() OR decided_at > now() OR settlement_date > $1::date)
        AS transactions,
      (SELECT count(*) FROM directdebit_file WHERE made_at > now() OR processing_day > $1::date) AS files`,
};
