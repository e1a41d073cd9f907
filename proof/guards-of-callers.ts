// The guards of what a caller may see and use: look-ups, searches, surcharges, merchants and credentials.
import type { Guard } from './guard.js';

export const CALLER_GUARDS: readonly Guard[] = [
  {
    name: 'look-up by audit: only of merchants that the caller may use',
    file: 'src/transactions/lookup.sql.ts',
    find: 'WHERE merchant_id = ANY (of_merchants::integer[])',
    replace: 'WHERE of_merchants IS NOT NULL',
    tests: [['test/http/callers.test.ts', 'lookup by the']],
  },
  {
    name: 'search by correlation ID: only of the merchant that is named',
    file: 'src/transactions/lookup.sql.ts',
    find: `AND merchant_id = of_merchant
      AND correlation_id = of_correlation_id
    WHERE`,
    replace: `AND of_merchant > 0
      AND correlation_id = of_correlation_id
    WHERE`,
    tests: [['test/api/correlation-search.test.ts', 'that nobody used, or another merchant used']],
  },
  {
    name: 'search by correlation ID: finds what is in doubt, however old',
    file: 'src/transactions/lookup.sql.ts',
    find: " OR status IN ('unknown', 'pending')",
    replace: '',
    tests: [['test/api/correlation-search.test.ts', 'in doubt after 25 hours']],
  },
  {
    name: 'search by correlation ID: its hours count from the decision',
    file: 'src/transactions/lookup.sql.ts',
    find: 'WHERE decided_at > to_timestamp',
    replace: 'WHERE created_at > to_timestamp',
    tests: [['test/api/correlation-search.test.ts', 'decided after 25 hours']],
  },
  {
    name: 'surcharge: a total of at most twelve digits',
    file: 'src/plugins/plugins.ts',
    find: "  if (changed.amountCents > MAX_AMOUNT_CENTS) throw fault('priced_amount_too_large', 'amount');\n",
    replace: '',
    tests: [['test/plugins/surcharge-rules.test.ts', 'longer than twelve digits']],
  },
  {
    name: 'completion: the surcharge of its preauthorisation, and no other',
    file: 'src/plugins/contract.ts',
    find: 'payment.target.pricing?.decisions[name]',
    replace: 'undefined',
    tests: [['test/plugins/surcharge-rules.test.ts', 'never more than the preauthorisation']],
  },
  {
    name: 'callers: only merchants that the user was given',
    file: 'src/merchants/callers.sql.ts',
    find: `(m.id = u.merchant_id OR EXISTS (
        SELECT FROM user_grant g WHERE g.username = u.username AND g.merchant_id = m.id))`,
    replace: 'true',
    tests: [['test/http/callers.test.ts', 'lookup by the']],
  },
  {
    name: 'callers: nobody whose credentials were revoked',
    slow: true,
    file: 'src/merchants/callers.sql.ts',
    find: ' AND u.revoked_at IS NULL',
    replace: '',
    tests: [['test/http/operator-changes.test.ts', 'a user that is revoked']],
  },
];
