// What a transaction is, before and after its two commits: the outcome of an acquirer's answer, the reference towards the
// acquirer, and the content of its seals.
import type { AcquirerResponse, Answer, Decision, MoneyOperation, Prepared } from '../acquirers/contract.js';
import type { Pricing } from '../plugins/contract.js';
import { type DirectDebitMode, directDebitMode, type ShownBankAccount } from '../values/bank-account.js';
import type { Credential } from '../values/credential.js';
import type { Audit, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { Cents } from '../values/money.js';
import type { ThreeDSecure } from '../values/three-d-secure.js';
import { settlementCutOff, settlementDay } from '../values/time.js';
import type { Place } from '../vault/keys/keys.js';
import type { SealOwner } from '../vault/keys/sealed-rows.js';
import type { InFlightRequest } from './finding/search-fence.js';

export type TransactionType = MoneyOperation;
export const TRANSACTION_TYPES = [
  'purchase',
  'preauthorisation',
  'completion',
  'refund',
  'standalone_refund',
  'void',
] as const satisfies readonly TransactionType[];

export const TRANSACTION_STATUSES = [
  'unknown',
  'approved',
  'declined',
  'pending',
  'error',
  'voided',
] as const;
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number];
export type Kvps = Readonly<Record<string, string>>;

/** `gateway_status_code`, with its message. */
export const GATEWAY_STATUS = {
  processed: 0,
  notSent: 1,
  reversed: 2,
  acquirerFault: 3,
  unknown: -99,
} as const;
export type GatewayStatusCode = (typeof GATEWAY_STATUS)[keyof typeof GATEWAY_STATUS];

/** The acquirer's answer, or what was found out without it. */
export interface Outcome {
  readonly status: TransactionStatus;
  readonly gatewayStatusCode: GatewayStatusCode;
  readonly responseCode?: string;
  readonly responseMessage?: string;
  readonly settlementDate?: string;
  readonly authorisationCode?: string;
  readonly preauthorisationCode?: string;
  readonly networkTransactionId?: string;
  /** Of what was declined: whether the card may be tried again, and under which HMAC it is found. Not kept with the transaction. */
  readonly adviceCode?: string;
  readonly cardTag?: Buffer;
  readonly voidableUntilMs?: number;
}

/** How the cardholder takes part in a payment, as look-ups show it. */
export interface Cardholder {
  readonly credential?: Credential | undefined;
  readonly threeDSecure?: Pick<ThreeDSecure, 'version' | 'eci' | 'status'> | undefined;
}

/** The record that commit A makes durable. */
export interface Intent {
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  readonly merchantId: MerchantId;
  readonly transactionType: TransactionType;
  readonly correlationId: string;
  readonly createdMs: number;
  readonly reference: string;
  readonly targetAudit?: Audit;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly cardMask?: string;
  readonly cardType?: string;
  /** Of a direct debit. */
  readonly bankAccount?: ShownBankAccount;
  readonly cardholder?: Cardholder | undefined;
  /** Keys without the gateway's prefix. */
  readonly kvps: Kvps;
  /** Present if a plugin has changed the price. */
  readonly pricing?: Pricing;
  readonly acquirer: string;
  /** The link's own data for inquiries and reversals. */
  readonly prepared?: Prepared;
  readonly completableUntilMs?: number;
  /** Of an operation on an earlier transaction: that one, as commit A found it. */
  readonly target?: StoredOutcome;
}

/** An intent with a payment method of its own, as commit A stores it. */
export interface DirectClaim extends Intent {
  /** The payment details, of a card or a bank account. */
  readonly sealed: Buffer;
  readonly keyVersion: number;
  /** The token that was opened, by whom and from where: for the journal. */
  readonly tokenId?: TokenId;
  readonly username: string;
  readonly address: string;
  readonly userId: number;
  readonly inFlight: InFlightRequest;
}

/** A token that was opened for a claim, as the journal records it. */
export interface OpenedToken {
  readonly claim: DirectClaim;
  readonly mac: Buffer | undefined;
}

/** A claim on a target. Members left out (a void has no amount) and the payment method come from the target. */
export interface TargetedClaim {
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  readonly merchantId: MerchantId;
  readonly transactionType: 'completion' | 'refund' | 'void';
  readonly correlationId: string;
  readonly createdMs: number;
  /** Card payments made before this can no longer be refunded. */
  readonly refundableFromMs: number;
  readonly reference: string;
  readonly targetAudit: Audit;
  readonly amountCents?: Cents;
  readonly currency?: string;
  readonly kvps: Kvps;
  readonly pricing?: Pricing;
  readonly prepared?: Prepared;
  /** The attestation of the request. */
  readonly attestation: Buffer;
  readonly userId: number;
  readonly inFlight: InFlightRequest;
  /** Present if an operator asked, and no user. */
  readonly byOperator?: AskedByOperator;
}

/** An operator's request, as the journal records it. */
export interface AskedByOperator {
  readonly actor: string;
  readonly address: string | undefined;
  /** The transaction, the amount and the reason. */
  readonly detail: string;
  /** By the database's clock; not claimed after this. */
  readonly untilMs: number;
}

export interface OperatorsClaim extends AskedByOperator {
  readonly claim: TargetedClaim;
  readonly mac: Buffer | undefined;
}

/** A payment that is rerouted to another link, and its card, sealed for that link. */
export interface Move {
  readonly sealed: Buffer;
  readonly keyVersion: number;
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  /** The link that has certainly sent nothing. */
  readonly before: string;
  readonly acquirer: string;
  readonly prepared: Prepared;
}

/** The same, as the journal records it. */
export interface JournalledMove extends Move {
  readonly detail: string;
  readonly mac: Buffer | undefined;
}

/** Identifies a transaction in doubt. */
export type InDoubt = Pick<Intent, 'organisationId' | 'audit'>;

/** What it takes to record an outcome. */
export type Undecided = DecidedIntent & { readonly target?: StoredOutcome | undefined };

/** The record that commit B stores. */
export interface Recording {
  readonly organisationId: OrganisationId;
  readonly intent: Undecided;
  readonly outcome: Outcome;
  readonly outcomeSeal: Buffer;
  /** Of the target, which a successful void turns into `voided`. */
  readonly voidedSeal?: Buffer | undefined;
  /** 0 for the answer to the request itself, otherwise the resolver's attempt. */
  readonly attempt: number;
}

/** The record that commit B stores for a transaction that was in doubt. */
export interface Resolution extends Recording {
  /** What was found, how, and how long it took: for the journal. */
  readonly detail: string;
  readonly mac?: Buffer | undefined;
}

export interface Transaction extends Intent, Outcome {
  readonly refundedCents: number;
  readonly completedBy?: Audit;
  readonly voidedBy?: Audit;
}

/** Most transactions have none, and then nothing is stored. */
export function storedKvps(kvps: Kvps): Kvps | undefined {
  for (const _ in kvps) return kvps;
  return undefined;
}

/** The plugins' pricing, the link's prepared data and the cardholder's part share one batch column, since most transactions have none. */
export function storedDecisions({
  pricing,
  prepared,
  cardholder,
}: Pick<Intent, 'pricing' | 'prepared' | 'cardholder'>): unknown {
  return pricing === undefined && prepared === undefined && cardholder === undefined
    ? undefined
    : { pricing, prepared, cardholder };
}

/** The direction of a direct debit's money. A void moves none. */
export function directdebitMode({ bankAccount, transactionType }: Transaction): DirectDebitMode | undefined {
  if (bankAccount === undefined || transactionType === 'void') return undefined;
  return directDebitMode(transactionType);
}

/**
 * Until when the transaction can be voided. A direct debit whose bank file is late goes with the next one, and can be voided
 * until then.
 */
export function voidableUntilMs({ voidableUntilMs: untilMs = 0 }: Transaction, nowMs: number): number {
  return untilMs > nowMs ? untilMs : settlementCutOff(settlementDay(nowMs));
}

type Decided = Exclude<Answer, { kind: 'unknown' }>;

/** Decides until when a transaction can be voided, for claims, links and refusals alike: they read the stored time. */
export function outcomeOf(
  answer: Decided,
  nowMs: number,
  { completableUntilMs }: Pick<Intent, 'completableUntilMs'> = {},
): Outcome {
  switch (answer.kind) {
    case 'approved': {
      const response = responseOf(answer);
      const settlementDate = response.settlementDate ?? settlementDay(nowMs);
      return {
        status: 'approved',
        gatewayStatusCode: GATEWAY_STATUS.processed,
        // A preauthorisation can be voided as long as it can be completed; it settles nothing.
        voidableUntilMs: completableUntilMs ?? settlementCutOff(settlementDate),
        ...response,
        settlementDate,
      };
    }
    case 'pending': {
      // The day's bank file is made when the day closes: until then it can be voided.
      const voidableUntilMs = settlementCutOff(settlementDay(nowMs));
      return { status: 'pending', gatewayStatusCode: GATEWAY_STATUS.processed, voidableUntilMs };
    }
    case 'declined':
      return { status: 'declined', gatewayStatusCode: GATEWAY_STATUS.processed, ...responseOf(answer) };
    case 'faulty':
      return { status: 'error', gatewayStatusCode: GATEWAY_STATUS.acquirerFault, ...responseOf(answer) };
    case 'not_sent':
      return NOT_SENT;
  }
}

/** Undefined if the answer is unreadable: the money may have moved, and the resolver has to find out. */
export function readableOutcome(...answered: Parameters<typeof outcomeOf>): Outcome | undefined {
  try {
    return outcomeOf(...answered);
  } catch {
    return undefined;
  }
}

/** As long as one can be in a request. */
const MOST_NETWORK_ID = 36;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/g;

/** The acquirer's response, without a settlement date that is not in the calendar. */
function responseOf(decision: Decision): AcquirerResponse {
  const { authorisationCode, preauthorisationCode, settlementDate, networkTransactionId, adviceCode } =
    decision;
  return {
    responseCode: printable(decision.responseCode),
    responseMessage: printable(decision.responseMessage),
    ...(authorisationCode !== undefined && { authorisationCode: printable(authorisationCode) }),
    ...(preauthorisationCode !== undefined && { preauthorisationCode: printable(preauthorisationCode) }),
    ...(networkTransactionId !== undefined && {
      networkTransactionId: printable(networkTransactionId).slice(0, MOST_NETWORK_ID),
    }),
    ...(adviceCode !== undefined && { adviceCode: printable(adviceCode) }),
    ...(settlementDate !== undefined && isDate(settlementDate) && { settlementDate }),
  };
}

/** Without control characters: one of them separates the texts of a batch column. */
function printable(text: string): string {
  return text.replace(CONTROL, '');
}

function isDate(text: string): boolean {
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().slice(0, 10) === text;
}

/** The response of a direct debit that was not returned in time. */
export const CLEARED = { responseCode: '00', responseMessage: 'Cleared' } as const;

/** Nothing has left the gateway. */
export const NOT_SENT: Outcome = { status: 'error', gatewayStatusCode: GATEWAY_STATUS.notSent };

/** The acquirer could not confirm the transaction, and has undone anything that it did. */
export const REVERSED: Outcome = { status: 'error', gatewayStatusCode: GATEWAY_STATUS.reversed };

/**
 * The transaction's reference towards its acquirer. Unique across installations, and derived, so it is never stored and never
 * lost. `sentBy`: the installation that sent it, if that was another cell (`sent_by` in the database).
 */
export type AcquirerReference = (
  organisationId: OrganisationId,
  audit: Audit,
  sentBy?: string | null,
) => string;

/** The audit of the transaction with this reference. */
export function auditOf(reference: string): Audit {
  return Number(reference.slice(reference.lastIndexOf('-') + 1)) as Audit;
}

/** The installation is that of the database where the process is registered. */
export function acquirerReferences(registry: { readonly installation: string }): AcquirerReference {
  // guard(moved: what another cell has sent keeps the name that it was sent under): sentBy ?? ⇒
  return (organisationId, audit, sentBy) => `${sentBy ?? registry.installation}-${organisationId}-${audit}`;
}

type Attested = Pick<
  TargetedClaim,
  'organisationId' | 'merchantId' | 'audit' | 'targetAudit' | 'amountCents' | 'currency'
> & { readonly transactionType: string; readonly prepared?: Prepared };

/**
 * The text that is attested when an operation on an earlier transaction is requested: target, amount, currency, and what the link
 * has prepared for it. Later readers of the stored row check it against the attestation.
 */
export function attestedWords(asked: Attested): string {
  const { organisationId, merchantId, audit, transactionType, targetAudit, amountCents, currency } = asked;
  // guard(seal of an operation: bound to what its link has prepared): ${preparedWords(asked)} ⇒
  const what = `${transactionType}/${targetAudit}/${amountCents ?? ''}/${currency ?? ''}${preparedWords(asked)}`;
  return `transaction/${organisationId}/${merchantId}/${audit}/${what}`;
}

/** The values that the seal of payment details is bound to: the card opens for no other link, and for no other message. */
export interface PaymentSeal {
  readonly audit: Audit;
  readonly transactionType: string;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly paymentMethod: 'card' | 'bank_account';
  readonly acquirer: string;
  readonly prepared?: Prepared;
}

/**
 * The field name dates from when only cards were sealed. Every ciphertext is bound to these words: with others, nothing stored
 * would open.
 */
export function paymentDetailsPlace({ organisationId, merchantId }: SealOwner, payment: PaymentSeal): Place {
  const { audit, transactionType, amountCents, currency, paymentMethod, acquirer } = payment;
  // guard(direct debit: for the amount that was asked for): ${amountCents} ⇒ -
  const what = `${transactionType}/${amountCents}/${currency}/${paymentMethod}`;
  // guard(seal of payment details: bound to the link): ${acquirer} ⇒ -
  // guard(seal of payment details: bound to what the link has prepared): ${preparedWords(payment)} ⇒
  const says = `${what}/${acquirer}${preparedWords(payment)}`;
  return { table: 'transaction', organisationId, merchantId, row: audit, field: 'card', says };
}

/** The same text before and after the database: jsonb keeps members in an order of its own. */
function preparedWords({ prepared }: { readonly prepared?: Prepared }): string {
  if (prepared === undefined || prepared === null) return '';
  return `/${JSON.stringify(prepared, (_, value) => (isObject(value) ? inOrder(value) : value))}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function inOrder(members: object): object {
  return Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** What a decided transaction's seal is bound to: what money depends on, and what it is found by. */
export type DecidedIntent = Pick<
  Intent,
  | 'organisationId'
  | 'audit'
  | 'merchantId'
  | 'transactionType'
  | 'correlationId'
  | 'amountCents'
  | 'currency'
  | 'acquirer'
> & { readonly targetAudit?: Audit | null | undefined };

export type SealedOutcome = {
  readonly [Member in
    | 'status'
    | 'gatewayStatusCode'
    | 'responseCode'
    | 'authorisationCode'
    | 'preauthorisationCode'
    | 'networkTransactionId']?: Outcome[Member] | null | undefined;
};

/** A stored transaction, with what its outcome's seal is bound to. */
export interface StoredOutcome extends DecidedIntent, SealedOutcome {
  readonly status: TransactionStatus;
  /** As base64. Null in doubt. */
  readonly outcomeSeal: string | null;
}

/**
 * The text that is attested when an outcome is stored. Left out is what SQL still changes: times until when something is allowed, the
 * settlement day, and the counters, which the operations on the transaction prove. None of the members has a line break.
 */
export function outcomeWords(intent: DecidedIntent, outcome: SealedOutcome): string {
  const { organisationId, merchantId, audit, transactionType, targetAudit, correlationId } = intent;
  const { amountCents, currency, acquirer } = intent;
  const { status, gatewayStatusCode, responseCode, authorisationCode, preauthorisationCode } = outcome;
  const { networkTransactionId } = outcome;
  // guard(seal of an outcome: bound to its transaction): ${organisationId}\n${merchantId}\n${audit} ⇒ -
  // guard(seal of an outcome: bound to the correlation ID): ${correlationId} ⇒ -
  const found = `${organisationId}\n${merchantId}\n${audit}\n${correlationId}`;
  // guard(seal of an outcome: bound to amount and link): ${amountCents}\n${currency}\n${acquirer} ⇒ -
  const paid = `${transactionType}\n${targetAudit ?? ''}\n${amountCents}\n${currency}\n${acquirer}`;
  // guard(seal of an outcome: bound to the status): ${status}\n${gatewayStatusCode} ⇒ -
  // guard(seal of an outcome: bound to the acquirer’s codes): ${responseCode ?? ''}\n${authorisationCode ?? ''}\n${preauthorisationCode ?? ''} ⇒ -
  const answered = `${status}\n${gatewayStatusCode}\n${responseCode ?? ''}\n${authorisationCode ?? ''}\n${preauthorisationCode ?? ''}`;
  const words = `outcome\n${found}\n${paid}\n${answered}`;
  // Most have none, and no seal of an earlier release has one.
  return networkTransactionId === undefined || networkTransactionId === null
    ? words
    : `${words}\n${networkTransactionId}`;
}

/** What is new of a transaction of an earlier release, whose seals were bound to less. */
export interface Resealed {
  readonly stored: StoredOutcome;
  readonly keyVersion: number | null;
  readonly outcomeSeal?: Buffer | undefined;
  readonly details?: Buffer | undefined;
  readonly attested?: Buffer | undefined;
}
