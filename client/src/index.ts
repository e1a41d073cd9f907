// What the package offers.
export type { CallOptions, MakingOptions } from './asking.js';
export type { Checkouts } from './checkouts.js';
export type { Created, CreateOptions } from './creation.js';
export {
  NothingSent,
  OrganisationMoved,
  OutcomeUnknown,
  Refused,
  TollgateError,
  Unavailable,
  WebhookRejected,
} from './errors.js';
export type { Begun, CreatingOperation, Ending, Memory } from './memory.js';
export type { Observed } from './observed.js';
export {
  type DecidedOutcome,
  type GatewayStatus,
  gatewayStatusOf,
  type Outcome,
  outcomeOf,
  type Transaction,
  type TransactionType,
  transactionTypeOf,
} from './outcome.js';
export type { Page, Pages } from './pages.js';
export type { Schedules } from './schedules.js';
export type { TollgateOptions } from './settings.js';
export { type Recovered, Tollgate } from './tollgate.js';
export type { Customers, Tokens, VaultOptions } from './vault.js';
export { verifyWebhook, type Webhook } from './webhooks.js';
export type * from './wire.js';
