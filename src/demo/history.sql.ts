import type { Statement } from '../postgres/database.js';

/** Until the end of the database transaction: one history is generated at a time. */
export const LOCK_HISTORY: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(hashtext('tollgate demo history'))`,
};

/** Whether this installation is a demo, and nothing else. */
export const DEMO_AT_ALL: Statement = {
  name: '',
  text: `
    SELECT EXISTS (SELECT FROM gateway_user u JOIN organisation o ON o.id = u.organisation_id
        WHERE u.username = $1 AND o.name = $2) AS made,
      EXISTS (SELECT FROM merchant WHERE mode = 'live') AS live`,
};

export const HISTORY_USER: Statement = {
  name: '',
  text: `SELECT id, organisation_id AS "organisationId" FROM gateway_user WHERE username = $1`,
};

export const HISTORY_INSTALLATION: Statement = { name: '', text: `SELECT installation FROM gateway` };

/** The usable tokens of a merchant's customers. */
export const TOKENS_OF_MEMBERS: Statement = {
  name: '',
  text: `
    SELECT c.reference, t.account_type AS "accountType", t.id FROM token t
    JOIN customer c ON c.organisation_id = t.organisation_id AND c.id = t.customer_id
    WHERE t.organisation_id = $1 AND t.merchant_id = $2 AND t.active AND t.deleted_at IS NULL`,
};
