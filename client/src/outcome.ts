// How a status is read: what is not known means `unknown`, whatever a later gateway may answer.
import type { LookedUpTransaction, TransactionDetails, TransactionStatus } from './wire.js';

export type DecidedOutcome = 'approved' | 'declined' | 'pending' | 'error' | 'voided';
export type Outcome = DecidedOutcome | 'unknown';
export type GatewayStatus = 0 | 1 | 2 | 3 | -99;
export type TransactionType =
  | 'purchase'
  | 'preauthorisation'
  | 'completion'
  | 'refund'
  | 'standalone_refund'
  | 'void'
  | 'unknown';

const OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ['approved', 'approved'],
  ['declined', 'declined'],
  ['pending', 'pending'],
  ['error', 'error'],
  ['voided', 'voided'],
  ['reversed', 'voided'],
]);

const TYPES: ReadonlyMap<string, TransactionType> = new Map([
  ['purchase', 'purchase'],
  ['preauthorisation', 'preauthorisation'],
  ['completion', 'completion'],
  ['refund', 'refund'],
  ['standalone_refund', 'standalone_refund'],
  ['void', 'void'],
  ['reverse', 'void'],
]);

export function outcomeOf({ transaction_status_code }: TransactionStatus): Outcome {
  return OUTCOMES.get(transaction_status_code) ?? 'unknown';
}

export function gatewayStatusOf({ gateway_status_code: code }: TransactionStatus): GatewayStatus {
  return code === 0 || code === 1 || code === 2 || code === 3 ? code : -99;
}

export function transactionTypeOf({ transaction_type }: TransactionDetails): TransactionType {
  return TYPES.get(transaction_type) ?? 'unknown';
}

/** A transaction as it was looked up, and what its codes mean. */
export interface Transaction extends LookedUpTransaction {
  readonly outcome: Outcome;
  readonly gatewayStatus: GatewayStatus;
  readonly type: TransactionType;
}

export function read(transaction: LookedUpTransaction): Transaction {
  const { status, transaction: details } = transaction;
  return {
    ...transaction,
    outcome: outcomeOf(status),
    gatewayStatus: gatewayStatusOf(status),
    type: transactionTypeOf(details),
  };
}
