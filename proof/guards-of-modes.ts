// The guards between test and live: play money stays play money, and real payments happen in real time.
import type { Guard } from './guard.js';

const LINK = 'src/transactions/link.ts';
const MIGRATION = 'migrations/0011_modes.sql';
const MODES = 'test/transactions/modes.test.ts';
const BANKS = 'test/directdebit/directdebit-modes.test.ts';

const schema = (name: string, find: string, replace: string, test?: string): Guard => ({
  name: `schema: ${name}`,
  file: MIGRATION,
  find,
  replace,
  tests: [[MODES, test ?? name]],
});

export const MODE_GUARDS: readonly Guard[] = [
  {
    name: 'link: live merchants by live links only',
    file: LINK,
    find: 'link !== undefined && serves(link, mode) ? link : undefined',
    replace: 'link',
    tests: [
      [MODES, 'against every rule'],
      [MODES, 'its acquirer is a live link'],
    ],
  },
  {
    name: 'caller: with X-Test-Only no live merchant',
    file: 'src/http/authentication.ts',
    find: 'request.headers[TEST_ONLY_HEADER] === undefined ? caller : amongTestMerchants(caller)',
    replace: 'caller',
    tests: [[MODES, 'a purchase for a live merchant → 403 as for a stranger']],
  },
  {
    name: 'file: only what its bank has taken in',
    file: 'src/directdebit/files.sql.ts',
    find: "AND i.simulated = $10 AND i.state = 'waiting'",
    replace: "AND i.state = 'waiting'",
    tests: [[BANKS, 'each stays with its own']],
    slow: true,
  },
  {
    name: 'item: belongs to the bank that took it in',
    file: 'src/directdebit/intake.sql.ts',
    find: "coalesce(target_audit, audit), acquirer <> 'directdebit',",
    replace: 'coalesce(target_audit, audit), false,',
    tests: [[BANKS, 'each stays with its own']],
    slow: true,
  },
  schema(
    'a merchant that changes its mode',
    'FOR EACH ROW WHEN (OLD.mode <> NEW.mode)',
    'FOR EACH ROW WHEN (false)',
  ),
  schema(
    'a live merchant with the simulator',
    "CHECK (mode = 'test' OR acquirer IS DISTINCT FROM 'simulator')",
    'CHECK (true)',
  ),
  schema('a clock that is moved', 'FOR EACH ROW WHEN (NEW.advanced_ms > 0)', 'FOR EACH ROW WHEN (false)'),
  {
    name: 'schema: a file for a real bank holds no simulated item',
    file: MIGRATION,
    find: `(organisation_id, merchant_id, file_number, simulated)
    REFERENCES directdebit_file (organisation_id, merchant_id, number, simulated)`,
    replace: `(organisation_id, merchant_id, file_number)
    REFERENCES directdebit_file (organisation_id, merchant_id, number)`,
    tests: [[BANKS, 'a simulated item in a file for a real bank']],
  },
];
