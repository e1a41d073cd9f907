// The guards of settlement days: what keeps a closed day as it is, and every cent on one day.
import type { Guard } from './guard.js';

const STATUS = 'src/transactions/status.sql.ts';
const SCHEMA = 'migrations/0017_settlement.sql';
const GATE = 'migrations/0041_quick_gates.sql';
const CLOSED_DAYS = 'test/settlement/closed-days.test.ts';
const DIFFERENCES = 'test/settlement/differences.test.ts';
const REPORT = 'test/settlement/report.test.ts';
const RECONCILE = 'test/settlement/reconcile.test.ts';

export const SETTLEMENT_GUARDS: readonly Guard[] = [
  {
    name: 'reconciliation: under the name of no acquirer nothing is kept',
    file: 'src/settlement/reconcile.ts',
    find: '  await checkAcquirer(database, wish);\n',
    replace: '',
    tests: [[DIFFERENCES, 'left empty, or misspelt']],
  },
  {
    name: 'reconciliation: one run at a time replaces the differences of a day',
    file: 'src/settlement/differences.ts',
    find: '  await connection.query(LOCK_DIFFERENCES, [date, acquirer]);\n',
    replace: '',
    tests: [[DIFFERENCES, 'two files for one day at once']],
  },
  {
    name: 'reconciliation: a difference that was looked at does not hide another one',
    file: 'src/settlement/differences.sql.ts',
    find: 'DO UPDATE SET gone_at = NULL,',
    replace: 'DO UPDATE SET here = excluded.here, gone_at = NULL,',
    also: [
      {
        file: 'src/settlement/differences.sql.ts',
        find: 'ON CONFLICT (settlement_date, acquirer, kind, reference, there, here)',
        replace: 'ON CONFLICT (settlement_date, acquirer, kind, reference, there)',
      },
      {
        file: 'migrations/0042_differences_anew.sql',
        find: 'UNIQUE (settlement_date, acquirer, kind, reference, there, here)',
        replace: 'UNIQUE (settlement_date, acquirer, kind, reference, there)',
      },
    ],
    tests: [[DIFFERENCES, 'something else here']],
  },
  {
    name: 'reconciliation: differences that nobody has seen are not looked at with the others',
    file: 'src/admin/differences.ts',
    find: 'if (lookedAt !== (open ?? lookedAt))',
    replace: 'if (open === -1)',
    tests: [[DIFFERENCES, 'looked at together']],
  },
  {
    name: 'settlement: nothing is dated on a closed day, whatever the answer says',
    file: STATUS,
    find: 'greatest(answer.settlement_date, ',
    replace: 'coalesce(answer.settlement_date, ',
    tests: [[CLOSED_DAYS, 'approved with a day that is closed']],
  },
  {
    name: 'settlement: the client is told the day that is stored',
    file: STATUS,
    find: 't.settlement_date IS NOT DISTINCT FROM answer.settlement_date AS as_answered',
    replace: 'true AS as_answered',
    tests: [[CLOSED_DAYS, 'approved with a day that is closed']],
  },
  {
    name: 'settlement: a day is not closed while a commit is under way',
    file: GATE,
    find: "pg_advisory_xact_lock_shared(hashtext('tollgate settlement'))",
    replace: "''",
    tests: [[CLOSED_DAYS, 'a commit that is held up over the close']],
  },
  {
    name: 'settlement: entries are only ever appended to',
    file: SCHEMA,
    find: 'CREATE TRIGGER settlement_append_only BEFORE UPDATE OR DELETE ON settlement_entry\n  FOR EACH ROW EXECUTE FUNCTION settlement_is_append_only();',
    replace: '',
    tests: [[CLOSED_DAYS, 'nobody changes or removes it']],
  },
  {
    name: 'settlement: a void takes back what has settled',
    file: STATUS,
    find: "WHERE decided.status = 'approved' AND undone.status",
    replace: "WHERE decided.status = 'declined' AND undone.status",
    tests: [[REPORT, 'voided on its own day']],
  },
  {
    name: 'settlement: a void of a hold settles nothing',
    file: STATUS,
    find: "AND undone.status = 'approved' AND undone.transaction_type <> 'preauthorisation') undoing",
    replace: "AND undone.status = 'approved') undoing",
    tests: [[REPORT, 'voided on its own day']],
  },
  {
    name: 'settlement: what was returned before it cleared has nothing to be taken back',
    file: STATUS,
    find: 'FROM declined WHERE late',
    replace: 'FROM declined',
    tests: [[REPORT, 'direct debits → on the day they clear']],
  },
  {
    name: 'settlement: a merchant sees its own day only',
    file: 'src/settlement/report.sql.ts',
    find: 'AND organisation_id = $2 AND merchant_id = ANY ($3::integer[])',
    replace: 'AND organisation_id = $2 AND merchant_id <> ALL (ARRAY[0]) AND $3::integer[] IS NOT NULL',
    tests: [[REPORT, 'every merchant of the user, and no other']],
  },
  {
    name: 'reconciliation: a line that is there twice counts once',
    file: 'src/settlement/audit-set.ts',
    find: 'if (this.has(key)) return false;',
    replace: '',
    tests: [[RECONCILE, 'wrong lines']],
  },
];
