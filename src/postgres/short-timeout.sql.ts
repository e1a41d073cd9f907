import type { Statement } from './statement.js';

/** Of another session of the same login. */
export const CANCEL_STATEMENT: Statement = {
  name: '',
  text: `SELECT pg_cancel_backend($1)`,
};

/** Until the end of the transaction. */
export const SET_STATEMENT_TIMEOUT: Statement = {
  name: '',
  text: `SELECT set_config('statement_timeout', $1, true)`,
};
