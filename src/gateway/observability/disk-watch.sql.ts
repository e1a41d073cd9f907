import type { Statement } from '../../postgres/database.js';

/**
 * A quarter of a megabyte that exceeds its working memory: the server writes it to a temporary file on its disk, and deletes
 * it. No row, no lock, nothing to clean up. Sent together, both statements are one database transaction, with which the setting
 * ends.
 */
export const WRITE_TO_DISK: Statement = {
  name: '',
  text: `
    SELECT set_config('work_mem', '64kB', true);
    WITH written AS MATERIALIZED (SELECT repeat('x', 8000) AS page FROM generate_series(1, 32))
    SELECT count(page) FROM written`,
};
