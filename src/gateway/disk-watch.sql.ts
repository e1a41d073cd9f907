import type { Statement } from '../postgres/database.js';

/** Until the end of the transaction: what needs more than this goes to a file. */
export const LITTLE_MEMORY: Statement = {
  name: '',
  text: `SELECT set_config('work_mem', '64kB', true)`,
};

/**
 * A quarter of a megabyte that does not fit into so little memory: the server writes it to a temporary file on its disk, and forgets it. No row,
 * no lock, nothing to clean up.
 */
export const WRITE_TO_DISK: Statement = {
  name: '',
  text: `
    WITH written AS MATERIALIZED (SELECT repeat('x', 8000) AS page FROM generate_series(1, 32))
    SELECT count(page) FROM written`,
};
