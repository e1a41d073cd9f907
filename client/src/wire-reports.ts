// Events, and what a day comes to, as they stand on the wire.
import type {
  CardType,
  Kvps,
  Link,
  OpenEnum,
  TransactionAmount,
  TransactionDetails,
  TransactionMerchant,
  TransactionStatus,
} from './wire.js';

export interface EventMerchant {
  readonly id: number;
}

export interface EventTransaction {
  readonly reference: string;
  readonly transaction_type: TransactionDetails['transaction_type'];
  readonly target_audit?: number;
  readonly amount_details: TransactionAmount;
  readonly directdebit_mode?: OpenEnum<'debit' | 'credit'>;
}

export interface EventDataLinks {
  readonly self: Link;
  readonly target?: Link;
  readonly tokens?: Link;
  readonly customer?: Link;
}

/** What a look-up would have answered when it happened: the members of a transaction, a customer or a token. */
export interface EventData {
  readonly audit?: number;
  readonly gateway_timestamp?: string;
  readonly merchant?: TransactionMerchant;
  readonly kvps?: Kvps;
  readonly transaction?: EventTransaction;
  readonly status?: TransactionStatus;
  readonly id?: number;
  readonly name?: string;
  readonly reference?: string;
  readonly virtual_pan?: string;
  readonly preferred_name?: string;
  readonly active?: boolean;
  readonly _links: EventDataLinks;
}

export interface Event {
  /** The same event always has the same; no other has it. */
  readonly id: string;
  /** Ignore types that you do not know. */
  readonly type: OpenEnum<
    | 'transaction.unknown'
    | 'transaction.approved'
    | 'transaction.declined'
    | 'transaction.pending'
    | 'transaction.error'
    | 'transaction.voided'
    | 'directdebit.returned'
    | 'customer.created'
    | 'customer.updated'
    | 'customer.deleted'
    | 'token.created'
    | 'token.updated'
    | 'token.deleted'
  >;
  readonly created: string;
  readonly merchant: EventMerchant;
  /** Counts the events of one transaction, customer or token from 1. */
  readonly version: number;
  readonly data: EventData;
}

export interface EventListLinks {
  readonly next: Link;
}

export interface EventList {
  readonly results: readonly Event[];
  readonly _links: EventListLinks;
}

export interface EventQuery {
  readonly merchant_id?: number;
  readonly after?: string;
  readonly limit?: number;
  /** For how many seconds, up to 30, an answer without events is held back. */
  readonly wait?: number;
}

export interface SettlementMerchant {
  readonly id: number;
}

export interface SettlementLine {
  readonly merchant: SettlementMerchant;
  readonly acquirer: string;
  readonly payment_method: OpenEnum<'creditcard' | 'bankaccount'>;
  readonly card_type: CardType;
  readonly transaction_type: OpenEnum<
    'purchase' | 'completion' | 'refund' | 'standalone_refund' | 'void' | 'return'
  >;
  readonly currency: string;
  readonly count: number;
  /** Cents; with a minus, those that are taken from the merchant. */
  readonly total_amount: string;
}

export interface SettlementNet {
  readonly merchant: SettlementMerchant;
  readonly currency: string;
  readonly total_amount: string;
}

export interface SettlementLinks {
  readonly self: Link;
}

export interface Settlement {
  readonly date: string;
  readonly closes: string;
  /** A closed day does not change any more. */
  readonly closed: boolean;
  readonly lines: readonly SettlementLine[];
  readonly net: readonly SettlementNet[];
  readonly _links: SettlementLinks;
}

export interface SettlementQuery {
  readonly merchant_id?: number;
}
