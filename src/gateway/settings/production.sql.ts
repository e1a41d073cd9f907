import type { Statement } from '../../postgres/database.js';

/**
 * The role that logged in, whichever role the session uses later. An owner of the database or of its tables can grant itself
 * every right, change the journal and drop triggers.
 */
export const LOGIN: Statement = {
  name: '',
  text: `
    SELECT r.rolname AS login, r.rolsuper AS superuser, EXISTS (
        SELECT FROM pg_database d WHERE d.datname = current_database() AND pg_has_role(r.oid, d.datdba, 'MEMBER')
        UNION ALL
        SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
          AND pg_has_role(r.oid, c.relowner, 'MEMBER')) AS owner
    FROM pg_roles r WHERE r.rolname = session_user`,
};

/** Whether the demo's user can still log in: its secret is in a file. */
export const DEMO_USER: Statement = {
  name: '',
  text: `
    SELECT FROM gateway_user u JOIN organisation o ON o.id = u.organisation_id
    WHERE u.username = $1 AND o.name = $2 AND u.revoked_at IS NULL`,
};
