// The guards that `npm run test:guards` removes. `find` must stand in the file exactly once; `replace` is the same without the
// guard, and must leave a gateway that still does its ordinary work. A test is named by its file and a part of its name.
// What is `slow` is not picked for the short form.
import { CLAIM_GUARDS } from './guards-of-claims.js';
import { DIRECTDEBIT_GUARDS } from './guards-of-directdebit.js';
import { FAILOVER_GUARDS } from './guards-of-failover.js';
import { MODE_GUARDS } from './guards-of-modes.js';
import { RECORD_GUARDS } from './guards-of-records.js';
import { SCHEMA_GUARDS } from './guards-of-the-schema.js';
import { VAULT_GUARDS } from './guards-of-the-vault.js';

/** Must pass with any one guard removed: it tells a gateway without a guard from one that is broken altogether. */
export const CONTROL = ['test/transactions/ordinary-day.test.ts', 'an ordinary day'];

export const GUARDS = [
  ...CLAIM_GUARDS,
  ...RECORD_GUARDS,
  ...SCHEMA_GUARDS,
  ...VAULT_GUARDS,
  ...DIRECTDEBIT_GUARDS,
  ...MODE_GUARDS,
  ...FAILOVER_GUARDS,
];
