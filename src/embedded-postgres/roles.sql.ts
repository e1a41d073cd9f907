import { OWNER } from './server.sql.js';

/** The logins of the gateway and of operators' commands: members of the roles that the schema grants privileges to. */
export const SERVING = `tollgate_serving`;
export const OPERATING = `tollgate_operating`;

/** The roles with these privileges. */
const GROUPS = `tollgate_application, tollgate_operator`;

export const FIND_LOGINS = `SELECT rolname AS name FROM pg_roles WHERE rolname = ANY ($1)`;

/** Creates a login with a name ($1) and a password ($2). */
// guard(roles: no login of the embedded PostgreSQL is a superuser): NOSUPERUSER ⇒ SUPERUSER
export const TO_MAKE_LOGIN = `
  SELECT format('CREATE ROLE %I LOGIN PASSWORD %L NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS',
    $1::text, $2::text) AS statement`;

/** The owner may grant these roles, because the schema does. */
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
