-- Who may do what in the database. The owner of the tables changes the schema; `tollgate_operator` does what operators do;
-- `tollgate_application` serves: it cannot let anybody in, send money over another link or to another bank, or unsay anything.

DO $$
DECLARE
  settings text;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tollgate_operator') THEN
    CREATE ROLE tollgate_operator NOLOGIN;
  END IF;
  IF NOT pg_has_role(current_user, 'tollgate_operator', 'MEMBER') THEN
    EXECUTE format('GRANT tollgate_operator TO %I', current_user);
  END IF;
  GRANT USAGE ON SCHEMA public TO tollgate_operator;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO tollgate_operator;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO tollgate_operator;
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO tollgate_operator;
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO tollgate_operator;
  REVOKE UPDATE, DELETE ON journal FROM tollgate_operator;
  REVOKE DELETE ON token FROM tollgate_operator;
  REVOKE INSERT, UPDATE, DELETE ON schema_migration FROM tollgate_operator;

  -- Whoever owns the tables since may be another role than the one that applied the first migrations.
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO tollgate_application;
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO tollgate_application;
  -- What operators set is read by those who serve.
  FOREACH settings IN ARRAY ARRAY['gateway_user', 'user_grant', 'acquirer', 'route', 'merchant', 'surcharge_rule', 'direct_entry',
    'plugin_setting', 'installation_key'] LOOP
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %I FROM tollgate_application', settings);
  END LOOP;
  -- A row can be locked by whoever may change something of it.
  GRANT UPDATE (created_at) ON merchant TO tollgate_application;
  REVOKE INSERT, DELETE ON organisation FROM tollgate_application;
  REVOKE INSERT, DELETE ON gateway FROM tollgate_application;
EXCEPTION WHEN insufficient_privilege OR undefined_object OR unique_violation OR duplicate_object THEN
  RAISE WARNING 'the roles tollgate_operator and tollgate_application could not be made: one login may do everything';
END $$;
