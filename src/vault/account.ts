// The account behind a token: card or bank account details. Secret details are sealed; the parts that responses show are stored
// beside them.

import { BankAccount } from '../values/bank-account.js';
import { type CardDetails, CardNumber, type Expiry } from '../values/card.js';
import type { ThreeDSecure } from '../values/three-d-secure.js';

export type AccountType = 'general_creditcard' | 'general_bankaccount';

export type Account =
  | {
      readonly type: 'general_creditcard';
      readonly number: CardNumber;
      readonly expiry: Expiry;
      readonly name: string;
    }
  | { readonly type: 'general_bankaccount'; readonly bankAccount: BankAccount };

/** Shown in responses as stored. */
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

/** The secret details to seal: a text, or bytes that can be overwritten. */
export function secretsOf(account: Account): string | Buffer {
  return account.type === 'general_creditcard' ? cardSecrets(account) : bankSecrets(account.bankAccount);
}

const BEFORE_PAN = '{"pan":"';
const MOST_BYTES = 80;

/** JSON. The CVV is never part of it, and the result of a 3-D Secure check only of a payment. */
export function cardSecrets({
  number,
  expiry: { month, year },
  threeDSecure,
}: Pick<CardDetails, 'number' | 'expiry' | 'threeDSecure'>): Buffer {
  const check = threeDSecure === undefined ? '' : `,"threeDSecure":${checkText(threeDSecure)}`;
  const secrets = Buffer.allocUnsafe(MOST_BYTES + check.length);
  let end = secrets.write(BEFORE_PAN, 'latin1');
  end += number.writeTo(secrets, end);
  end += secrets.write(`","expiry":{"month":${month},"year":${year}}${check}}`, end, 'latin1');
  return secrets.subarray(0, end);
}

function checkText({ authenticationValue, ...said }: ThreeDSecure): string {
  return JSON.stringify({ ...said, authenticationValue: authenticationValue?.reveal() });
}

/** Erases the plain account once it is no longer needed. */
export function eraseSecrets(account: Account | undefined): void {
  if (account?.type === 'general_creditcard') account.number.erase();
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
