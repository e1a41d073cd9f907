import type { Statement } from '../../postgres/database.js';

/** In which way transactions are spread over servers; empty on one. */
export const DISTRIBUTION: Statement = {
  name: '',
  text: `SELECT distribution FROM gateway`,
};

export const MARK_DISTRIBUTED: Statement = {
  name: '',
  text: `UPDATE gateway SET distribution = $1 WHERE distribution IS DISTINCT FROM $1`,
};
