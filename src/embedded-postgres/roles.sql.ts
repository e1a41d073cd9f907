import { DATABASE, OWNER } from './server.sql.js';

/** What a gateway serves as, and what an operator's commands work as: members of the roles that migrations give rights to. */
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

/** The owner may give them to others, since the migrations do. */
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

/** Whether an earlier release has made it, as whose superuser it worked. */
export const FIND_STRAY = `
  SELECT FROM pg_database WHERE datname = '${DATABASE}' AND pg_get_userbyid(datdba) <> '${OWNER}'`;

export const GIVE_DATABASE = `ALTER DATABASE ${DATABASE} OWNER TO ${OWNER}`;

/** Everything in the schema but what belongs to an extension. A sequence of a column goes with its table. */
export const GIVE_TABLES = `
  DO $$
  DECLARE
    statement text;
  BEGIN
    ALTER SCHEMA public OWNER TO ${OWNER};
    FOR statement IN
      SELECT format('ALTER TABLE %s OWNER TO ${OWNER}', c.oid::regclass) FROM pg_class c
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
      UNION ALL
      SELECT format('ALTER SEQUENCE %s OWNER TO ${OWNER}', c.oid::regclass) FROM pg_class c
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i', 'e'))
      UNION ALL
      SELECT format('ALTER ROUTINE %s OWNER TO ${OWNER}', p.oid::regprocedure) FROM pg_proc p
      WHERE p.pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP
      EXECUTE statement;
    END LOOP;
    ALTER DEFAULT PRIVILEGES FOR ROLE ${OWNER} IN SCHEMA public
      GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${GROUPS};
    ALTER DEFAULT PRIVILEGES FOR ROLE ${OWNER} IN SCHEMA public GRANT USAGE ON SEQUENCES TO ${GROUPS};
  END $$`;
