// The pages about payments, which the browser loads together.
export { default as Approvals } from './approvals.js';
export { default as Checkouts } from './checkouts.js';
export { default as Customers } from './customers.js';
export { default as InDoubt } from './in-doubt.js';
export { default as OneCheckout } from './one-checkout.js';
export { default as OneCustomer } from './one-customer.js';
export { default as OneSchedule } from './one-schedule.js';
export { default as OneTransaction } from './one-transaction.js';
export { default as Schedules } from './schedules.js';
export { default as Transactions } from './transactions.js';
