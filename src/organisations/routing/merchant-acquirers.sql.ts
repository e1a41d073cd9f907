import type { Statement } from '../../postgres/database.js';

/** Empty: of the whole installation. */
export const ORGANISATION_OF_OPERATOR: Statement = {
  name: '',
  text: `SELECT organisation_id AS "organisationId" FROM operator WHERE name = $1`,
};
