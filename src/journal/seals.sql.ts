import type { Statement } from '../postgres/database.js';

/** Behind its version, as `newestSeal` reads it beside a row. */
export const NEWEST_SEAL: Statement = {
  name: 'newest-seal',
  text: `
    SELECT int4send(subject_version) || seal AS newest FROM journal WHERE subject = $1
    ORDER BY subject_version DESC LIMIT 1`,
};

export const NEWEST_SEALS: Statement = {
  name: 'newest-seals',
  text: `
    SELECT subject_version AS version, seal FROM journal WHERE subject = $1 ORDER BY subject_version DESC LIMIT $2`,
};
