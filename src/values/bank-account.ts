// Australian bank accounts, and the rules of the banks' direct-entry system (BECS).
import type { Reason } from './faults.js';
import { Unprintable } from './unprintable.js';

export const BSB_PATTERN = '^[0-9]{3}-?[0-9]{3}$';

/** Two to nine digits, optionally in groups. Banks refuse an account number of zeros only. */
export const ACCOUNT_NUMBER_PATTERN = '^(?=.*[1-9])[ -]*([0-9][ -]*){2,9}$';

/** The characters that both the API and BECS accept. */
export const BECS_CHARACTERS_PATTERN = '^[A-Za-z0-9 !#$%&()*+,\\-./:;=?@\\[\\]\\^_]*$';

/** A name that is not blank, because banks refuse an empty account title. The length rule refuses an empty name. */
export const ACCOUNT_NAME_PATTERN = BECS_CHARACTERS_PATTERN.replace('^', '^(?=.*[^ ]|$)');

export const ACCOUNT_NAME_MAX_LENGTH = 32;

/** Ten digits: the width of an item's amount and of a file's totals. */
export const MOST_CENTS = 9_999_999_999;

export const BECS_CURRENCY = 'AUD';

/** The part of an account that responses show. */
export interface ShownBankAccount {
  readonly bsb: string;
  /** Masked. */
  readonly accountNumber: string;
  readonly accountName: string;
}

/** An account whose number cannot be printed. */
export class BankAccount extends Unprintable {
  /** With its hyphen: `062-000`. */
  readonly bsb: string;
  readonly name: string;
  readonly mask: string;
  readonly #number: string;

  constructor(bsb: string, accountNumber: string, accountName: string) {
    super();
    const digits = bsb.replace('-', '');
    this.bsb = `${digits.slice(0, 3)}-${digits.slice(3)}`;
    this.name = accountName;
    this.#number = accountNumber.replaceAll(/[ -]/g, '');
    this.mask = maskAccountNumber(this.#number);
  }

  get shown(): ShownBankAccount {
    return { bsb: this.bsb, accountNumber: this.mask, accountName: this.name };
  }

  reveal(): string {
    return this.#number;
  }
}

/** Shows the last three digits. A number of three digits or fewer is masked completely. */
export function maskAccountNumber(accountNumber: string): string {
  const shown = accountNumber.length > 3 ? accountNumber.slice(-3) : '';
  return shown.padStart(accountNumber.length, '*');
}

const nameFits = new RegExp(ACCOUNT_NAME_PATTERN);

/** Whether the account may go into a file for the bank. Accounts stored under earlier rules may not. */
export function lodgeable({ name }: BankAccount): boolean {
  return name.length >= 1 && name.length <= ACCOUNT_NAME_MAX_LENGTH && nameFits.test(name);
}

/** The reasons for which a bank would refuse the amount. */
export function becsFaults(amount: { amountCents: number; currency: string }): Reason[] {
  const reasons: Reason[] = [];
  if (amount.amountCents > MOST_CENTS)
    reasons.push({ code: 'direct_debit_amount_too_large', about: 'amount' });
  if (amount.currency !== BECS_CURRENCY) reasons.push({ code: 'direct_debit_currency', about: 'currency' });
  return reasons;
}

/** Which way the money moves: a purchase debits the account, everything else credits it. */
export type DirectDebitMode = 'debit' | 'credit';

export function directDebitMode(transactionType: string): DirectDebitMode {
  return transactionType === 'purchase' ? 'debit' : 'credit';
}
