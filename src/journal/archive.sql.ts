import type { Statement } from '../postgres/database.js';

export const JOURNAL_BEFORE: Statement = {
  name: '',
  text: `SELECT * FROM journal WHERE id > $1 AND at < to_timestamp($2::float8 / 1000) ORDER BY id LIMIT $3`,
};
