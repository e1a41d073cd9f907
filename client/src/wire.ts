// Transactions as they stand on the wire. A test holds every name here against the gateway's OpenAPI document.

/** A text with known values. There may be new ones at any time: an `else` belongs to whatever looks at one. */
export type OpenEnum<Known extends string> = Known | (string & {});

export interface Link {
  /** An absolute path. */
  readonly href: string;
}

export interface Merchant {
  readonly id: number;
}

/** Key-value pairs to keep with a transaction: at most 100, keys of up to 64 letters, digits, `_` and `.`. */
export type RequestKvps = Readonly<Record<string, string>>;

export interface AmountDetails {
  /** Cents, as a string of digits: `'1995'` for 19.95. */
  readonly total_amount: string;
  /** ISO 4217. */
  readonly currency: string;
}

export interface Creditcard {
  /** The card number, or a virtual PAN. */
  readonly pan: string;
  /** MMYY. Required with a card number, ignored with a virtual PAN. */
  readonly expiry_date?: string;
  readonly cvv?: string;
}

export interface Bankaccount {
  /** Six digits, with or without the hyphen. */
  readonly bsb: string;
  readonly account_number: string;
  readonly account_name: string;
}

export interface CreditcardPaymentMethod {
  readonly creditcard: Creditcard;
}

export interface BankaccountPaymentMethod {
  readonly bankaccount: Bankaccount;
}

/** Exactly one of the two. */
export type PaymentMethod = CreditcardPaymentMethod | BankaccountPaymentMethod;

export interface PaymentRequestTransaction {
  readonly reference: string;
  readonly amount_details: AmountDetails;
  readonly payment_method: PaymentMethod;
}

/** Of a purchase or a standalone refund. */
export interface PaymentRequest {
  readonly merchant: Merchant;
  readonly kvps?: RequestKvps;
  readonly transaction: PaymentRequestTransaction;
}

export interface PreauthorisationRequestTransaction {
  readonly reference: string;
  readonly amount_details: AmountDetails;
  readonly payment_method: CreditcardPaymentMethod;
}

export interface PreauthorisationRequest {
  readonly merchant: Merchant;
  readonly kvps?: RequestKvps;
  readonly transaction: PreauthorisationRequestTransaction;
}

export interface AmountRequestTransaction {
  readonly reference: string;
  readonly amount_details: AmountDetails;
}

/** Of a completion or a refund by audit. */
export interface AmountRequest {
  readonly merchant: Merchant;
  readonly kvps?: RequestKvps;
  readonly transaction: AmountRequestTransaction;
}

export interface VoidRequestTransaction {
  readonly reference: string;
}

export interface VoidRequest {
  readonly merchant: Merchant;
  readonly kvps?: RequestKvps;
  readonly transaction: VoidRequestTransaction;
}

export interface TransactionMerchant {
  readonly id: number;
}

/** Those of the request under `GATEWAY.REQUEST.KVP.`, those of the gateway under `GATEWAY.RESPONSE.KVP.`. */
export type Kvps = Readonly<Record<string, string>>;

export interface AcquirerStatus {
  readonly response_code?: string;
  readonly response_message?: string;
  readonly settlement_date?: string;
  readonly authorisation_code?: string;
  readonly preauthorisation_code?: string;
}

export interface TransactionStatus {
  /** Any value but 0, 1, 2 and 3 means -99, not known yet: `gatewayStatusOf` reads it so. */
  readonly gateway_status_code: number;
  readonly gateway_status_message: string;
  /** Any value that is not known means `unknown`: `outcomeOf` reads it so. */
  readonly transaction_status_code: OpenEnum<
    'approved' | 'declined' | 'pending' | 'error' | 'voided' | 'reversed' | 'unknown' | 'Unknown'
  >;
  readonly acquirer: AcquirerStatus;
}

/** `completion`, `refund` and `void` are there only while that operation would be accepted. */
export interface TransactionLinks {
  readonly self: Link;
  readonly target?: Link;
  readonly completion?: Link;
  readonly refund?: Link;
  readonly void?: Link;
}

export interface CreatedTransaction {
  /** The lasting identifier of the transaction. */
  readonly audit: number;
  readonly gateway_timestamp: string;
  readonly merchant: TransactionMerchant;
  readonly kvps: Kvps;
  readonly status: TransactionStatus;
  readonly _links: TransactionLinks;
}

export type CardType = OpenEnum<
  'visa' | 'mastercard' | 'amex' | 'diners' | 'discover' | 'jcb' | 'unionpay' | 'eftpos' | ''
>;

export interface MaskedCreditcard {
  readonly pan: string;
  readonly type: CardType;
}

export interface MaskedBankaccount {
  readonly bsb: string;
  readonly account_number: string;
  readonly account_name: string;
}

export interface MaskedCreditcardPaymentMethod {
  readonly creditcard: MaskedCreditcard;
}

export interface MaskedBankaccountPaymentMethod {
  readonly bankaccount: MaskedBankaccount;
}

export type MaskedPaymentMethod = MaskedCreditcardPaymentMethod | MaskedBankaccountPaymentMethod;

export interface TransactionAmount {
  /** Cents, as a string of digits; with the surcharge, where there is one. */
  readonly total_amount: string;
  readonly currency: string;
}

export interface TransactionDetails {
  readonly reference: string;
  /** `reverse` is to be treated as `void`. */
  readonly transaction_type: OpenEnum<
    'purchase' | 'preauthorisation' | 'completion' | 'refund' | 'standalone_refund' | 'void' | 'reverse'
  >;
  readonly target_audit?: number;
  readonly amount_details: TransactionAmount;
  readonly payment_method?: MaskedPaymentMethod;
  readonly directdebit_mode?: OpenEnum<'debit' | 'credit'>;
}

export interface LookedUpTransaction {
  readonly audit: number;
  readonly gateway_timestamp: string;
  readonly merchant: TransactionMerchant;
  readonly kvps: Kvps;
  readonly transaction: TransactionDetails;
  readonly status: TransactionStatus;
  readonly _links: TransactionLinks;
}

export interface SearchResults {
  readonly results: readonly LookedUpTransaction[];
}

export interface ListLinks {
  readonly first: Link;
  readonly next?: Link;
}

export interface TransactionList {
  readonly _links: ListLinks;
  readonly results: readonly LookedUpTransaction[];
}

export interface SearchQuery {
  readonly merchant_id: number;
  readonly correlation_id_lookup: string;
}

export interface HistoryQuery {
  readonly merchant_id?: number;
  /** An ISO 8601 instant, or a day in Sydney. */
  readonly from?: string;
  readonly until?: string;
  readonly status?: 'approved' | 'declined' | 'pending' | 'error' | 'voided' | 'unknown';
  readonly transaction_type?:
    | 'purchase'
    | 'preauthorisation'
    | 'completion'
    | 'refund'
    | 'standalone_refund'
    | 'void';
  readonly payment_method?: 'creditcard' | 'bankaccount';
  readonly card_type?:
    | 'visa'
    | 'mastercard'
    | 'amex'
    | 'diners'
    | 'discover'
    | 'jcb'
    | 'unionpay'
    | 'eftpos'
    | '';
  readonly last_four?: string;
  /** The beginning of it. */
  readonly reference?: string;
  /** Cents. */
  readonly amount?: number;
  readonly settlement_date?: string;
  readonly customer_id?: number;
  readonly token_id?: number;
  readonly target_audit?: number;
  readonly limit?: number;
  readonly after?: string;
}

/** One of the reasons for which a request was refused. */
export interface Problem {
  readonly error_code: string;
  readonly error_message: string;
  /** Begins with `header`, `path`, `query` or `body`; the keys follow. */
  readonly location: readonly string[];
}

export interface ErrorLinks {
  readonly transaction: Link;
}

export interface Errors {
  readonly errors: readonly Problem[];
  readonly _links?: ErrorLinks;
}
