import type { Statement } from '../postgres/database.js';

/** Of a day and the instant at which it closes: whether it is closed now. */
export const CLOSE_DAY: Statement = {
  name: 'close-settlement-day',
  text: `SELECT close_settlement_day($1::date, to_timestamp($2::float8 / 1000)) AS closed`,
};
