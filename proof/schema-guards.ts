// Guards that stand in migrations, which cannot be marked there: a migration that has been applied must not change.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../testkit/project.js';

export interface SchemaGuard {
  readonly name: string;
  readonly file: string;
  /** Must stand in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

export const SCHEMA_GUARDS: readonly SchemaGuard[] = [
  {
    name: 'correlation ID: unique by constraint',
    file: 'migrations/0008_correlation_id_first.sql',
    find: 'UNIQUE (correlation_id, merchant_id, organisation_id)',
    replace: 'UNIQUE (correlation_id, merchant_id, organisation_id, audit)',
  },
  {
    name: 'refund: no more than the original, without the constraint that stands behind it',
    file: 'migrations/0041_quick_gates.sql',
    find: 'refunded_cents BETWEEN 0 AND amount_cents',
    replace: 'refunded_cents >= 0',
  },
  {
    name: 'acquirers: a terminal with its acceptor ID is one merchant’s',
    file: 'migrations/0043_requests_and_acceptors.sql',
    find: 'CONSTRAINT terminal_of_one_merchant PRIMARY KEY (acquirer, acceptor_id, terminal),',
    replace:
      'CONSTRAINT terminal_of_one_merchant PRIMARY KEY (acquirer, acceptor_id, terminal, merchant_id),',
  },
  {
    name: 'acquirers: a terminal stays one merchant’s at the links that it has left',
    file: 'migrations/0043_requests_and_acceptors.sql',
    find: '    UNION SELECT h.acquirer FROM acquirer_terminal h WHERE h.organisation_id = organisation AND h.merchant_id = merchant);',
    replace: '    );',
  },
  {
    name: 'schema: an audit is given once',
    file: 'migrations/0001_gateway.sql',
    find: 'PRIMARY KEY (organisation_id, audit),',
    replace: '',
  },
  {
    name: 'schema: an audit is positive',
    file: 'migrations/0041_quick_gates.sql',
    find: 'NOT audit > 0',
    replace: 'false',
  },
  {
    name: 'schema: an amount is positive',
    file: 'migrations/0041_quick_gates.sql',
    find: 'NOT amount_cents > 0',
    replace: 'false',
  },
  {
    name: 'schema: a type that nobody knows',
    file: 'migrations/0041_quick_gates.sql',
    find: "NOT transaction_type IN ('purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void')",
    replace: 'false',
  },
  {
    name: 'schema: a status that nobody knows',
    file: 'migrations/0041_quick_gates.sql',
    find: "NOT status IN ('unknown', 'approved', 'declined', 'pending', 'error', 'voided')",
    replace: 'false',
  },
  {
    name: 'schema: in doubt is -99, and nothing else is',
    file: 'migrations/0041_quick_gates.sql',
    find: "NOT (status = 'unknown') = (gateway_status_code = -99)",
    replace: 'false',
  },
  {
    name: 'schema: refunds of more than the amount',
    file: 'migrations/0041_quick_gates.sql',
    find: 'refunded_cents BETWEEN 0 AND amount_cents',
    replace: 'refunded_cents >= 0',
  },
  {
    name: 'schema: refunds of less than nothing',
    file: 'migrations/0041_quick_gates.sql',
    find: 'refunded_cents BETWEEN 0 AND amount_cents',
    replace: 'refunded_cents <= amount_cents',
  },
  {
    name: 'schema: refunds of what cannot be refunded',
    file: 'migrations/0041_quick_gates.sql',
    find: "\n      AND (refunded_cents = 0 OR transaction_type IN ('purchase', 'completion'))",
    replace: '',
  },
  {
    name: 'schema: a completion of more than the amount',
    file: 'migrations/0041_quick_gates.sql',
    find: 'completed_cents BETWEEN 0 AND amount_cents',
    replace: 'completed_cents >= 0',
  },
  {
    name: 'schema: a completed amount without a completion',
    file: 'migrations/0041_quick_gates.sql',
    find: '(completed_by IS NOT NULL) = (completed_cents > 0)',
    replace: '(completed_by IS NULL OR completed_cents > 0)',
  },
  {
    name: 'schema: a completion without an amount',
    file: 'migrations/0041_quick_gates.sql',
    find: '(completed_by IS NOT NULL) = (completed_cents > 0)',
    replace: '(completed_by IS NOT NULL OR completed_cents = 0)',
  },
  {
    name: 'schema: a completion of what is no preauthorisation',
    file: 'migrations/0041_quick_gates.sql',
    find: "\n      AND (completed_by IS NULL OR transaction_type = 'preauthorisation')",
    replace: '',
  },
  {
    name: 'schema: a void of what has refunds',
    file: 'migrations/0041_quick_gates.sql',
    find: 'OR (refunded_cents = 0 AND completed_by IS NULL AND',
    replace: 'OR (completed_by IS NULL AND',
  },
  {
    name: 'schema: a void of what is completed',
    file: 'migrations/0041_quick_gates.sql',
    find: 'OR (refunded_cents = 0 AND completed_by IS NULL AND',
    replace: 'OR (refunded_cents = 0 AND',
  },
  {
    name: 'schema: a void of a void',
    file: 'migrations/0041_quick_gates.sql',
    find: " AND transaction_type <> 'void'))",
    replace: '))',
  },
  {
    name: 'schema: voided without a void',
    file: 'migrations/0041_quick_gates.sql',
    find: "NOT (status <> 'voided' OR voided_by IS NOT NULL)",
    replace: 'false',
  },
  {
    name: 'schema: an operation without its target',
    file: 'migrations/0041_quick_gates.sql',
    find: "NOT (target_audit IS NOT NULL) = (transaction_type IN ('completion', 'refund', 'void'))",
    replace: "NOT (target_audit IS NULL OR transaction_type IN ('completion', 'refund', 'void'))",
  },
  {
    name: 'schema: a target where none is due',
    file: 'migrations/0041_quick_gates.sql',
    find: "NOT (target_audit IS NOT NULL) = (transaction_type IN ('completion', 'refund', 'void'))",
    replace: "NOT (target_audit IS NOT NULL OR transaction_type NOT IN ('completion', 'refund', 'void'))",
  },
  {
    name: 'schema: by the short rule an audit is positive',
    file: 'migrations/0041_quick_gates.sql',
    find: 'AND audit > 0 AND amount',
    replace: 'AND amount',
  },
  {
    name: 'schema: by the short rule an amount is positive',
    file: 'migrations/0041_quick_gates.sql',
    find: ' AND amount_cents > 0 AND refunded_cents = 0',
    replace: ' AND refunded_cents = 0',
  },
  {
    name: 'schema: by the short rule nothing is refunded',
    file: 'migrations/0041_quick_gates.sql',
    find: ' AND refunded_cents = 0 AND completed_cents = 0',
    replace: ' AND completed_cents = 0',
  },
  {
    name: 'schema: by the short rule no amount is completed',
    file: 'migrations/0041_quick_gates.sql',
    find: ' AND completed_cents = 0\n',
    replace: '\n',
  },
  {
    name: 'schema: by the short rule there is no completion',
    file: 'migrations/0041_quick_gates.sql',
    find: 'target_audit IS NULL AND completed_by IS NULL)',
    replace: 'target_audit IS NULL)',
  },
  {
    name: 'schema: by the short rule there is no target',
    file: 'migrations/0041_quick_gates.sql',
    find: 'target_audit IS NULL AND completed_by IS NULL)',
    replace: 'completed_by IS NULL)',
  },
  {
    name: 'schema: by the short rule an answer has a status',
    file: 'migrations/0041_quick_gates.sql',
    find: "WHEN 0 THEN status = 'approved'",
    replace: 'WHEN 0 THEN true',
  },
  {
    name: 'schema: more audits than the interface can name',
    file: 'migrations/0001_gateway.sql',
    find: ' CHECK (next_audit BETWEEN 1 AND 2147483648)',
    replace: '',
  },
  {
    name: 'schema: the clock set back',
    file: 'migrations/0001_gateway.sql',
    find: ' CHECK (advanced_ms >= 0)',
    replace: '',
  },
  {
    name: 'schema: a grant across organisations',
    file: 'migrations/0001_gateway.sql',
    find: 'FOREIGN KEY (organisation_id, username) REFERENCES gateway_user (organisation_id, username),',
    replace: 'FOREIGN KEY (username) REFERENCES gateway_user (username),',
  },
  {
    name: 'schema: a grant of a merchant of another organisation',
    file: 'migrations/0001_gateway.sql',
    find: 'FOREIGN KEY (organisation_id, username) REFERENCES gateway_user (organisation_id, username),\n  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)',
    replace:
      'FOREIGN KEY (organisation_id, username) REFERENCES gateway_user (organisation_id, username),\n  FOREIGN KEY (merchant_id) REFERENCES merchant (id)',
  },
  {
    name: 'schema: a user of a merchant of another organisation',
    file: 'migrations/0001_gateway.sql',
    find: 'UNIQUE (organisation_id, username),\n  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)',
    replace: 'UNIQUE (organisation_id, username),\n  FOREIGN KEY (merchant_id) REFERENCES merchant (id)',
  },
  {
    name: 'schema: a surcharge of less than nothing or more than the amount',
    file: 'migrations/0003_surcharge.sql',
    find: ' CHECK (thousandths BETWEEN 0 AND 100000)',
    replace: '',
  },
  {
    name: 'schema: a surcharge that ends before it begins',
    file: 'migrations/0003_surcharge.sql',
    find: '  CHECK (first_day <= last_day),\n',
    replace: '',
  },
  {
    name: 'schema: two surcharges for the same thing from the same day',
    file: 'migrations/0003_surcharge.sql',
    find: '  UNIQUE NULLS NOT DISTINCT (organisation_id, merchant_id, scope, first_day),\n',
    replace: '',
  },
  {
    name: 'schema: a virtual PAN is handed out once',
    file: 'migrations/0002_vault.sql',
    find: 'UNIQUE (organisation_id, virtual_pan)',
    replace: 'UNIQUE (organisation_id, virtual_pan, id)',
  },
  {
    name: 'schema: a virtual PAN that is none',
    file: 'migrations/0002_vault.sql',
    find: " CHECK (virtual_pan ~ '^9[0-9]{15}$')",
    replace: '',
  },
  {
    name: 'schema: a deleted token that still holds its card',
    file: 'migrations/0002_vault.sql',
    find: 'ELSE sealed IS NULL AND key_version IS NULL',
    replace: 'ELSE key_version IS NULL',
  },
  {
    name: 'schema: a deleted token that is still active',
    file: 'migrations/0002_vault.sql',
    find: ' AND preferred_name IS NULL AND NOT active END',
    replace: ' AND preferred_name IS NULL END',
  },
  {
    name: 'schema: a token without its card',
    file: 'migrations/0002_vault.sql',
    find: 'THEN sealed IS NOT NULL AND key_version',
    replace: 'THEN key_version',
  },
  {
    name: 'schema: a data key that a token still needs',
    file: 'migrations/0002_vault.sql',
    find: '  FOREIGN KEY (organisation_id, merchant_id, key_version) REFERENCES data_key (organisation_id, merchant_id, version),\n',
    replace: '',
  },
  {
    name: 'schema: the journal is not changed',
    file: 'migrations/0002_vault.sql',
    find: 'CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON journal',
    replace: 'CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON schema_migration',
  },
  {
    name: 'schema: the journal is not emptied',
    file: 'migrations/0002_vault.sql',
    find: 'CREATE TRIGGER journal_not_emptied BEFORE TRUNCATE ON journal',
    replace: 'CREATE TRIGGER journal_not_emptied BEFORE TRUNCATE ON schema_migration',
  },
  {
    name: 'schema: the gateway may not change the journal',
    file: 'migrations/0002_vault.sql',
    find: '  REVOKE UPDATE, DELETE ON journal FROM tollgate_application;\n',
    replace: '',
  },
  {
    name: 'schema: a token keeps its virtual PAN',
    file: 'migrations/0026_seals.sql',
    find: ' OR NEW.virtual_pan <> OLD.virtual_pan',
    replace: '',
  },
  {
    name: 'schema: a token keeps its customer',
    file: 'migrations/0026_seals.sql',
    find: '    OR NEW.customer_id <> OLD.customer_id OR NEW.virtual_pan <> OLD.virtual_pan\n',
    replace: '',
  },
  {
    name: 'schema: the seal of a token is not set back',
    file: 'migrations/0026_seals.sql',
    find: 'NEW.seal_version < OLD.seal_version OR ',
    replace: '',
  },
  {
    name: 'schema: a deleted token stays deleted',
    file: 'migrations/0026_seals.sql',
    find: '\n    OR (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL)',
    replace: '',
  },
  {
    name: 'schema: a token is not removed',
    file: 'migrations/0026_seals.sql',
    find: 'CREATE TRIGGER token_is_not_removed BEFORE DELETE ON token FOR EACH ROW EXECUTE FUNCTION token_is_kept();\n',
    replace: '',
  },
  {
    name: 'schema: a data key that was destroyed is not put back',
    file: 'migrations/0026_seals.sql',
    find: 'CREATE TRIGGER data_key_is_new BEFORE INSERT ON data_key FOR EACH ROW EXECUTE FUNCTION data_key_is_kept();\n',
    replace: '',
  },
  {
    name: 'schema: a data key keeps its form',
    file: 'migrations/0026_seals.sql',
    find: '\n    OR NEW.form <> OLD.form',
    replace: '',
  },
  {
    name: 'schema: an item for a bank keeps its account',
    file: 'migrations/0026_seals.sql',
    find: ' OR NEW.account_audit <> OLD.account_audit',
    replace: '',
  },
  {
    name: 'schema: an item for a bank does not go back',
    file: 'migrations/0026_seals.sql',
    find: "OR (OLD.state <> 'waiting' AND NEW.state = 'waiting')",
    replace: '',
  },
  {
    name: 'roles: who serves lets nobody in, and sends no money elsewhere',
    file: 'migrations/0027_roles.sql',
    find: "EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %I FROM tollgate_application', settings);",
    replace: "EXECUTE format('REVOKE DELETE ON %I FROM tollgate_application', settings);",
  },
  {
    name: 'roles: operators do not change the journal',
    file: 'migrations/0027_roles.sql',
    find: '  REVOKE UPDATE, DELETE ON journal FROM tollgate_operator;\n',
    replace: '',
  },
  {
    name: 'roles: operators do not change the journal',
    file: 'migrations/0002_vault.sql',
    find: 'CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON journal',
    replace: 'CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON schema_migration',
  },
  {
    name: 'roles: operators remove no token',
    file: 'migrations/0027_roles.sql',
    find: '  REVOKE DELETE ON token FROM tollgate_operator;\n',
    replace: '',
  },
  {
    name: 'return: only of what a bank has',
    file: 'migrations/0004_directdebit.sql',
    find: "CHECK ((file_number IS NOT NULL) = (state IN ('filed', 'cleared', 'returned'))",
    replace: 'CHECK (true',
  },
  {
    name: 'schema: a merchant that changes its mode',
    file: 'migrations/0011_modes.sql',
    find: 'FOR EACH ROW WHEN (OLD.mode <> NEW.mode)',
    replace: 'FOR EACH ROW WHEN (false)',
  },
  {
    name: 'schema: a live merchant with the simulator',
    file: 'migrations/0011_modes.sql',
    find: "CHECK (mode = 'test' OR acquirer IS DISTINCT FROM 'simulator')",
    replace: 'CHECK (true)',
  },
  {
    name: 'schema: a clock that is moved',
    file: 'migrations/0011_modes.sql',
    find: 'FOR EACH ROW WHEN (NEW.advanced_ms > 0)',
    replace: 'FOR EACH ROW WHEN (false)',
  },
  {
    name: 'schema: a file for a real bank holds no simulated item',
    file: 'migrations/0011_modes.sql',
    find: '(organisation_id, merchant_id, file_number, simulated)\n    REFERENCES directdebit_file (organisation_id, merchant_id, number, simulated)',
    replace:
      '(organisation_id, merchant_id, file_number)\n    REFERENCES directdebit_file (organisation_id, merchant_id, number)',
  },
  {
    name: 'events: one at a time gives positions',
    file: 'migrations/0040_events_together.sql',
    find: "    PERFORM pg_advisory_xact_lock(hashtext('tollgate events'));",
    replace: '    PERFORM 1;',
  },
  {
    name: 'events: those of one round go by when they were written, and not by when their transactions began',
    file: 'migrations/0040_events_together.sql',
    find: 'row_number() OVER (ORDER BY id)',
    replace: 'row_number() OVER (ORDER BY xid)',
  },
  {
    name: 'events: positions that readers may know are not given again',
    file: 'migrations/0040_events_together.sql',
    find: 'newest := newest + 1000000000;',
    replace: 'newest := newest;',
  },
  {
    name: 'events: under another lineage everything is looked at',
    file: 'migrations/0016_feed.sql',
    find: "FROM (SELECT under = here AND here <> '' AS known) lineage",
    replace: "FROM (SELECT under <> here OR here <> '' AS known) lineage",
  },
  {
    name: 'events: a crowd is moved from its beginning',
    file: 'migrations/0040_events_together.sql',
    find: '(last_id IS NULL OR id <= last_id)',
    replace: '(last_id IS NULL OR id >= last_id)',
  },
  {
    name: 'events: a clock that goes back takes no position back',
    file: 'migrations/0016_feed.sql',
    find: 'greatest(last / 10000000000 + 1, event_day())',
    replace: 'greatest(0, event_day())',
  },
  {
    name: 'reconciliation: a difference that was looked at does not hide another one',
    file: 'migrations/0042_differences_anew.sql',
    find: 'UNIQUE (settlement_date, acquirer, kind, reference, there, here)',
    replace: 'UNIQUE (settlement_date, acquirer, kind, reference, there)',
  },
  {
    name: 'settlement: a day is not closed while a commit is under way',
    file: 'migrations/0041_quick_gates.sql',
    find: "pg_advisory_xact_lock_shared(hashtext('tollgate settlement'))",
    replace: "''",
  },
  {
    name: 'settlement: entries are only ever appended to',
    file: 'migrations/0017_settlement.sql',
    find: 'CREATE TRIGGER settlement_append_only BEFORE UPDATE OR DELETE ON settlement_entry\n  FOR EACH ROW EXECUTE FUNCTION settlement_is_append_only();',
    replace: '',
  },
  {
    name: 'ISO 8583: no STAN comes again within a day',
    file: 'migrations/0020_acquirers.sql',
    find: 'least(wanted, round - (begins - coalesce(oldest, begins)), round - begins % round)',
    replace: 'least(wanted, round - begins % round)',
  },
  {
    name: 'ISO 8583: STANs jump ahead of what a failover lost',
    file: 'migrations/0020_acquirers.sql',
    find: 'CASE WHEN c.lineage = here THEN 0 ELSE ahead * greatest(timeline_of(here) - timeline_of(c.lineage), 1) END',
    replace: '0',
  },
  {
    name: 'ISO 8583: a terminal whose counter a failover lost begins somewhere else',
    file: 'migrations/0020_acquirers.sql',
    find: 'greatest(timeline_of(here) - 1, 0) * ahead % round',
    replace: '0',
  },
];

const MIGRATIONS = 'migrations/';
const FUNCTION = /\bCREATE (?:OR REPLACE )?FUNCTION (\w+)/g;

const textOf = (file: string) => readFileSync(join(PROJECT_ROOT, file), 'utf8');

/** What is wrong with an entry: its text must be found exactly once, in force. */
export function staleness({ name, file, find }: SchemaGuard): string | undefined {
  const text = textOf(file);
  const times = text.split(find).length - 1;
  if (times !== 1) return `“${name}”: its text stands ${times} times in ${file}`;
  const later = rewrittenBy(file, text.slice(0, text.indexOf(find)));
  return later && `“${name}” stands in a function that ${later} has written anew`;
}

function rewrittenBy(file: string, before: string): string | undefined {
  const around = functionsIn(before).at(-1);
  // Its body is between two of these.
  const isInside = before.split('$$').length % 2 === 0;
  if (around === undefined || !isInside) return undefined;
  const last = readdirSync(join(PROJECT_ROOT, MIGRATIONS))
    .toSorted()
    .map((name) => `${MIGRATIONS}${name}`)
    .findLast((migration) => functionsIn(textOf(migration)).includes(around));
  return last === file ? undefined : last;
}

function functionsIn(text: string): string[] {
  return [...text.matchAll(FUNCTION)].map(([, name = '']) => name);
}
