// What a token stores: card or bank account details. What is secret is sealed, what responses show is kept beside it.
import type { CardDetails } from '../acquirers/contract.js';
import { CardNumber, type Expiry } from '../values/card.js';

export type AccountType = 'general_creditcard' | 'general_bankaccount';

export type Account =
  | {
      readonly type: 'general_creditcard';
      readonly number: CardNumber;
      readonly expiry: Expiry;
      readonly name: string;
    }
  | {
      readonly type: 'general_bankaccount';
      readonly bsb: string;
      readonly accountNumber: string;
      readonly accountName: string;
    };

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
  return {
    'BANK.BSB': account.bsb,
    'BANK.ACCOUNT_NUMBER': maskAccountNumber(account.accountNumber),
    'BANK.ACCOUNT_NAME': account.accountName,
  };
}

/** All but the last three digits; of a number with three digits or fewer, nothing. */
export function maskAccountNumber(accountNumber: string): string {
  const shown = accountNumber.length > 3 ? accountNumber.slice(-3) : '';
  return shown.padStart(accountNumber.length, '*');
}

/** The text that is sealed. */
export function secretsOf(account: Account): string {
  if (account.type === 'general_creditcard') return cardSecrets(account);
  const { bsb, accountNumber, accountName } = account;
  return JSON.stringify({ bsb, accountNumber, accountName });
}

/** The CVV is never part of it. */
export function cardSecrets({ number, expiry }: Pick<CardDetails, 'number' | 'expiry'>): string {
  return JSON.stringify({ pan: number.reveal(), expiry });
}

export function cardFromSecrets(secrets: string): CardDetails {
  const { pan, expiry } = JSON.parse(secrets) as { pan: string; expiry: Expiry };
  return { number: new CardNumber(pan), expiry };
}
