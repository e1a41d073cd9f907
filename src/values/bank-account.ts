// In charge of Australian bank accounts, and of what the banks' direct-entry system (BECS) takes.
import type { Reason } from './faults.js';
import { Unprintable } from './unprintable.js';

export const BSB_PATTERN = '^[0-9]{3}-?[0-9]{3}$';

/** Two to nine digits, which may be written in groups. Banks refuse an account of nothing but zeros. */
export const ACCOUNT_NUMBER_PATTERN = '^(?=.*[1-9])[ -]*([0-9][ -]*){2,9}$';

/** The characters that both the interface and BECS take. */
export const BECS_CHARACTERS_PATTERN = '^[A-Za-z0-9 !#$%&()*+,\\-./:;=?@\\[\\]\\^_]*$';

/** A name that is not blank (an empty one is refused for its length): the banks refuse an empty account title. */
export const ACCOUNT_NAME_PATTERN = BECS_CHARACTERS_PATTERN.replace('^', '^(?=.*[^ ]|$)');

export const ACCOUNT_NAME_MAX_LENGTH = 32;

/** Ten digits: what the amount of one item, and each total of a file, has room for. */
export const MOST_CENTS = 9_999_999_999;

export const BECS_CURRENCY = 'AUD';

/** What responses show of an account. */
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

/** All but the last three digits; of a number with three digits or fewer, nothing. */
export function maskAccountNumber(accountNumber: string): string {
  const shown = accountNumber.length > 3 ? accountNumber.slice(-3) : '';
  return shown.padStart(accountNumber.length, '*');
}

const nameFits = new RegExp(ACCOUNT_NAME_PATTERN);

/** Whether the account can stand in a file for the bank, also if it was stored before the rules were what they are. */
export function lodgeable({ name }: BankAccount): boolean {
  return name.length >= 1 && name.length <= ACCOUNT_NAME_MAX_LENGTH && nameFits.test(name);
}

/** What a bank would refuse about an amount. */
export function becsFaults(amount: { amountCents: number; currency: string }): Reason[] {
  const reasons: Reason[] = [];
  if (amount.amountCents > MOST_CENTS)
    reasons.push({ code: 'direct_debit_amount_too_large', about: 'amount' });
  if (amount.currency !== BECS_CURRENCY) reasons.push({ code: 'direct_debit_currency', about: 'currency' });
  return reasons;
}

/** Which way the money goes: a purchase is collected from the account, everything else is paid into it. */
export type DirectDebitMode = 'debit' | 'credit';

export function directDebitMode(transactionType: string): DirectDebitMode {
  return transactionType === 'purchase' ? 'debit' : 'credit';
}
