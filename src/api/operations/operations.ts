// Every operation of the API.
import type { Operation } from '../operation.js';
import { CHECKOUT_OPERATIONS, type CheckoutServices } from './checkouts.js';
import { CUSTOMER_OPERATIONS } from './customers.js';
import { EVENT_OPERATIONS, type EventServices } from './events.js';
import { HISTORY_OPERATIONS, type HistoryServices } from './history.js';
import { SCHEDULE_OPERATIONS, type ScheduleServices } from './schedules.js';
import { SETTLEMENT_OPERATIONS, type SettlementServices } from './settlements.js';
import { TOKEN_OPERATIONS } from './tokens.js';
import { TRANSACTION_OPERATIONS, type TransactionServices } from './transactions.js';
import type { VaultServices } from './vault-access.js';

export type OperationServices = TransactionServices &
  HistoryServices &
  SettlementServices &
  VaultServices &
  CheckoutServices &
  ScheduleServices &
  EventServices;

export const OPERATIONS: readonly Operation<OperationServices>[] = [
  ...TRANSACTION_OPERATIONS,
  ...CHECKOUT_OPERATIONS,
  ...SCHEDULE_OPERATIONS,
  ...HISTORY_OPERATIONS,
  ...SETTLEMENT_OPERATIONS,
  ...CUSTOMER_OPERATIONS,
  ...TOKEN_OPERATIONS,
  ...EVENT_OPERATIONS,
];
