// The pages of the console: where each stands, what it is called, who may open it, and the key that leads to it.

import type { Task } from '../../../src/console/interface.js';

export interface PlaceOnPage {
  readonly path: string;
  readonly name: string;
  readonly group: 'Payments' | 'Money' | 'Set-up' | 'Control';
  /** After `g`. */
  readonly key: string;
  /** The task that an operator must be allowed to do. */
  readonly task: Task;
}

export const PLACES: readonly PlaceOnPage[] = [
  { path: '/', name: 'Today', group: 'Payments', key: 'd', task: 'transaction list' },
  { path: '/transactions', name: 'Transactions', group: 'Payments', key: 't', task: 'transaction list' },
  { path: '/in-doubt', name: 'In doubt', group: 'Payments', key: 'i', task: 'transaction in-doubt' },
  { path: '/checkouts', name: 'Checkouts', group: 'Payments', key: 'l', task: 'checkout list' },
  { path: '/schedules', name: 'Schedules', group: 'Payments', key: 'h', task: 'schedule list' },
  { path: '/customers', name: 'Customers', group: 'Payments', key: 'c', task: 'transaction list' },
  { path: '/approvals', name: 'Approvals', group: 'Payments', key: 'a', task: 'approval list' },
  { path: '/direct-debit', name: 'Direct debit', group: 'Money', key: 'b', task: 'directdebit status' },
  { path: '/settlement', name: 'Settlement', group: 'Money', key: 's', task: 'settlement show' },
  { path: '/merchants', name: 'Merchants', group: 'Set-up', key: 'm', task: 'merchant list' },
  { path: '/users', name: 'Users', group: 'Set-up', key: 'u', task: 'user list' },
  { path: '/routes', name: 'Routes', group: 'Set-up', key: 'r', task: 'route show' },
  { path: '/acquirers', name: 'Acquirers', group: 'Set-up', key: 'q', task: 'acquirer list' },
  { path: '/surcharges', name: 'Surcharges', group: 'Set-up', key: 'p', task: 'surcharge show' },
  { path: '/limits', name: 'Limits', group: 'Set-up', key: 'e', task: 'limit list' },
  { path: '/webhooks', name: 'Webhooks', group: 'Set-up', key: 'w', task: 'webhook list' },
  { path: '/keys', name: 'Keys', group: 'Control', key: 'k', task: 'keys status' },
  { path: '/clock-and-cards', name: 'Clock and cards', group: 'Control', key: 'n', task: 'clock show' },
  { path: '/journal', name: 'Journal', group: 'Control', key: 'j', task: 'journal list' },
  { path: '/operators', name: 'Operators', group: 'Control', key: 'o', task: 'operator list' },
];
