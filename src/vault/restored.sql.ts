import type { Statement } from '../postgres/database.js';

/** Events are identified by their subject's version: an event sent after the backup must not come again with other content. */
export const MOVE_CUSTOMER_VERSIONS: Statement = {
  name: '',
  text: `UPDATE customer SET version = version + $1`,
};

export const MOVE_TOKEN_VERSIONS: Statement = {
  name: '',
  text: `UPDATE token SET version = version + $1 WHERE deleted_at IS NULL`,
};
