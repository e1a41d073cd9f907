// Turns what a request names into what can be charged.
import type { CardDetails } from '../acquirers/contract.js';
import type { Merchant } from '../merchants/callers.js';
import { fault } from '../values/faults.js';
import { cardFromSecrets } from '../vault/account.js';
import type { Tokens } from '../vault/tokens.js';
import type { DirectCommand } from './command.js';

export interface PaymentMethod {
  readonly card: CardDetails;
  /** The token that was opened for it. */
  readonly tokenId?: number;
}

export const PAN_LOCATION = ['body', 'transaction', 'payment_method', 'creditcard', 'pan'] as const;

export async function openPaymentMethod(
  { method, caller, merchant }: DirectCommand,
  tokens: Tokens,
): Promise<PaymentMethod> {
  if (method.kind === 'card') return { card: method.card };
  const opened = await openToken(method.virtualPan, caller.organisationId, merchant, tokens);
  if (opened === undefined) throw fault('token_not_usable', PAN_LOCATION);
  return { card: cardFromSecrets(opened.secrets), tokenId: opened.tokenId };
}

async function openToken(virtualPan: string, organisationId: number, merchant: Merchant, tokens: Tokens) {
  if (!merchant.vault) return undefined;
  const opened = await tokens.openForPayment(organisationId, merchant.id, virtualPan);
  return opened?.accountType === 'general_creditcard' ? opened : undefined;
}
