// The guards of what operators look at: each event is counted once, everybody sees what is theirs, and a card number is looked for nowhere.
import type { Guard } from './guard.js';

const FIGURES = 'test/transactions/day-figures.test.ts';
const TRANSACTIONS = 'test/console/transactions.test.ts';
const CUSTOMERS = 'test/console/found-customers.test.ts';
const TODAY = 'test/console/today.test.ts';
const COUNTING = 'src/transactions/day-figures.sql.ts';

export const CONSOLE_READ_GUARDS: readonly Guard[] = [
  {
    name: 'figures: one at a time counts',
    file: COUNTING,
    find: `SELECT pg_try_advisory_xact_lock(hashtext('tollgate figures')) AS locked`,
    replace: 'SELECT true AS locked',
    tests: [[FIGURES, 'several count at the same time']],
  },
  {
    name: 'figures: what is undecided is taken out from where it was counted',
    file: COUNTING,
    find: 'before.status, CASE WHEN told.undoes',
    replace: 'CASE WHEN told.undoes',
    tests: [[FIGURES, 'what is undecided']],
  },
  {
    name: 'figures: what was approved and is undone is taken out from where it was counted',
    file: COUNTING,
    find: `, CASE WHEN told.undoes THEN 'approved' END)`,
    replace: ', NULL)',
    tests: [[FIGURES, 'trade of two organisations']],
  },
  {
    name: 'figures: what lies before the days that are kept is not counted',
    file: COUNTING,
    find: 'WHERE minute >= (SELECT minutes_from FROM figures_progress)',
    replace: 'WHERE true',
    tests: [[FIGURES, 'days that are over']],
  },
  {
    name: 'console: lists and files of an operator keep within the organisation',
    file: 'src/console/transaction-filter.ts',
    find: 'organisation: fence ?? query.organisation',
    replace: 'organisation: query.organisation',
    tests: [[TRANSACTIONS, 'an operator of all organisations']],
  },
  {
    name: 'console: the figures of an operator keep within the organisation',
    file: 'src/console/today-routes.ts',
    find: 'organisation: fence ?? organisation, mode, date',
    replace: 'organisation, mode, date',
    tests: [[TODAY, 'statuses']],
  },
  {
    name: 'console: a stream keeps within the organisation',
    file: 'src/console/today-routes.ts',
    find: 'const scope = { organisation: fence ?? organisation, mode };',
    replace: 'const scope = { organisation, mode };',
    tests: [[TODAY, 'a purchase while two watch']],
  },
  {
    name: 'console: customers of an operator keep within the organisation',
    file: 'src/console/customers-routes.ts',
    find: 'const scope = { organisation: fence ?? organisation, merchant, mode };\n      const wish',
    replace: 'const scope = { organisation, merchant, mode };\n      const wish',
    tests: [[CUSTOMERS, 'those of another organisation']],
  },
  {
    name: 'console: a card number is looked for nowhere',
    file: 'src/admin/search-meanings.ts',
    find: "if (containsCardNumber(text)) return [{ as: 'card_number' }];",
    replace: '',
    tests: [[TRANSACTIONS, 'a card number']],
  },
  {
    name: 'console: that a file was taken is journalled',
    file: 'src/admin/transaction-file.ts',
    find: "    action: 'transaction.exported',",
    replace: "    action: 'transaction.resolved',",
    tests: [[TRANSACTIONS, 'of a filter']],
  },
];
