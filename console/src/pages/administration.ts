// The pages about money in bulk, set-up and control, which the browser loads together.
export { default as Account } from './account.js';
export { default as Acquirers } from './acquirers.js';
export { default as DirectDebit } from './direct-debit.js';
export { default as Installation } from './installation.js';
export { default as Journal } from './journal.js';
export { default as Keys } from './keys.js';
export { default as Limits } from './limits.js';
export { default as Merchants } from './merchants.js';
export { default as Operators } from './operators.js';
export { default as Routes } from './routes.js';
export { default as Settlement } from './settlement.js';
export { default as Surcharges } from './surcharges.js';
export { default as Users } from './users.js';
export { default as Webhooks } from './webhooks.js';
