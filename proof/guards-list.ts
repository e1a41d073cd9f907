// The guards that `npm run test:guards` removes.
import type { Guard, NamedTest } from './guard.js';
import { ACQUIRER_GUARDS } from './guards-of-acquirers.js';
import { BACKUP_GUARDS } from './guards-of-backups.js';
import { CALLER_GUARDS } from './guards-of-callers.js';
import { CARD_GUARDS } from './guards-of-cards.js';
import { CLAIM_GUARDS } from './guards-of-claims.js';
import { CONSOLE_READ_GUARDS } from './guards-of-console-reads.js';
import { DIRECTDEBIT_GUARDS } from './guards-of-directdebit.js';
import { EVENT_GUARDS } from './guards-of-events.js';
import { FAILOVER_GUARDS } from './guards-of-failover.js';
import { FIGURE_GUARDS } from './guards-of-figures.js';
import { KEY_GUARDS } from './guards-of-keys.js';
import { MODE_GUARDS } from './guards-of-modes.js';
import { OPERATION_GUARDS } from './guards-of-operation.js';
import { OPERATOR_REQUEST_GUARDS } from './guards-of-operator-requests.js';
import { PROCESS_GUARDS } from './guards-of-processes.js';
import { RECORD_GUARDS } from './guards-of-records.js';
import { ROLE_GUARDS } from './guards-of-roles.js';
import { ROUTE_GUARDS } from './guards-of-routes.js';
import { SEARCH_GUARDS } from './guards-of-searches.js';
import { SETTLEMENT_GUARDS } from './guards-of-settlement.js';
import { JOURNAL_GUARDS } from './guards-of-the-journal.js';
import { SCHEMA_GUARDS } from './guards-of-the-schema.js';
import { VAULT_GUARDS } from './guards-of-the-vault.js';
import { TLS_GUARDS } from './guards-of-tls.js';
import { VAULT_MOVING_GUARDS } from './guards-of-vault-moving.js';
import { WEBHOOK_GUARDS } from './guards-of-webhooks.js';

/** Must pass with any one guard removed: it tells a gateway without a guard from one that is broken altogether. */
export const CONTROL: NamedTest = ['test/transactions/ordinary-day.test.ts', 'an ordinary day'];

export const GUARDS: readonly Guard[] = [
  ...CLAIM_GUARDS,
  ...CONSOLE_READ_GUARDS,
  ...OPERATOR_REQUEST_GUARDS,
  ...CALLER_GUARDS,
  ...JOURNAL_GUARDS,
  ...RECORD_GUARDS,
  ...PROCESS_GUARDS,
  ...SCHEMA_GUARDS,
  ...ROLE_GUARDS,
  ...VAULT_GUARDS,
  ...VAULT_MOVING_GUARDS,
  ...KEY_GUARDS,
  ...CARD_GUARDS,
  ...DIRECTDEBIT_GUARDS,
  ...WEBHOOK_GUARDS,
  ...MODE_GUARDS,
  ...FAILOVER_GUARDS,
  ...EVENT_GUARDS,
  ...SEARCH_GUARDS,
  ...SETTLEMENT_GUARDS,
  ...ACQUIRER_GUARDS,
  ...ROUTE_GUARDS,
  ...OPERATION_GUARDS,
  ...BACKUP_GUARDS,
  ...TLS_GUARDS,
  ...FIGURE_GUARDS,
];
