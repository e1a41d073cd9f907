import { OWNER } from './server.sql.js';

/** What a gateway serves as, and what an operator's commands work as: members of the roles that the schema gives rights to. */
export const SERVING = `tollgate_serving`;
export const OPERATING = `tollgate_operating`;

/** Those roles. */
const GROUPS = `tollgate_application, tollgate_operator`;

export const FIND_LOGINS = `SELECT rolname AS name FROM pg_roles WHERE rolname = ANY ($1)`;

/** What makes a login, with a name ($1) and a password ($2). */
// guard(roles: no login of the embedded PostgreSQL is a superuser): NOSUPERUSER ⇒ SUPERUSER
export const TO_MAKE_LOGIN = `
  SELECT format('CREATE ROLE %I LOGIN PASSWORD %L NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS',
    $1::text, $2::text) AS statement`;

/** The owner may give them to others, since the schema does. */
export const JOIN_GROUPS = `
  DO $$
  BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tollgate_application') THEN
      CREATE ROLE tollgate_application NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tollgate_operator') THEN
      CREATE ROLE tollgate_operator NOLOGIN;
    END IF;
    GRANT ${GROUPS} TO ${OWNER} WITH ADMIN OPTION;
    GRANT tollgate_application TO ${SERVING};
    GRANT tollgate_operator TO ${OPERATING};
  END $$`;
