import type { Statement } from '../../postgres/database.js';

/** How transactions are distributed over servers; empty on a single server. */
export const DISTRIBUTION: Statement = {
  name: '',
  text: `SELECT distribution FROM gateway`,
};

export const MARK_DISTRIBUTED: Statement = {
  name: '',
  text: `UPDATE gateway SET distribution = $1 WHERE distribution IS DISTINCT FROM $1`,
};
