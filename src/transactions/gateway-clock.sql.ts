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

export const MOVE_CLOCK: Statement = {
  name: '',
  text: `UPDATE gateway SET advanced_ms = greatest(0, advanced_ms + $1)`,
};
