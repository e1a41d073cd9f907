// The guards that stand in the schema: what no statement can write, whoever sends it.
import type { Guard } from './guard.js';

const GATEWAY = 'migrations/0001_gateway.sql';
const SOUND = 'migrations/0041_quick_gates.sql';
const VAULT = 'migrations/0002_vault.sql';
const SURCHARGE = 'migrations/0003_surcharge.sql';
const CONSTRAINTS = 'test/transactions/transaction-constraints.test.ts';
const VAULT_CONSTRAINTS = 'test/vault/vault-constraints.test.ts';

const guard =
  (file: string, tests: string) =>
  (name: string, find: string, replace: string, test?: string): Guard => ({
    name: `schema: ${name}`,
    file,
    find,
    replace,
    tests: [[tests, test ?? name]],
  });
const money = guard(GATEWAY, CONSTRAINTS);
/** One of the rules that a row keeps. */
const rule = guard(SOUND, CONSTRAINTS);
const surcharge = guard(SURCHARGE, CONSTRAINTS);
const vault = guard(VAULT, VAULT_CONSTRAINTS);

export const SCHEMA_GUARDS: readonly Guard[] = [
  money('an audit is given once', 'PRIMARY KEY (organisation_id, audit),', ''),
  rule('an audit is positive', 'NOT audit > 0', 'false'),
  rule('an amount is positive', 'NOT amount_cents > 0', 'false'),
  rule(
    'a type that nobody knows',
    "NOT transaction_type IN ('purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void')",
    'false',
  ),
  rule(
    'a status that nobody knows',
    "NOT status IN ('unknown', 'approved', 'declined', 'pending', 'error', 'voided')",
    'false',
  ),
  rule(
    'in doubt is -99, and nothing else is',
    "NOT (status = 'unknown') = (gateway_status_code = -99)",
    'false',
  ),
  rule('refunds of more than the amount', 'refunded_cents BETWEEN 0 AND amount_cents', 'refunded_cents >= 0'),
  rule(
    'refunds of less than nothing',
    'refunded_cents BETWEEN 0 AND amount_cents',
    'refunded_cents <= amount_cents',
  ),
  rule(
    'refunds of what cannot be refunded',
    "\n      AND (refunded_cents = 0 OR transaction_type IN ('purchase', 'completion'))",
    '',
  ),
  rule(
    'a completion of more than the amount',
    'completed_cents BETWEEN 0 AND amount_cents',
    'completed_cents >= 0',
  ),
  rule(
    'a completed amount without a completion',
    '(completed_by IS NOT NULL) = (completed_cents > 0)',
    '(completed_by IS NULL OR completed_cents > 0)',
  ),
  rule(
    'a completion without an amount',
    '(completed_by IS NOT NULL) = (completed_cents > 0)',
    '(completed_by IS NOT NULL OR completed_cents = 0)',
  ),
  rule(
    'a completion of what is no preauthorisation',
    "\n      AND (completed_by IS NULL OR transaction_type = 'preauthorisation')",
    '',
  ),
  rule(
    'a void of what has refunds',
    'OR (refunded_cents = 0 AND completed_by IS NULL AND',
    'OR (completed_by IS NULL AND',
  ),
  rule(
    'a void of what is completed',
    'OR (refunded_cents = 0 AND completed_by IS NULL AND',
    'OR (refunded_cents = 0 AND',
  ),
  rule('a void of a void', " AND transaction_type <> 'void'))", '))'),
  rule('voided without a void', "NOT (status <> 'voided' OR voided_by IS NOT NULL)", 'false'),
  rule(
    'an operation without its target',
    "NOT (target_audit IS NOT NULL) = (transaction_type IN ('completion', 'refund', 'void'))",
    "NOT (target_audit IS NULL OR transaction_type IN ('completion', 'refund', 'void'))",
  ),
  rule(
    'a target where none is due',
    "NOT (target_audit IS NOT NULL) = (transaction_type IN ('completion', 'refund', 'void'))",
    "NOT (target_audit IS NOT NULL OR transaction_type NOT IN ('completion', 'refund', 'void'))",
  ),
  rule(
    'by the short rule an audit is positive',
    'AND audit > 0 AND amount',
    'AND amount',
    'an audit is positive',
  ),
  rule(
    'by the short rule an amount is positive',
    ' AND amount_cents > 0 AND refunded_cents = 0',
    ' AND refunded_cents = 0',
    'an amount is positive',
  ),
  rule(
    'by the short rule nothing is refunded',
    ' AND refunded_cents = 0 AND completed_cents = 0',
    ' AND completed_cents = 0',
    'refunds of more than the amount',
  ),
  rule(
    'by the short rule no amount is completed',
    ' AND completed_cents = 0\n',
    '\n',
    'a completed amount of what is no preauthorisation',
  ),
  rule(
    'by the short rule there is no completion',
    'target_audit IS NULL AND completed_by IS NULL)',
    'target_audit IS NULL)',
    'a completion of what is no preauthorisation',
  ),
  rule(
    'by the short rule there is no target',
    'target_audit IS NULL AND completed_by IS NULL)',
    'completed_by IS NULL)',
    'a target where none is due',
  ),
  rule(
    'by the short rule an answer has a status',
    "WHEN 0 THEN status = 'approved'",
    'WHEN 0 THEN true',
    'in doubt is -99, and nothing else is',
  ),
  money('more audits than the interface can name', ' CHECK (next_audit BETWEEN 1 AND 2147483648)', ''),
  money('the clock set back', ' CHECK (advanced_ms >= 0)', ''),
  money(
    'a grant across organisations',
    'FOREIGN KEY (organisation_id, username) REFERENCES gateway_user (organisation_id, username),',
    'FOREIGN KEY (username) REFERENCES gateway_user (username),',
  ),
  money(
    'a grant of a merchant of another organisation',
    'FOREIGN KEY (organisation_id, username) REFERENCES gateway_user (organisation_id, username),\n  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)',
    'FOREIGN KEY (organisation_id, username) REFERENCES gateway_user (organisation_id, username),\n  FOREIGN KEY (merchant_id) REFERENCES merchant (id)',
  ),
  money(
    'a user of a merchant of another organisation',
    'UNIQUE (organisation_id, username),\n  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)',
    'UNIQUE (organisation_id, username),\n  FOREIGN KEY (merchant_id) REFERENCES merchant (id)',
  ),
  surcharge(
    'a surcharge of less than nothing or more than the amount',
    ' CHECK (thousandths BETWEEN 0 AND 100000)',
    '',
  ),
  surcharge('a surcharge that ends before it begins', '  CHECK (first_day <= last_day),\n', ''),
  surcharge(
    'two surcharges for the same thing from the same day',
    '  UNIQUE NULLS NOT DISTINCT (organisation_id, merchant_id, scope, first_day),\n',
    '',
  ),
  vault(
    'a virtual PAN is handed out once',
    'UNIQUE (organisation_id, virtual_pan)',
    'UNIQUE (organisation_id, virtual_pan, id)',
  ),
  vault('a virtual PAN that is none', " CHECK (virtual_pan ~ '^9[0-9]{15}$')", ''),
  vault(
    'a deleted token that still holds its card',
    'ELSE sealed IS NULL AND key_version IS NULL',
    'ELSE key_version IS NULL',
  ),
  vault(
    'a deleted token that is still active',
    ' AND preferred_name IS NULL AND NOT active END',
    ' AND preferred_name IS NULL END',
  ),
  vault('a token without its card', 'THEN sealed IS NOT NULL AND key_version', 'THEN key_version'),
  vault(
    'a data key that a token still needs',
    '  FOREIGN KEY (organisation_id, merchant_id, key_version) REFERENCES data_key (organisation_id, merchant_id, version),\n',
    '',
  ),
  {
    name: 'schema: the journal is not changed',
    file: VAULT,
    find: 'CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON journal',
    replace: 'CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON schema_migration',
    tests: [['test/journal/journal.test.ts', 'as the owner of the database']],
  },
  {
    name: 'schema: the journal is not emptied',
    file: VAULT,
    find: 'CREATE TRIGGER journal_not_emptied BEFORE TRUNCATE ON journal',
    replace: 'CREATE TRIGGER journal_not_emptied BEFORE TRUNCATE ON schema_migration',
    tests: [['test/journal/journal.test.ts', 'as the owner of the database']],
  },
  {
    name: 'schema: the gateway may not change the journal',
    file: VAULT,
    find: '  REVOKE UPDATE, DELETE ON journal FROM tollgate_application;\n',
    replace: '',
    tests: [[VAULT_CONSTRAINTS, 'the journal changed by the gateway, were there no triggers']],
  },
];
