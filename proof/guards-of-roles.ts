// The guards against whoever writes to the database: what triggers refuse, and what each login may do at most.
import type { Guard } from './guard.js';

const SEALS = 'migrations/0026_seals.sql';
const ROLES = 'migrations/0027_roles.sql';
const CONSTRAINTS = 'test/vault/vault-constraints.test.ts';
const LOGINS = 'test/embedded-postgres/roles.test.ts';
const RIGHTS = 'who serves cannot let anybody in';

const kept = (name: string, find: string, test: string): Guard => ({
  name: `schema: ${name}`,
  file: SEALS,
  find,
  replace: '',
  tests: [[CONSTRAINTS, test]],
});

export const ROLE_GUARDS: readonly Guard[] = [
  kept('a token keeps its virtual PAN', ' OR NEW.virtual_pan <> OLD.virtual_pan', 'a token: '),
  kept(
    'a token keeps its customer',
    '    OR NEW.customer_id <> OLD.customer_id OR NEW.virtual_pan <> OLD.virtual_pan\n',
    'a token: ',
  ),
  kept('the seal of a token is not set back', 'NEW.seal_version < OLD.seal_version OR ', 'a token: '),
  kept(
    'a deleted token stays deleted',
    '\n    OR (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL)',
    'a deleted token is brought back',
  ),
  kept(
    'a token is not removed',
    'CREATE TRIGGER token_is_not_removed BEFORE DELETE ON token FOR EACH ROW EXECUTE FUNCTION token_is_kept();\n',
    'a deleted token is brought back',
  ),
  kept(
    'a data key that was destroyed is not put back',
    'CREATE TRIGGER data_key_is_new BEFORE INSERT ON data_key FOR EACH ROW EXECUTE FUNCTION data_key_is_kept();\n',
    'a destroyed version of a data key is put back',
  ),
  kept(
    'a data key keeps its form',
    '\n    OR NEW.form <> OLD.form',
    'a destroyed version of a data key is put back',
  ),
  kept(
    'an item for a bank keeps its account',
    ' OR NEW.account_audit <> OLD.account_audit',
    'an item for a bank',
  ),
  kept(
    'an item for a bank does not go back',
    "OR (OLD.state <> 'waiting' AND NEW.state = 'waiting')",
    'an item for a bank',
  ),
  {
    name: 'roles: who serves lets nobody in, and sends no money elsewhere',
    file: ROLES,
    find: "EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %I FROM tollgate_application', settings);",
    replace: "EXECUTE format('REVOKE DELETE ON %I FROM tollgate_application', settings);",
    tests: [[LOGINS, RIGHTS]],
  },
  {
    name: 'roles: operators do not change the journal',
    file: ROLES,
    find: '  REVOKE UPDATE, DELETE ON journal FROM tollgate_operator;\n',
    replace: '',
    also: [
      {
        file: 'migrations/0002_vault.sql',
        find: 'CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON journal',
        replace: 'CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON schema_migration',
      },
    ],
    tests: [[LOGINS, RIGHTS]],
  },
  {
    name: 'roles: operators remove no token',
    file: ROLES,
    find: '  REVOKE DELETE ON token FROM tollgate_operator;\n',
    replace: '',
    tests: [[LOGINS, RIGHTS]],
  },
  {
    name: 'roles: no login of the embedded PostgreSQL is a superuser',
    file: 'src/embedded-postgres/roles.sql.ts',
    find: 'LOGIN PASSWORD %L NOSUPERUSER NOCREATEDB',
    replace: 'LOGIN PASSWORD %L SUPERUSER NOCREATEDB',
    tests: [[LOGINS, 'none of them is a superuser']],
  },
  {
    name: 'roles: a gateway serves as the login that may only serve',
    slow: true,
    processes: true,
    file: 'src/gateway/serve.ts',
    find: 'databaseUrl: connection.logins.serving,',
    replace: 'databaseUrl: connection.logins.migrating,',
    tests: [['test/processes/own-postgres.test.ts', 'three logins']],
  },
  {
    name: 'roles: an operator’s command works as the login of operators',
    slow: true,
    processes: true,
    file: 'src/gateway/connection.ts',
    find: 'operating: operatingUrl ?? migratingUrl ?? serving,',
    replace: 'operating: migratingUrl ?? operatingUrl ?? serving,',
    tests: [['test/processes/own-postgres.test.ts', 'three logins']],
  },
];
