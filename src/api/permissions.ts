// The permission for each operation, in one table. An operation without an entry cannot be served.
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

/** The permission to see events about these subjects, besides the one to list events. */
const PERMISSION_OF_SUBJECT: Readonly<Record<SubjectKind, Permission>> = {
  transaction: 'read',
  // guard(events: whoever waits is not told of what it may not see): vault', ⏎ token: 'vault ⇒ read', ⏎ token: 'read
  customer: 'vault',
  token: 'vault',
};

/** The subjects whose events a caller with these permissions may see. */
export function shownSubjects(permissions: number): SubjectKind[] {
  return SUBJECT_KINDS.filter((kind) => (permissions & bitOf(PERMISSION_OF_SUBJECT[kind])) !== 0);
}

/** The permission bit that the caller needs. */
export function bitFor(operationId: string): number {
  const permission = PERMISSION_OF_OPERATION[operationId];
  if (permission === undefined) throw new Error(`the operation ${operationId} has no permission`);
  return bitOf(permission);
}
