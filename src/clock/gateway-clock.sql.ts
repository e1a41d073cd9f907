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
