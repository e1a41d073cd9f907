// Which permission each operation takes: the one table of it. An operation that is not in it cannot be served.
import { SUBJECT_KINDS, type SubjectKind } from '../events/events.js';
import { bitOf, type Permission } from '../organisations/users/permissions.js';

export const PERMISSION_OF_OPERATION: Readonly<Record<string, Permission>> = {
  createPurchase: 'payments',
  createPreauthorisation: 'payments',
  createCompletion: 'payments',
  voidTransaction: 'payments',
  createRefund: 'refunds',
  createStandaloneRefund: 'standalone-refunds',
  lookUpTransaction: 'read',
  searchTransactions: 'read',
  listTransactions: 'read',
  settlementOfDay: 'read',
  listEvents: 'read',
  searchCustomers: 'vault',
  findOrCreateCustomer: 'vault',
  lookUpCustomer: 'vault',
  updateCustomer: 'vault',
  deleteCustomer: 'vault',
  listTokens: 'vault',
  createToken: 'vault',
  lookUpToken: 'vault',
  updateToken: 'vault',
  deleteToken: 'vault',
};

/** Which permission shows events about such subjects, beside the one to list events at all. */
const PERMISSION_OF_SUBJECT: Readonly<Record<SubjectKind, Permission>> = {
  transaction: 'read',
  // guard(events: whoever waits is not told of what it may not see): vault', ⏎ token: 'vault ⇒ read', ⏎ token: 'read
  customer: 'vault',
  token: 'vault',
};

/** What the events may be about that a caller with these permissions is shown. */
export function shownSubjects(permissions: number): SubjectKind[] {
  return SUBJECT_KINDS.filter((kind) => (permissions & bitOf(PERMISSION_OF_SUBJECT[kind])) !== 0);
}

/** The bit that a caller must have. */
export function bitFor(operationId: string): number {
  const permission = PERMISSION_OF_OPERATION[operationId];
  if (permission === undefined) throw new Error(`no permission is named for the operation ${operationId}`);
  return bitOf(permission);
}
