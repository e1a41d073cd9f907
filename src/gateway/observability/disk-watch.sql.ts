import type { Statement } from '../../postgres/database.js';

/**
 * A quarter of a megabyte that exceeds the working memory of its session: the server writes it to a temporary file on its disk, and
 * deletes it. No row, no lock, nothing to clean up.
 */
export const WRITE_TO_DISK: Statement = {
  name: 'write-to-disk',
  text: `
    WITH written AS MATERIALIZED (SELECT repeat('x', 8000) AS page FROM generate_series(1, 32))
    SELECT count(page) FROM written`,
};
