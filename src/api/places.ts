// Where in a request each thing stands that a fault of the domain can be about.
import type { Subject } from '../values/faults.js';
import type { Location } from './problems.js';

const AMOUNT_DETAILS = ['body', 'transaction', 'amount_details'];
export const PAYMENT_METHOD: Location = ['body', 'transaction', 'payment_method'];
export const CREDITCARD: Location = [...PAYMENT_METHOD, 'creditcard'];

const PLACES: Readonly<Record<Subject, Location>> = {
  merchant: ['query', 'merchant_id'],
  'correlation ID': ['header', 'X-Correlation-Id'],
  target: ['path', 'audit'],
  amount: [...AMOUNT_DETAILS, 'total_amount'],
  currency: [...AMOUNT_DETAILS, 'currency'],
  'payment method': PAYMENT_METHOD,
  'card number': [...CREDITCARD, 'pan'],
  customer: ['path', 'customer_id'],
  'customer reference': ['body', 'reference'],
  token: ['path', 'token_id'],
  'preferred name': ['body', 'preferred_name'],
  search: ['query'],
  cursor: ['query', 'after'],
  outcome: [],
};

const MERCHANT_OF_A_TRANSACTION: Location = ['body', 'merchant', 'id'];

/** `creates`: of a request that creates a transaction, and so names its merchant in the body. */
export function placeOf(about: Subject | undefined, creates: boolean): Location {
  if (about === undefined) return [];
  return creates && about === 'merchant' ? MERCHANT_OF_A_TRANSACTION : PLACES[about];
}
