import type { Statement } from '../postgres/database.js';

/** Whether there is such a merchant, and what goes into every reference that is sent to an acquirer. */
export const INSTALLATION_OF_MERCHANT: Statement = {
  name: '',
  text: `SELECT installation, EXISTS (SELECT FROM merchant WHERE id = $1) AS known FROM gateway`,
};
