import type { Statement } from './database.js';

/** Until the end of the transaction. */
export const SET_STATEMENT_TIMEOUT: Statement = {
  name: '',
  text: `SELECT set_config('statement_timeout', $1, true)`,
};
