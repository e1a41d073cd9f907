// Opens the payment method that a request names: a card or bank account as it came, the one that a virtual PAN stands for, or the card in the
// token of a wallet.
import type { Merchant } from '../../organisations/users/callers.js';
import { lodgeable } from '../../values/bank-account.js';
import { fault } from '../../values/faults.js';
import type { OrganisationId } from '../../values/ids.js';
import { bankAccountFromSecrets, cardFromSecrets } from '../../vault/account.js';
import type { SealOwner } from '../../vault/keys/sealed-rows.js';
import type { OneTimeCards } from '../../vault/one-time-cards.js';
import type { OpenedToken, Tokens } from '../../vault/tokens.js';
import type { Wallets } from '../../wallets/wallets.js';
import type { Command, DirectCommand, PaymentMethod } from './command.js';

export interface MethodParts {
  readonly tokens: Tokens;
  readonly oneTimeCards: OneTimeCards;
  readonly wallets: Wallets;
}

export function ownerOf({ caller, merchant }: Pick<Command, 'caller' | 'merchant'>): SealOwner {
  return { organisationId: caller.organisationId, merchantId: merchant.id };
}

/** Opens the payment method that a request names. */
export async function openPaymentMethod(
  command: DirectCommand,
  { tokens, oneTimeCards, wallets }: MethodParts,
  atMs: number,
): Promise<PaymentMethod> {
  const { method, caller, merchant, operation } = command;
  if (method.kind === 'wallet') {
    const payload = await wallets.open(ownerOf(command), method.payload, atMs);
    return { kind: 'card', card: payload.card, payload };
  }
  if (method.kind !== 'virtual_pan') return method;
  const opened = await openToken(method.virtualPan, caller.organisationId, merchant, tokens);
  const usable = opened === undefined ? await openOneTimeCard(command, oneTimeCards) : methodOf(opened);
  // A bank account cannot be preauthorised.
  // guard(payment by virtual PAN: no preauthorisation of a bank account): (usable.kind === 'bank_account' && operation === 'preauthorisation') ⇒ false
  if (usable === undefined || (usable.kind === 'bank_account' && operation === 'preauthorisation')) {
    throw fault('token_not_usable', 'card number');
  }
  const { threeDSecure } = method;
  if (threeDSecure !== undefined && usable.kind === 'card')
    return { ...usable, card: { ...usable.card, threeDSecure } };
  return usable;
}

/** For a payment; undefined where there is none, or another payment has taken it. */
async function openOneTimeCard(
  { method, caller, merchant, operation, correlationId }: DirectCommand,
  cards: OneTimeCards,
): Promise<PaymentMethod | undefined> {
  if (method.kind !== 'virtual_pan' || operation === 'standalone_refund') return undefined;
  const { virtualPan } = method;
  const card = await cards.take(ownerOf({ caller, merchant }), virtualPan, correlationId);
  return card && { kind: 'card', card, oneTimePan: virtualPan };
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

function methodOf({
  accountType,
  secrets,
  tokenId,
  customerId,
  sealVersion,
  networkTransactionId,
}: OpenedToken): PaymentMethod | undefined {
  if (accountType === 'general_creditcard')
    return {
      kind: 'card',
      card: cardFromSecrets(secrets),
      stored: true,
      tokenId,
      customerId,
      sealVersion,
      ...(networkTransactionId !== undefined && { networkTransactionId }),
    };
  const bankAccount = bankAccountFromSecrets(secrets);
  return lodgeable(bankAccount) ? { kind: 'bank_account', bankAccount, tokenId, customerId } : undefined;
}
