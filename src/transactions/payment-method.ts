// Turns what a request names into what can be charged.
import type { CardDetails } from '../acquirers/contract.js';
import { fault } from '../values/faults.js';
import type { NamedMethod } from './command.js';

export interface PaymentMethod {
  readonly card: CardDetails;
}

export const PAN_LOCATION = ['body', 'transaction', 'payment_method', 'creditcard', 'pan'] as const;

export async function openPaymentMethod(named: NamedMethod): Promise<PaymentMethod> {
  if (named.kind === 'card') return { card: named.card };
  // No vault, no token: every virtual PAN is an unknown one.
  throw fault('token_not_usable', PAN_LOCATION);
}
