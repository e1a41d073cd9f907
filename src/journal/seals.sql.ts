import type { Statement } from '../postgres/database.js';

/** For a statement that reads a sealed row: the newest seal of the subject that this expression names, behind its version. */
export const newestSeal = (subject: string) => `(
      SELECT int4send(j.subject_version) || j.seal FROM journal j WHERE j.subject = ${subject}
      ORDER BY j.subject_version DESC LIMIT 1)`;

export const NEWEST_SEAL: Statement = {
  name: 'newest-seal',
  text: `SELECT ${newestSeal('$1')} AS newest`,
};

export const NEWEST_SEALS: Statement = {
  name: 'newest-seals',
  text: `
    SELECT subject_version AS version, seal FROM journal WHERE subject = $1 ORDER BY subject_version DESC LIMIT $2`,
};
