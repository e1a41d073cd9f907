// Guards of direct debit: each item in one file, none that is voided, each return once.
import type { Edit, Guard } from './guard.js';

const STATUS = 'src/transactions/status.sql.ts';
const FILES = 'src/directdebit/files.sql.ts';
const RETURNS = 'src/directdebit/returns.sql.ts';
const MATCHING = 'src/directdebit/returns.ts';
const CLEARING = 'src/directdebit/clearing.sql.ts';
const VOID = 'test/directdebit/directdebit-void.test.ts';
const RETURN = 'test/directdebit/returns.test.ts';
const REFUNDS = 'test/directdebit/refunds.test.ts';

/** Without it, an item is returned whatever became of it before. */
const ANY_STATE: Edit = { file: RETURNS, find: "    WHERE i.state IN ('filed', 'cleared')\n", replace: '' };

export const DIRECTDEBIT_GUARDS: readonly Guard[] = [
  {
    name: 'void of a direct debit: not once it is in a file',
    file: 'src/transactions/target-rules.ts',
    find: "all(is(STATUS, 'pending'), isSet(VOIDABLE_UNTIL)),",
    replace: "is(STATUS, 'pending'),",
    tests: [[VOID, 'once it is in a file']],
  },
  {
    name: 'file: says that its items cannot be voided any more',
    file: STATUS,
    find: 'UPDATE transaction t SET voidable_until = NULL, settlement_date = lodged.processing_day',
    replace: 'UPDATE transaction t SET settlement_date = lodged.processing_day',
    tests: [[VOID, 'once it is in a file']],
  },
  {
    name: 'file: no items that are voided',
    file: FILES,
    find: "AND t.status = 'pending' AND t.voided_by IS NULL AND i.held_at IS NULL\n      ORDER BY",
    replace: 'AND i.held_at IS NULL\n      ORDER BY',
    also: [
      {
        file: FILES,
        find: "AND t.organisation_id = i.organisation_id AND t.audit = i.audit AND t.status <> 'pending'`",
        replace: 'AND t.organisation_id = i.organisation_id AND t.audit = i.audit AND false`',
      },
    ],
    tests: [[VOID, 'before it is in a file']],
  },
  {
    name: 'export: one at a time',
    file: FILES,
    find: "SELECT pg_advisory_xact_lock(hashtext('tollgate exports'), $1::integer)",
    replace: 'SELECT $1::integer',
    tests: [['test/directdebit/killed.test.ts', 'the second waits for the first']],
    processes: true,
    slow: true,
  },
  {
    name: 'return: only of what a bank has',
    file: RETURNS,
    find: 'JOIN directdebit_file f ON',
    replace: 'LEFT JOIN directdebit_file f ON',
    // Each of these would keep it from being returned.
    also: [
      ANY_STATE,
      { file: MATCHING, find: "if (!row.inTime) return 'too late';", replace: '' },
      {
        file: 'migrations/0004_directdebit.sql',
        find: "CHECK ((file_number IS NOT NULL) = (state IN ('filed', 'cleared', 'returned'))",
        replace: 'CHECK (true',
      },
    ],
    tests: [[RETURN, 'an item that waits for its file, and one that was voided']],
  },
  {
    // Each of these is enough by itself while one import follows the other.
    name: 'return: once',
    ...ANY_STATE,
    also: [
      {
        file: MATCHING,
        find: "if (row.state === 'returned')\n      return row.returnCode === item.returnCode ? 'returned already' : 'returned with another code';",
        replace: '',
      },
      {
        file: STATUS,
        find: "      WHERE t.status IN ('pending', 'approved')\n      ORDER BY",
        replace: '      ORDER BY',
      },
    ],
    tests: [[RETURN, 'the same file twice']],
  },
  {
    name: 'return: by two files at once, with the first one’s code',
    ...ANY_STATE,
    tests: [[REFUNDS, 'two files at once']],
  },
  {
    name: 'return: only if everything agrees',
    file: MATCHING,
    find: "if (!agrees(row, item)) return 'details differ';",
    replace: '',
    tests: [[RETURN, 'another amount']],
  },
  {
    name: 'return: not after the dispute days',
    file: MATCHING,
    find: "if (!row.inTime) return 'too late';",
    replace: '',
    tests: [[RETURN, 'on the last of the dispute days']],
  },
  {
    name: 'return of a refund: gives its amount back',
    file: STATUS,
    find: 'SET refunded_cents = target.refunded_cents - back.cents',
    replace: 'SET refunded_cents = target.refunded_cents',
    tests: [[REFUNDS, 'a credit that the bank returns']],
  },
  {
    name: 'clearing: not before its time',
    file: CLEARING,
    find: "WHERE i.next_at <= to_timestamp($3::float8 / 1000) AND i.state = 'filed' AND i.simulated_return IS NULL\n        AND f",
    replace: "WHERE i.state = 'filed' AND i.simulated_return IS NULL\n        AND f",
    tests: [['test/directdebit/clearing.test.ts', 'each at its time, not before']],
    slow: true,
  },
];
