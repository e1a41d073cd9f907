import type { Statement } from '../postgres/database.js';

/** Events are known by the versions of what they are about: those that were told after the backup must not come again with another content. */
export const MOVE_CUSTOMER_VERSIONS: Statement = {
  name: '',
  text: `UPDATE customer SET version = version + $1`,
};

export const MOVE_TOKEN_VERSIONS: Statement = {
  name: '',
  text: `UPDATE token SET version = version + $1 WHERE deleted_at IS NULL`,
};
