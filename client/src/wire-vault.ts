// Customers and tokens as they stand on the wire.
import type { Bankaccount, CardType, Link, ListLinks } from './wire.js';

export interface NewCustomer {
  readonly reference: string;
  readonly name: string;
}

export interface CustomerChange {
  readonly reference?: string;
  readonly name?: string;
}

export interface CustomerLinks {
  readonly self: Link;
  readonly tokens: Link;
}

export interface Customer {
  readonly id: number;
  readonly name: string;
  readonly reference: string;
  readonly _links: CustomerLinks;
}

export interface CustomerList {
  readonly _links: ListLinks;
  readonly results: readonly Customer[];
}

export interface CustomerQuery {
  readonly merchant_id?: number;
  readonly ordering?: 'name' | 'customer_id' | 'reference';
  /** Part of it, in any case. */
  readonly name?: string;
  /** Part of it, in any case. */
  readonly reference?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly after?: string;
}

export interface GeneralCreditcard {
  readonly 'CARD.PAN': string;
  /** MMYY. */
  readonly 'CARD.EXPIRY': string;
  readonly 'CARD.NAME': string;
}

export interface GeneralBankaccount {
  readonly 'BANK.BSB': Bankaccount['bsb'];
  readonly 'BANK.ACCOUNT_NUMBER': Bankaccount['account_number'];
  readonly 'BANK.ACCOUNT_NAME': Bankaccount['account_name'];
}

export interface GeneralCreditcardAccount {
  readonly general_creditcard: GeneralCreditcard;
}

export interface GeneralBankaccountAccount {
  readonly general_bankaccount: GeneralBankaccount;
}

/** Exactly one of the two. */
export type Account = GeneralCreditcardAccount | GeneralBankaccountAccount;

export interface NewToken {
  /** Unique for the customer. */
  readonly preferred_name: string;
  readonly active: boolean;
  readonly account: Account;
}

export interface TokenChange {
  readonly preferred_name?: string;
  readonly active?: boolean;
  readonly account?: Account;
}

export interface MaskedGeneralCreditcard {
  readonly 'CARD.PAN': string;
  readonly 'CARD.EXPIRY': string;
  readonly 'CARD.NAME': string;
  readonly 'CARD.TYPE': CardType;
}

export interface MaskedGeneralBankaccount {
  readonly 'BANK.BSB': string;
  readonly 'BANK.ACCOUNT_NUMBER': string;
  readonly 'BANK.ACCOUNT_NAME': string;
}

export interface MaskedGeneralCreditcardAccount {
  readonly general_creditcard: MaskedGeneralCreditcard;
}

export interface MaskedGeneralBankaccountAccount {
  readonly general_bankaccount: MaskedGeneralBankaccount;
}

export type MaskedAccount = MaskedGeneralCreditcardAccount | MaskedGeneralBankaccountAccount;

export interface TokenLinks {
  readonly self: Link;
  readonly customer: Link;
}

export interface Token {
  readonly id: number;
  /** Stands for the payment details in transactions, as `creditcard.pan`. */
  readonly virtual_pan: string;
  readonly preferred_name: string;
  readonly active: boolean;
  readonly account: MaskedAccount;
  readonly _links: TokenLinks;
}

export interface TokenList {
  readonly _links: ListLinks;
  readonly results: readonly Token[];
}

export interface TokenQuery {
  readonly merchant_id?: number;
  readonly limit?: number;
  readonly offset?: number;
  readonly after?: string;
}
