// What a transaction is, before and after its two commits: what an acquirer's answer makes of it, what it is called towards its
// acquirer, and what its seals say.
import type { AcquirerResponse, Answer, Decision, MoneyOperation, Prepared } from '../acquirers/contract.js';
import type { Pricing } from '../plugins/contract.js';
import { type DirectDebitMode, directDebitMode, type ShownBankAccount } from '../values/bank-account.js';
import type { Audit, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { Cents } from '../values/money.js';
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

/** `gateway_status_code`, and the message that goes with it. */
export const GATEWAY_STATUS = {
  processed: 0,
  notSent: 1,
  reversed: 2,
  acquirerFault: 3,
  unknown: -99,
} as const;
export type GatewayStatusCode = (typeof GATEWAY_STATUS)[keyof typeof GATEWAY_STATUS];

/** What the acquirer said, or what became clear without it. */
export interface Outcome {
  readonly status: TransactionStatus;
  readonly gatewayStatusCode: GatewayStatusCode;
  readonly responseCode?: string;
  readonly responseMessage?: string;
  readonly settlementDate?: string;
  readonly authorisationCode?: string;
  readonly preauthorisationCode?: string;
  readonly voidableUntilMs?: number;
}

/** What commit A makes durable. */
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
  /** Keys without the gateway's prefix. */
  readonly kvps: Kvps;
  /** Where a plugin has decided something. */
  readonly pricing?: Pricing;
  readonly acquirer: string;
  /** What its link wants to have at hand for inquiries and reversals. */
  readonly prepared?: Prepared;
  readonly completableUntilMs?: number;
}

/** An intent with a payment method of its own, as commit A stores it. */
export interface DirectClaim extends Intent {
  /** The payment details, of a card or of a bank account. */
  readonly sealed: Buffer;
  readonly keyVersion: number;
  /** The token that was opened for it, by whom and from where: for the journal. */
  readonly tokenId?: TokenId;
  readonly username: string;
  readonly address: string;
  readonly userId: number;
  readonly inFlight: InFlightRequest;
}

/** A token that was opened for a claim, as the journal tells of it. */
export interface OpenedToken {
  readonly claim: DirectClaim;
  readonly mac: Buffer | undefined;
}

/** A claim on a target. What it leaves out (a void has no amount), and the payment method, come from the target. */
export interface TargetedClaim {
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  readonly merchantId: MerchantId;
  readonly transactionType: 'completion' | 'refund' | 'void';
  readonly correlationId: string;
  readonly createdMs: number;
  /** What was paid by card before that is not refunded any more. */
  readonly refundableFromMs: number;
  readonly reference: string;
  readonly targetAudit: Audit;
  readonly amountCents?: Cents;
  readonly currency?: string;
  readonly kvps: Kvps;
  readonly pricing?: Pricing;
  readonly prepared?: Prepared;
  /** Of what it asks. */
  readonly attestation: Buffer;
  readonly userId: number;
  readonly inFlight: InFlightRequest;
  /** Where no user has asked for it. */
  readonly byOperator?: AskedByOperator;
}

/** What an operator has asked for, as the journal tells of it. */
export interface AskedByOperator {
  readonly actor: string;
  readonly address: string | undefined;
  /** Of which transaction, how much, and why. */
  readonly detail: string;
  /** By the database's clock: afterwards it is not claimed any more. */
  readonly untilMs: number;
}

export interface OperatorsClaim extends AskedByOperator {
  readonly claim: TargetedClaim;
  readonly mac: Buffer | undefined;
}

/** A payment that goes over another link than the one that it was claimed for. */
export interface Move {
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  /** The link that it was certainly not sent over. */
  readonly before: string;
  readonly acquirer: string;
  readonly prepared: Prepared;
}

/** The same, as the journal tells of it. */
export interface JournalledMove extends Move {
  readonly detail: string;
  readonly mac: Buffer | undefined;
}

/** What names a transaction in doubt, and its target. */
export type InDoubt = Pick<Intent, 'organisationId' | 'audit' | 'targetAudit'>;

/** What commit B stores. */
export interface Recording {
  readonly organisationId: OrganisationId;
  readonly intent: InDoubt;
  readonly outcome: Outcome;
  /** 0 for the answer to the request itself, the resolver's attempt otherwise. */
  readonly attempt: number;
}

/** What commit B stores of a transaction that was in doubt. */
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

/** What the plugins and the link have decided: one column of a batch for both, since most transactions have neither. */
export function storedDecisions({ pricing, prepared }: Pick<Intent, 'pricing' | 'prepared'>): unknown {
  return pricing === undefined && prepared === undefined ? undefined : { pricing, prepared };
}

/** Which way the money of a direct debit goes. A void moves none. */
export function directdebitMode({ bankAccount, transactionType }: Transaction): DirectDebitMode | undefined {
  if (bankAccount === undefined || transactionType === 'void') return undefined;
  return directDebitMode(transactionType);
}

/**
 * Until when a voidable transaction can be voided. A direct debit whose file was not made in time goes with the next
 * one, and can be voided until then.
 */
export function voidableUntilMs({ voidableUntilMs: untilMs = 0 }: Transaction, nowMs: number): number {
  return untilMs > nowMs ? untilMs : settlementCutOff(settlementDay(nowMs));
}

type Decided = Exclude<Answer, { kind: 'unknown' }>;

/** Until when it can be voided is decided here, for claims, links and refusals alike: they look at what is stored. */
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
        // A hold can be released for as long as it can be completed; nothing of it settles.
        voidableUntilMs: completableUntilMs ?? settlementCutOff(settlementDate),
        ...response,
        settlementDate,
      };
    }
    case 'pending': {
      // The day's file is made when the day closes: until then it can be voided.
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

/** Undefined where nothing can be made of the answer: the money may have moved, and somebody has to find out. */
export function readableOutcome(...answered: Parameters<typeof outcomeOf>): Outcome | undefined {
  try {
    return outcomeOf(...answered);
  } catch {
    return undefined;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/g;

/** The acquirer's words without a settlement date that is not in the calendar. */
function responseOf(decision: Decision): AcquirerResponse {
  const { authorisationCode, preauthorisationCode, settlementDate } = decision;
  return {
    responseCode: printable(decision.responseCode),
    responseMessage: printable(decision.responseMessage),
    ...(authorisationCode !== undefined && { authorisationCode: printable(authorisationCode) }),
    ...(preauthorisationCode !== undefined && { preauthorisationCode: printable(preauthorisationCode) }),
    ...(settlementDate !== undefined && isDate(settlementDate) && { settlementDate }),
  };
}

/** Without control characters, since columns of texts are told apart by one. */
function printable(text: string): string {
  return text.replace(CONTROL, '');
}

function isDate(text: string): boolean {
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().slice(0, 10) === text;
}

/** What is said of a direct debit that nobody has returned in time. */
export const CLEARED = { responseCode: '00', responseMessage: 'Cleared' } as const;

/** Nothing has left the gateway. */
export const NOT_SENT: Outcome = { status: 'error', gatewayStatusCode: GATEWAY_STATUS.notSent };

/** The acquirer could not confirm it, and has undone whatever it may have done. */
export const REVERSED: Outcome = { status: 'error', gatewayStatusCode: GATEWAY_STATUS.reversed };

/** What a transaction is called towards its acquirer. Unique across installations, and derived: never stored, so never lost. */
export type AcquirerReference = (organisationId: OrganisationId, audit: Audit) => string;

/** The audit of the transaction that is called so. */
export function auditOf(reference: string): Audit {
  return Number(reference.slice(reference.lastIndexOf('-') + 1)) as Audit;
}

/** The installation is that of the database in which the process is registered. */
export function acquirerReferences(registry: { readonly installation: string }): AcquirerReference {
  return (organisationId, audit) => `${registry.installation}-${organisationId}-${audit}`;
}

type Attested = Pick<
  TargetedClaim,
  'organisationId' | 'merchantId' | 'audit' | 'targetAudit' | 'amountCents' | 'currency'
> & { readonly transactionType: string };

/**
 * What is asked of an earlier transaction, in the words that are attested when it is asked. Whoever acts on it later, by what is stored,
 * holds the row against it: which target, how much, in which currency.
 */
export function attestedWords(asked: Attested): string {
  const { organisationId, merchantId, audit, transactionType, targetAudit, amountCents, currency } = asked;
  const what = `${transactionType}/${targetAudit}/${amountCents ?? ''}/${currency ?? ''}`;
  return `transaction/${organisationId}/${merchantId}/${audit}/${what}`;
}

/** What the seal of payment details is bound to: what was asked for with them. */
export interface PaymentSeal {
  readonly audit: Audit;
  readonly transactionType: string;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly paymentMethod: 'card' | 'bank_account';
}

/**
 * The field is called as it was when only cards were sealed. Every ciphertext is bound to these words: with another, nothing that
 * is stored would open.
 */
export function paymentDetailsPlace({ organisationId, merchantId }: SealOwner, payment: PaymentSeal): Place {
  const { audit, transactionType, amountCents, currency, paymentMethod } = payment;
  // guard(direct debit: for the amount that was asked for): ${amountCents} ⇒ -
  const says = `${transactionType}/${amountCents}/${currency}/${paymentMethod}`;
  return { table: 'transaction', organisationId, merchantId, row: audit, field: 'card', says };
}
