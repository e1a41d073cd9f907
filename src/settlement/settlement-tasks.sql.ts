import type { Statement } from '../postgres/database.js';

/** Whose the merchant is, if there is such a one, and what goes into every reference that is sent to an acquirer. */
export const INSTALLATION_OF_MERCHANT: Statement = {
  name: '',
  text: `
    SELECT installation, (SELECT organisation_id FROM merchant WHERE id = $1) AS "organisationId" FROM gateway`,
};
