// What a token stores: card or bank account details. What is secret is sealed, what responses show is kept beside it.

import { BankAccount } from '../values/bank-account.js';
import type { CardDetails } from '../values/card.js';
import { CardNumber, type Expiry } from '../values/card.js';

export type AccountType = 'general_creditcard' | 'general_bankaccount';

export type Account =
  | {
      readonly type: 'general_creditcard';
      readonly number: CardNumber;
      readonly expiry: Expiry;
      readonly name: string;
    }
  | { readonly type: 'general_bankaccount'; readonly bankAccount: BankAccount };

/** Shown in responses as it is. */
export type ShownAccount = Readonly<Record<string, string>>;

export function shownAccount(account: Account): ShownAccount {
  if (account.type === 'general_creditcard') {
    return {
      'CARD.PAN': account.number.mask,
      'CARD.EXPIRY': '****',
      'CARD.NAME': account.name,
      'CARD.TYPE': account.number.type,
    };
  }
  const { bsb, accountNumber, accountName } = account.bankAccount.shown;
  return { 'BANK.BSB': bsb, 'BANK.ACCOUNT_NUMBER': accountNumber, 'BANK.ACCOUNT_NAME': accountName };
}

/** The text that is sealed. */
export function secretsOf(account: Account): string {
  return account.type === 'general_creditcard' ? cardSecrets(account) : bankSecrets(account.bankAccount);
}

/** The CVV is never part of it. */
export function cardSecrets({ number, expiry }: Pick<CardDetails, 'number' | 'expiry'>): string {
  return JSON.stringify({ pan: number.reveal(), expiry });
}

export function cardFromSecrets(secrets: string): CardDetails {
  const { pan, expiry } = JSON.parse(secrets) as { pan: string; expiry: Expiry };
  return { number: new CardNumber(pan), expiry };
}

export function bankSecrets(account: BankAccount): string {
  return JSON.stringify({ bsb: account.bsb, accountNumber: account.reveal(), accountName: account.name });
}

export function bankAccountFromSecrets(secrets: string): BankAccount {
  const { bsb, accountNumber, accountName } = JSON.parse(secrets) as Record<
    'bsb' | 'accountNumber' | 'accountName',
    string
  >;
  return new BankAccount(bsb, accountNumber, accountName);
}
