// Turns what a request names into what can be charged.

import type { Merchant } from '../merchants/callers.js';
import { type BankAccount, lodgeable } from '../values/bank-account.js';
import type { CardDetails } from '../values/card.js';
import { fault } from '../values/faults.js';
import { bankAccountFromSecrets, cardFromSecrets } from '../vault/account.js';
import type { OpenedToken, Tokens } from '../vault/tokens.js';
import type { DirectCommand } from './command.js';

/** A card or a bank account, and the token that was opened for it. */
export type PaymentMethod =
  | { readonly card: CardDetails; readonly tokenId?: number }
  | { readonly bankAccount: BankAccount; readonly tokenId?: number };

export async function openPaymentMethod(command: DirectCommand, tokens: Tokens): Promise<PaymentMethod> {
  const { method, caller, merchant, operation } = command;
  if (method.kind === 'card') return { card: method.card };
  if (method.kind === 'bank_account') return { bankAccount: method.bankAccount };
  const opened = await openToken(method.virtualPan, caller.organisationId, merchant, tokens);
  const usable = opened && methodOf(opened);
  // Nothing can be held on a bank account.
  if (usable === undefined || ('bankAccount' in usable && operation === 'preauthorisation')) {
    throw fault('token_not_usable', 'card number');
  }
  return usable;
}

async function openToken(virtualPan: string, organisationId: number, merchant: Merchant, tokens: Tokens) {
  return merchant.vault ? tokens.openForPayment(organisationId, merchant.id, virtualPan) : undefined;
}

function methodOf({ accountType, secrets, tokenId }: OpenedToken): PaymentMethod | undefined {
  if (accountType === 'general_creditcard') return { card: cardFromSecrets(secrets), tokenId };
  const bankAccount = bankAccountFromSecrets(secrets);
  return lodgeable(bankAccount) ? { bankAccount, tokenId } : undefined;
}
