import type { Statement } from '../../postgres/database.js';

/** The role that logged in, whichever role the session uses later. */
export const LOGIN: Statement = {
  name: '',
  text: `SELECT rolname AS login, rolsuper AS superuser FROM pg_roles WHERE rolname = session_user`,
};

/** Whether the demo's user can still log in: its secret is in a file. */
export const DEMO_USER: Statement = {
  name: '',
  text: `
    SELECT FROM gateway_user u JOIN organisation o ON o.id = u.organisation_id
    WHERE u.username = $1 AND o.name = $2 AND u.revoked_at IS NULL`,
};
