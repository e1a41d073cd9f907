// Turns what a request names into what can be charged.
import type { PaymentMethod as Method } from '../../acquirers/contract.js';
import type { Merchant } from '../../organisations/users/callers.js';
import { lodgeable } from '../../values/bank-account.js';
import { fault } from '../../values/faults.js';
import type { OrganisationId, TokenId } from '../../values/ids.js';
import { bankAccountFromSecrets, cardFromSecrets } from '../../vault/account.js';
import type { OpenedToken, Tokens } from '../../vault/tokens.js';
import type { DirectCommand } from './command.js';

/** A card or a bank account, and the token that was opened for it. */
export type PaymentMethod = Method & { readonly tokenId?: TokenId };

export async function openPaymentMethod(command: DirectCommand, tokens: Tokens): Promise<PaymentMethod> {
  const { method, caller, merchant, operation } = command;
  if (method.kind !== 'virtual_pan') return method;
  const opened = await openToken(method.virtualPan, caller.organisationId, merchant, tokens);
  const usable = opened && methodOf(opened);
  // Nothing can be held on a bank account.
  // guard(payment by virtual PAN: no preauthorisation of a bank account): (usable.kind === 'bank_account' && operation === 'preauthorisation') ⇒ false
  if (usable === undefined || (usable.kind === 'bank_account' && operation === 'preauthorisation')) {
    throw fault('token_not_usable', 'card number');
  }
  return usable;
}

async function openToken(
  virtualPan: string,
  organisationId: OrganisationId,
  merchant: Merchant,
  tokens: Tokens,
) {
  // guard(payment by virtual PAN: only where the merchant has the vault): merchant.vault ? tokens.openForPayment(organisationId, merchant.id, virtualPan) : undefined ⇒ tokens.openForPayment(organisationId, merchant.id, virtualPan)
  return merchant.vault ? tokens.openForPayment(organisationId, merchant.id, virtualPan) : undefined;
}

function methodOf({ accountType, secrets, tokenId }: OpenedToken): PaymentMethod | undefined {
  if (accountType === 'general_creditcard')
    return { kind: 'card', card: cardFromSecrets(secrets), stored: true, tokenId };
  const bankAccount = bankAccountFromSecrets(secrets);
  return lodgeable(bankAccount) ? { kind: 'bank_account', bankAccount, tokenId } : undefined;
}
