// What stands on the wire, made from the gateway's OpenAPI document by test/client/client-types.test.ts. Change nothing here.

/** A text with known values. There may be new ones at any time: an `else` belongs to whatever looks at one. */
export type OpenEnum<Known extends string> = Known | (string & {});

export type CardType = MaskedCreditcard['type'];

/** Exactly one of the account types. */
export type Account = GeneralCreditcardAccount | GeneralBankaccountAccount;

export interface AcquirerStatus {
  readonly response_code?: string;
  readonly response_message?: string;
  readonly settlement_date?: string;
  readonly authorisation_code?: string;
  readonly preauthorisation_code?: string;
  /** Under which the card’s network knows it, where the acquirer has told that. */
  readonly network_transaction_id?: string;
}

export interface AmountDetails {
  /** Cents, as a string of digits. */
  readonly total_amount: string;
  /** ISO 4217 code. */
  readonly currency: string;
}

export interface AmountRequest {
  readonly merchant: Merchant;
  readonly kvps?: RequestKvps;
  readonly transaction: AmountRequestTransaction;
}

export interface AmountRequestTransaction {
  /** The merchant's reference for the transaction. */
  readonly reference: string;
  readonly amount_details: AmountDetails;
}

export interface Bankaccount {
  /** Six digits, with or without the hyphen. */
  readonly bsb: string;
  /** 2 to 9 digits; hyphens and spaces are dropped. */
  readonly account_number: string;
  /** The name of the account, in characters that the banks take. */
  readonly account_name: string;
}

export interface BankaccountPaymentMethod {
  readonly bankaccount: Bankaccount;
}

/** Exactly one of the two. */
export type CardPaymentMethod = CreditcardPaymentMethod | WalletPaymentMethod;

export interface Checkout {
  /** Whoever knows it can pay: give it to the payer alone. */
  readonly id: string;
  /** The page on which the payer pays. */
  readonly url: string;
  /** `processing`: an attempt is under way or in doubt. `expired`: its time is over, or all attempts are used up. */
  readonly status: OpenEnum<'open' | 'processing' | 'complete' | 'expired' | 'cancelled'>;
  /** Sydney local time. */
  readonly created: string;
  /** Sydney local time. */
  readonly expires: string;
  readonly merchant: TransactionMerchant;
  readonly checkout: CheckoutDetails;
  /** Attempts that came to a transaction, the first one first. */
  readonly attempts: readonly CheckoutAttempt[];
  readonly result?: CheckoutResult;
  readonly _links: CheckoutLinks;
}

export interface CheckoutAmount {
  readonly total_amount: string;
  readonly currency: string;
}

export interface CheckoutAttempt {
  /** The transaction. */
  readonly audit: number;
  /** As a look-up shows it. */
  readonly transaction_status_code: string;
}

export interface CheckoutDetails {
  readonly reference: string;
  readonly amount_details?: CheckoutAmount;
  /** What the payer does. */
  readonly operation: OpenEnum<'purchase' | 'preauthorisation' | 'tokenise'>;
  readonly payment_methods: readonly (OpenEnum<'creditcard' | 'bankaccount'>)[];
  readonly description?: string;
  /** The customer in the vault. */
  readonly customer_id?: number;
  readonly return_url?: string;
  readonly cancel_url?: string;
  /** How often the payer can try. */
  readonly attempts: number;
  readonly frame_origins?: readonly string[];
}

/** `cancel` is there while it is open, `transaction` once it is paid. */
export interface CheckoutLinks {
  readonly self: Link;
  readonly page: Link;
  readonly cancel?: Link;
  readonly transaction?: Link;
}

export interface CheckoutRequest {
  readonly merchant: Merchant;
  readonly checkout: NewCheckoutDetails;
}

/** Once it is complete. */
export interface CheckoutResult {
  /** The transaction that paid it. */
  readonly audit?: number;
  /** Of `tokenise`: the token of the customer, or, without a customer, good for one payment within 15 minutes. */
  readonly virtual_pan?: string;
}

export interface CheckoutResults {
  readonly results: readonly Checkout[];
}

export interface CreatedTransaction {
  /** The lasting identifier of the transaction. */
  readonly audit: number;
  /** Sydney local time. Approximate on creating responses, exact on lookups. */
  readonly gateway_timestamp: string;
  readonly merchant: TransactionMerchant;
  readonly kvps: Kvps;
  readonly status: TransactionStatus;
  readonly _links: TransactionLinks;
}

/** Of a card that is kept: who pays, and under which agreement. */
export interface Credential {
  /** Who starts this payment: the customer, who is there, or the merchant by itself. `customer` if absent. */
  readonly initiator?: 'customer' | 'merchant';
  /** The agreement with the cardholder, or what the merchant may do without one. */
  readonly reason: 'recurring' | 'instalment' | 'unscheduled' | 'resubmission' | 'delayed_charge' | 'no_show' | 'incremental';
  /** Whether this payment begins the agreement or follows from it. */
  readonly sequence: 'initial' | 'subsequent';
  /** Under which the network knows the payment that began the agreement. Not needed for a virtual PAN that was paid with here: the gateway keeps it. */
  readonly network_transaction_id?: string;
}

export interface Creditcard {
  /** The card number, or a virtual PAN. */
  readonly pan: string;
  /** MMYY (YYMM is understood too). Required with a card number, ignored with a virtual PAN. */
  readonly expiry_date?: string;
  /** Never stored. */
  readonly cvv?: string;
  readonly three_d_secure?: ThreeDSecure;
}

export interface CreditcardPaymentMethod {
  readonly creditcard: Creditcard;
}

export interface Customer {
  /** The customer ID. */
  readonly id: number;
  readonly name: string;
  readonly reference: string;
  readonly _links: CustomerLinks;
}

export interface CustomerChange {
  /** The unique reference of the customer. */
  readonly reference?: string;
  /** The name of the customer. */
  readonly name?: string;
}

export interface CustomerLinks {
  readonly self: Link;
  readonly tokens: Link;
}

export interface CustomerList {
  readonly _links: ListLinks;
  readonly results: readonly Customer[];
}

export interface ErrorLinks {
  readonly transaction?: Link;
  readonly checkout?: Link;
  readonly schedule?: Link;
  readonly base?: Link;
}

export interface Errors {
  readonly errors: readonly Problem[];
  readonly _links?: ErrorLinks;
}

export interface Event {
  /** The same event always has the same; no other has it. */
  readonly id: string;
  /** What happened. Ignore types that you do not know: there may be new ones. */
  readonly type: OpenEnum<'transaction.unknown' | 'transaction.approved' | 'transaction.declined' | 'transaction.pending' | 'transaction.error' | 'transaction.voided' | 'directdebit.returned' | 'customer.created' | 'customer.updated' | 'customer.deleted' | 'token.created' | 'token.updated' | 'token.deleted' | 'checkout.complete' | 'checkout.expired' | 'checkout.cancelled' | 'schedule.payment_failed' | 'schedule.paused' | 'schedule.ended' | 'limit.reached'>;
  /** Sydney local time. */
  readonly created: string;
  readonly merchant: EventMerchant;
  /** Counts the events of one transaction, customer, token, checkout, schedule or limit from 1. */
  readonly version: number;
  readonly data: EventData;
}

/** What a look-up would have answered when it happened, without payment details and without what could be done then: the members of a transaction, a customer or a token; of a checkout, which one it is and what has paid it; of a schedule, which date has failed and why; which limit was reached. */
export interface EventData {
  /** Of a transaction, of the one that has paid a checkout, or of the last payment of a date. */
  readonly audit?: number;
  /** Sydney local time. Approximate on creating responses, exact on lookups. */
  readonly gateway_timestamp?: string;
  readonly merchant?: TransactionMerchant;
  readonly kvps?: Kvps;
  readonly transaction?: EventTransaction;
  readonly status?: TransactionStatus;
  /** Of a customer or token. */
  readonly id?: number;
  /** Of a customer. */
  readonly name?: string;
  /** Of a customer. */
  readonly reference?: string;
  /** Of a token. */
  readonly virtual_pan?: string;
  /** Of a token. */
  readonly preferred_name?: string;
  /** Of a token. */
  readonly active?: boolean;
  /** Of a checkout. */
  readonly checkout_id?: string;
  /** Of a schedule. */
  readonly schedule_id?: string;
  /** Of a schedule, that has failed. */
  readonly date?: string;
  /** Of a schedule that was paused or has ended. */
  readonly schedule_status?: string;
  /** Why a date has failed, or a schedule was paused. */
  readonly reason?: string;
  readonly limit?: ReachedLimit;
  readonly _links: EventDataLinks;
}

export interface EventDataLinks {
  readonly self?: Link;
  readonly target?: Link;
  readonly tokens?: Link;
  readonly customer?: Link;
  readonly transaction?: Link;
}

export interface EventList {
  readonly results: readonly Event[];
  readonly _links: EventListLinks;
}

export interface EventListLinks {
  readonly next: Link;
}

export interface EventMerchant {
  /** The merchant. */
  readonly id: number;
}

export interface EventTransaction {
  readonly reference: string;
  /** `reverse` is to be treated as `void`. */
  readonly transaction_type: OpenEnum<'purchase' | 'preauthorisation' | 'completion' | 'refund' | 'standalone_refund' | 'void' | 'reverse'>;
  /** The transaction that this one acts on. */
  readonly target_audit?: number;
  readonly amount_details: TransactionAmount;
  readonly credential?: ShownCredential;
  /** Of a direct debit: which way the money goes. */
  readonly directdebit_mode?: OpenEnum<'debit' | 'credit'>;
}

export interface GeneralBankaccount {
  /** Six digits, with or without the hyphen. */
  readonly 'BANK.BSB': string;
  /** 2 to 9 digits; hyphens and spaces are dropped. */
  readonly 'BANK.ACCOUNT_NUMBER': string;
  /** The name of the account, in characters that the banks take. */
  readonly 'BANK.ACCOUNT_NAME': string;
}

export interface GeneralBankaccountAccount {
  readonly general_bankaccount: GeneralBankaccount;
}

export interface GeneralCreditcard {
  /** The card number. */
  readonly 'CARD.PAN': string;
  /** MMYY (YYMM is understood too). */
  readonly 'CARD.EXPIRY': string;
  /** The name on the card. */
  readonly 'CARD.NAME': string;
}

export interface GeneralCreditcardAccount {
  readonly general_creditcard: GeneralCreditcard;
}

/** Those of the request under `GATEWAY.REQUEST.KVP.`, those of the gateway under `GATEWAY.RESPONSE.KVP.`. */
export type Kvps = Readonly<Record<string, string>>;

export interface Link {
  /** An absolute path. */
  readonly href: string;
}

export interface ListLinks {
  readonly first: Link;
  readonly next?: Link;
}

export interface LookedUpTransaction {
  /** The lasting identifier of the transaction. */
  readonly audit: number;
  /** Sydney local time. Approximate on creating responses, exact on lookups. */
  readonly gateway_timestamp: string;
  readonly merchant: TransactionMerchant;
  readonly kvps: Kvps;
  readonly transaction: TransactionDetails;
  readonly status: TransactionStatus;
  readonly _links: TransactionLinks;
}

export type MaskedAccount = MaskedGeneralCreditcardAccount | MaskedGeneralBankaccountAccount;

export interface MaskedBankaccount {
  readonly bsb: string;
  /** Masked. */
  readonly account_number: string;
  readonly account_name: string;
}

export interface MaskedBankaccountPaymentMethod {
  readonly bankaccount: MaskedBankaccount;
}

export interface MaskedCreditcard {
  /** Masked. */
  readonly pan: string;
  /** The scheme of the card. Empty where it is not known. */
  readonly type: OpenEnum<'visa' | 'mastercard' | 'amex' | 'diners' | 'discover' | 'jcb' | 'unionpay' | 'eftpos' | ''>;
  readonly three_d_secure?: ShownThreeDSecure;
}

export interface MaskedCreditcardPaymentMethod {
  readonly creditcard: MaskedCreditcard;
}

export interface MaskedGeneralBankaccount {
  readonly 'BANK.BSB': string;
  /** Masked. */
  readonly 'BANK.ACCOUNT_NUMBER': string;
  readonly 'BANK.ACCOUNT_NAME': string;
}

export interface MaskedGeneralBankaccountAccount {
  readonly general_bankaccount: MaskedGeneralBankaccount;
}

export interface MaskedGeneralCreditcard {
  /** Masked. */
  readonly 'CARD.PAN': string;
  /** Masked. */
  readonly 'CARD.EXPIRY': string;
  readonly 'CARD.NAME': string;
  /** The scheme of the card. Empty where it is not known. */
  readonly 'CARD.TYPE': OpenEnum<'visa' | 'mastercard' | 'amex' | 'diners' | 'discover' | 'jcb' | 'unionpay' | 'eftpos' | ''>;
}

export interface MaskedGeneralCreditcardAccount {
  readonly general_creditcard: MaskedGeneralCreditcard;
}

export type MaskedPaymentMethod = MaskedCreditcardPaymentMethod | MaskedBankaccountPaymentMethod;

export interface Merchant {
  /** The merchant that the transaction is for. */
  readonly id: number;
}

export interface NewCheckoutDetails {
  /** The merchant's reference, which the transaction gets, too. */
  readonly reference: string;
  readonly amount_details?: AmountDetails;
  /** `tokenise` takes no amount: it gives a virtual PAN, which pays later. */
  readonly operation?: 'purchase' | 'preauthorisation' | 'tokenise';
  /** Between which the payer can choose. */
  readonly payment_methods?: readonly ('creditcard' | 'bankaccount')[];
  /** Shown to the payer. */
  readonly description?: string;
  /** A customer in the vault. The payer may keep the card as a token of it; with `tokenise` the card becomes one. */
  readonly customer_id?: number;
  /** Where the payer goes after the end, with `checkout=ID` added. */
  readonly return_url?: string;
  /** Where the payer goes who does not want to pay. */
  readonly cancel_url?: string;
  /** For how many seconds it can be paid. */
  readonly expires_in?: number;
  /** How often the payer can try. */
  readonly attempts?: number;
  /** Origins of pages that may show the page in a frame. None: it cannot be framed. */
  readonly frame_origins?: readonly string[];
}

export interface NewCustomer {
  /** The unique reference of the customer. */
  readonly reference: string;
  /** The name of the customer. */
  readonly name: string;
}

export interface NewScheduleDetails {
  /** The merchant's reference, which each transaction gets, too. */
  readonly reference: string;
  /** Of a token in the vault: a card, or a bank account. */
  readonly virtual_pan: string;
  readonly amount_details: AmountDetails;
  /** The day in Sydney of the first payment: today, or later. */
  readonly first_date: string;
  readonly every: ScheduleInterval;
  /** How many dates there are. Not with `until`. */
  readonly count?: number;
  /** The last day that a date can be on. Not with `count`. */
  readonly until?: string;
  /** After a date has failed: go on with the next one, or pause. */
  readonly on_failure?: 'continue' | 'pause';
}

export interface NewToken {
  /** The name of the token, unique for the customer. */
  readonly preferred_name: string;
  /** Whether the token can be used. */
  readonly active: boolean;
  readonly account: Account;
}

export interface Payer {
  /** The IP address that the payer pays from. It is counted against limits, and not stored. */
  readonly address?: string;
}

/** Exactly one of them. A standalone refund takes no wallet. */
export type PaymentMethod = CreditcardPaymentMethod | BankaccountPaymentMethod | WalletPaymentMethod;

export interface PaymentRequest {
  readonly merchant: Merchant;
  readonly kvps?: RequestKvps;
  readonly transaction: PaymentRequestTransaction;
}

export interface PaymentRequestTransaction {
  /** The merchant's reference for the transaction. */
  readonly reference: string;
  readonly amount_details: AmountDetails;
  readonly credential?: Credential;
  readonly payer?: Payer;
  readonly payment_method: PaymentMethod;
}

export interface PreauthorisationRequest {
  readonly merchant: Merchant;
  readonly kvps?: RequestKvps;
  readonly transaction: PreauthorisationRequestTransaction;
}

export interface PreauthorisationRequestTransaction {
  /** The merchant's reference for the transaction. */
  readonly reference: string;
  readonly amount_details: AmountDetails;
  readonly credential?: Credential;
  readonly payer?: Payer;
  readonly payment_method: CardPaymentMethod;
}

export interface Problem {
  /** What is wrong. There may be new codes at any time. */
  readonly error_code: string;
  readonly error_message: string;
  /** Starts with `header`, `path`, `query` or `body`. */
  readonly location: readonly string[];
}

/** Against card testing, that was reached. */
export interface ReachedLimit {
  /** What is counted. */
  readonly per: OpenEnum<'card' | 'address' | 'bin' | 'customer' | 'checkout' | 'retry'>;
  /** Whether it goes on to be paid, or is refused. */
  readonly mode: OpenEnum<'watch' | 'block'>;
  /** A masked card number, an address, and so on. */
  readonly reached_by: string;
}

/** Key-value pairs to keep with the transaction. They come back with `GATEWAY.REQUEST.KVP.` before each key. */
export type RequestKvps = Readonly<Record<string, string>>;

export interface Schedule {
  readonly id: string;
  /** `ended`: its last date was decided. */
  readonly status: OpenEnum<'active' | 'paused' | 'ended' | 'cancelled'>;
  /** Sydney local time. */
  readonly created: string;
  readonly merchant: TransactionMerchant;
  readonly schedule: ScheduleDetails;
  /** Whose token it is. */
  readonly customer_id: number;
  /** Absent where there is none. */
  readonly next_date?: string;
  /** The last 20 that were begun, the newest first. Not in lists. */
  readonly dates?: readonly ScheduleDate[];
  readonly counts?: ScheduleCounts;
  readonly _links: ScheduleLinks;
}

export interface ScheduleAmount {
  readonly total_amount: string;
  readonly currency: string;
}

export interface ScheduleChange {
  readonly schedule: ScheduleChangeDetails;
}

export interface ScheduleChangeDetails {
  readonly amount_details?: AmountDetails;
  /** The day of the next date. Those after it are counted from there. */
  readonly next_date?: string;
}

/** Of all dates. Not in lists. */
export interface ScheduleCounts {
  readonly paid: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface ScheduleDate {
  readonly date: string;
  /** `pending`: a direct debit that the bank may still return. `skipped`: it passed while the schedule was paused, or the schedule was cancelled. `paid`, `failed` and `skipped` are final. */
  readonly status: OpenEnum<'processing' | 'pending' | 'retrying' | 'paid' | 'failed' | 'skipped'>;
  /** The last payment of this date. */
  readonly audit?: number;
  /** Why it is tried again, has failed, or was skipped. */
  readonly reason?: string;
  /** When it is tried again. Sydney local time. */
  readonly next_try?: string;
}

export interface ScheduleDetails {
  readonly reference: string;
  readonly virtual_pan: string;
  readonly amount_details: ScheduleAmount;
  readonly first_date: string;
  readonly every: ScheduleEvery;
  readonly count?: number;
  readonly until?: string;
  /** After a date has failed. */
  readonly on_failure: OpenEnum<'continue' | 'pause'>;
}

export interface ScheduleEvery {
  readonly days?: number;
  readonly weeks?: number;
  readonly months?: number;
}

/** Exactly one of the three. Months count from the first date: the 31st is the last day of a shorter month. */
export interface ScheduleInterval {
  /** Every so many days. */
  readonly days?: number;
  /** Every so many weeks. */
  readonly weeks?: number;
  /** Every so many months. */
  readonly months?: number;
}

/** What can be done with it now; `transaction` is the newest payment. */
export interface ScheduleLinks {
  readonly self: Link;
  readonly customer: Link;
  readonly token: Link;
  readonly pause?: Link;
  readonly resume?: Link;
  readonly cancel?: Link;
  readonly transaction?: Link;
}

export interface ScheduleList {
  readonly _links: ListLinks;
  readonly results: readonly Schedule[];
}

export interface ScheduleRequest {
  readonly merchant: Merchant;
  readonly schedule: NewScheduleDetails;
}

export interface SearchResults {
  readonly results: readonly LookedUpTransaction[];
}

export interface Settlement {
  /** The settlement day. */
  readonly date: string;
  /** When the day closes, or has closed. Sydney time. */
  readonly closes: string;
  /** A closed day does not change any more. */
  readonly closed: boolean;
  readonly lines: readonly SettlementLine[];
  /** The sum of the lines of each merchant and currency. */
  readonly net: readonly SettlementNet[];
  readonly _links: SettlementLinks;
}

export interface SettlementLine {
  readonly merchant: SettlementMerchant;
  /** Over which link. */
  readonly acquirer: string;
  /** How it was paid. */
  readonly payment_method: OpenEnum<'creditcard' | 'bankaccount'>;
  /** The scheme of the card. Empty where it is not known. */
  readonly card_type: OpenEnum<'visa' | 'mastercard' | 'amex' | 'diners' | 'discover' | 'jcb' | 'unionpay' | 'eftpos' | ''>;
  /** What it was. `void`: undoes what has settled on this day or before; `return`: the bank took back what had been cleared. */
  readonly transaction_type: OpenEnum<'purchase' | 'completion' | 'refund' | 'standalone_refund' | 'void' | 'return'>;
  /** ISO 4217 code. */
  readonly currency: string;
  /** How many transactions. */
  readonly count: number;
  /** Cents that the merchant gets, as a string of digits; with a minus, that are taken from it. It may have any number of digits. */
  readonly total_amount: string;
}

export interface SettlementLinks {
  readonly self: Link;
}

export interface SettlementMerchant {
  /** The merchant. */
  readonly id: number;
}

export interface SettlementNet {
  readonly merchant: SettlementMerchant;
  /** ISO 4217 code. */
  readonly currency: string;
  /** Cents that the merchant gets, as a string of digits; with a minus, that are taken from it. It may have any number of digits. */
  readonly total_amount: string;
}

export interface ShownCredential {
  /** Who started this payment. */
  readonly initiator: OpenEnum<'customer' | 'merchant'>;
  /** The agreement with the cardholder. */
  readonly reason: OpenEnum<'recurring' | 'instalment' | 'unscheduled' | 'resubmission' | 'delayed_charge' | 'no_show' | 'incremental'>;
  /** Whether this payment began the agreement. */
  readonly sequence: OpenEnum<'initial' | 'subsequent'>;
  readonly network_transaction_id?: string;
}

export interface ShownThreeDSecure {
  readonly version?: string;
  readonly eci?: string;
  readonly status?: string;
}

/** The result of a 3-D Secure check that was made elsewhere. */
export interface ThreeDSecure {
  /** Of the protocol. */
  readonly version: string;
  /** Electronic commerce indicator. */
  readonly eci: string;
  /** Base64 of 20 bytes (CAVV, AAV). Stored sealed with the card, and not shown. */
  readonly authentication_value?: string;
  /** Of the directory server: a UUID. */
  readonly ds_transaction_id?: string;
  /** The transaction status (transStatus). With `N`, `R` and `C` nothing is paid. */
  readonly status: 'Y' | 'A' | 'U' | 'N' | 'R' | 'C' | 'I';
  /** The scheme that it was made with, of a card that has two. */
  readonly network?: string;
}

export interface Token {
  /** The token ID. */
  readonly id: number;
  /** Can stand for the payment details in transactions. */
  readonly virtual_pan: string;
  readonly preferred_name: string;
  readonly active: boolean;
  readonly account: MaskedAccount;
  readonly _links: TokenLinks;
}

export interface TokenChange {
  /** The name of the token, unique for the customer. */
  readonly preferred_name?: string;
  /** Whether the token can be used. */
  readonly active?: boolean;
  readonly account?: Account;
}

export interface TokenLinks {
  readonly self: Link;
  readonly customer: Link;
}

export interface TokenList {
  readonly _links: ListLinks;
  readonly results: readonly Token[];
}

export interface TransactionAmount {
  /** Cents, as a string of digits. */
  readonly total_amount: string;
  readonly currency: string;
}

export interface TransactionDetails {
  readonly reference: string;
  /** `reverse` is to be treated as `void`. */
  readonly transaction_type: OpenEnum<'purchase' | 'preauthorisation' | 'completion' | 'refund' | 'standalone_refund' | 'void' | 'reverse'>;
  /** The transaction that this one acts on. */
  readonly target_audit?: number;
  readonly amount_details: TransactionAmount;
  readonly payment_method?: MaskedPaymentMethod;
  readonly credential?: ShownCredential;
  /** Of a direct debit: which way the money goes. */
  readonly directdebit_mode?: OpenEnum<'debit' | 'credit'>;
}

/** `completion`, `refund` and `void` are there only while that operation would be accepted. */
export interface TransactionLinks {
  readonly self: Link;
  readonly target?: Link;
  readonly completion?: Link;
  readonly refund?: Link;
  readonly void?: Link;
}

export interface TransactionList {
  readonly _links: ListLinks;
  readonly results: readonly LookedUpTransaction[];
}

export interface TransactionMerchant {
  /** The merchant. */
  readonly id: number;
}

export interface TransactionStatus {
  /** 0 processed; 1 the acquirer could not be reached, nothing was sent; 2 no readable answer, reversed, nothing was charged; 3 the acquirer reported a fault of its own; -99 not known yet. Treat any other value as -99. */
  readonly gateway_status_code: number;
  readonly gateway_status_message: string;
  /** The outcome. Treat any other value as `unknown`. */
  readonly transaction_status_code: OpenEnum<'approved' | 'declined' | 'pending' | 'error' | 'voided' | 'reversed' | 'unknown' | 'Unknown'>;
  readonly acquirer: AcquirerStatus;
}

export interface VoidRequest {
  readonly merchant: Merchant;
  readonly kvps?: RequestKvps;
  readonly transaction: VoidRequestTransaction;
}

export interface VoidRequestTransaction {
  /** The merchant's reference for the transaction. */
  readonly reference: string;
}

export interface Wallet {
  /** Which wallet made the token. */
  readonly type: 'apple_pay' | 'google_pay';
  /** As the wallet gave it to the page or the app: of Apple Pay `paymentData` of the payment token (`EC_v1`), of Google Pay the token (`ECv2`), as an object or as the text that Google gives. */
  readonly token: Readonly<Record<string, unknown>> | string;
}

export interface WalletPaymentMethod {
  readonly wallet: Wallet;
}

export interface SearchQuery {
  /** The merchant that the transaction was for. */
  readonly merchant_id: number;
  /** The `X-Correlation-Id` of the request that created the transaction. */
  readonly correlation_id_lookup: string;
}

export interface HistoryQuery {
  /** Of this merchant. Default: of every merchant that the user may use. */
  readonly merchant_id?: number;
  /** Made at or after. An ISO 8601 instant, or a day in Sydney. */
  readonly from?: string;
  /** Made at or before; of a day, all of it. An ISO 8601 instant, or a day in Sydney. */
  readonly until?: string;
  /** The outcome, as it is now. */
  readonly status?: 'unknown' | 'approved' | 'declined' | 'pending' | 'error' | 'voided';
  readonly transaction_type?: 'purchase' | 'preauthorisation' | 'completion' | 'refund' | 'standalone_refund' | 'void';
  readonly payment_method?: 'creditcard' | 'bankaccount';
  /** The scheme of the card. */
  readonly card_type?: 'visa' | 'mastercard' | 'amex' | 'diners' | 'discover' | 'jcb' | 'unionpay' | 'eftpos' | '';
  /** The last four digits of the card number. */
  readonly last_four?: string;
  /** The beginning of the reference. */
  readonly reference?: string;
  /** Cents. */
  readonly amount?: number;
  /** The day of settlement. */
  readonly settlement_date?: string;
  /** Paid with a token of this customer. */
  readonly customer_id?: number;
  /** Paid with this token. */
  readonly token_id?: number;
  /** What was done to this transaction: completions, refunds, voids. */
  readonly target_audit?: number;
  /** What a payer tried on the page of this checkout, and what came of it. */
  readonly checkout_id?: string;
  /** How many on a page. */
  readonly limit?: number;
  /** Part of `_links.next`: where the page before ended. */
  readonly after?: string;
}

export interface ScheduleQuery {
  /** Of this merchant. Default: the one that the user is assigned to. */
  readonly merchant_id?: number;
  /** With a token of this customer. */
  readonly customer_id?: number;
  readonly status?: 'active' | 'paused' | 'ended' | 'cancelled';
  /** The `X-Correlation-Id` of the request that created it, however long ago. */
  readonly correlation_id_lookup?: string;
  /** How many on a page. */
  readonly limit?: number;
  /** Part of `_links.next`: where the page before ended. */
  readonly after?: string;
}

export interface CustomerQuery {
  /** The merchant whose vault it is. Default: the merchant that the user is assigned to. */
  readonly merchant_id?: number;
  readonly ordering?: 'name' | 'customer_id' | 'reference';
  /** Part of the name, in any case. */
  readonly name?: string;
  /** Part of the reference, in any case. */
  readonly reference?: string;
  /** How many on a page. */
  readonly limit?: number;
  /** How many to leave out. Better: follow `_links.next`. */
  readonly offset?: number;
  /** Part of `_links.next`: where the page before ended. */
  readonly after?: string;
}

export interface TokenQuery {
  /** The merchant whose vault it is. Default: the merchant that the user is assigned to. */
  readonly merchant_id?: number;
  /** How many on a page. */
  readonly limit?: number;
  /** How many to leave out. Better: follow `_links.next`. */
  readonly offset?: number;
  /** Part of `_links.next`: where the page before ended. */
  readonly after?: string;
}

export interface EventQuery {
  /** The merchant whose events they are. Default: the merchant that the user is assigned to. */
  readonly merchant_id?: number;
  /** Part of `_links.next`: where the last answer ended. Without it: from the oldest event that is kept. */
  readonly after?: string;
  /** How many on a page. */
  readonly limit?: number;
  /** For how many seconds an answer without events is held back, in case one comes. */
  readonly wait?: number;
}

export interface SettlementQuery {
  /** Only this merchant. Default: every merchant that the user may use. */
  readonly merchant_id?: number;
}
