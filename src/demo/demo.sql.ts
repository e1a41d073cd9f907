import type { Statement } from '../postgres/database.js';

/** Until the end of the database transaction. */
export const LOCK_DEMO: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(7046029254386353132)`,
};
