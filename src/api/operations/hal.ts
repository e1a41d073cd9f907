// Transactions as responses, with their links.

import type { Merchant } from '../../organisations/users/callers.js';
import { declineAdvice, wantsAuthentication } from '../../payments/decline-advice.js';
import { completableCents, refundableCents, voidable } from '../../payments/target-rules.js';
import {
  directdebitMode,
  GATEWAY_STATUS,
  type GatewayStatusCode,
  type Transaction,
  voidableUntilMs,
} from '../../payments/transaction.js';
import type { Audit } from '../../values/ids.js';
import { KVP_REQUEST_PREFIX, KVP_RESPONSE_PREFIX } from '../../values/text.js';
import { sydneyTimestamp } from '../../values/time.js';
import type { CreatedTransaction, LookedUpTransaction } from './transaction-schemas.js';

/** Every address contains the major version. */
export const BASE_PATH = '/v1';

export function transactionPath(audit: Audit): string {
  return `${BASE_PATH}/transactions/${audit}`;
}

const MODE = `${KVP_RESPONSE_PREFIX}MODE`;
const LIMIT_REACHED = `${KVP_RESPONSE_PREFIX}LIMIT_REACHED`;

const GATEWAY_MESSAGES: Readonly<Record<GatewayStatusCode, string>> = {
  [GATEWAY_STATUS.processed]: 'Processed',
  [GATEWAY_STATUS.notSent]: 'The acquirer could not be reached; nothing was sent',
  [GATEWAY_STATUS.reversed]: 'No readable answer; reversed at the acquirer, nothing was charged',
  [GATEWAY_STATUS.acquirerFault]: 'The acquirer reported a fault of its own',
  [GATEWAY_STATUS.unknown]: 'Not known yet; being resolved',
};

/** The parts of a merchant that affect how its transactions are shown. */
type OfMerchant = Pick<Merchant, 'mode' | 'cardDays'>;

/** The response to a creating request, without the `transaction` object. */
export function createdTransaction(
  transaction: Transaction,
  merchant: OfMerchant,
  nowMs: number,
): CreatedTransaction {
  return {
    audit: transaction.audit,
    gateway_timestamp: sydneyTimestamp(transaction.createdMs),
    merchant: { id: transaction.merchantId },
    kvps: kvpsOf(transaction, merchant),
    status: statusOf(transaction),
    _links: linksOf(transaction, allowedNow(transaction, nowMs, merchant)),
  };
}

export function lookedUpTransaction(
  transaction: Transaction,
  merchant: OfMerchant,
  nowMs: number,
): LookedUpTransaction {
  const { targetAudit } = transaction;
  const directdebit_mode = directdebitMode(transaction);
  const allowed = allowedNow(transaction, nowMs, merchant);
  return {
    audit: transaction.audit,
    gateway_timestamp: sydneyTimestamp(transaction.createdMs),
    merchant: { id: transaction.merchantId },
    kvps: withAllowances(kvpsOf(transaction, merchant), transaction, allowed, nowMs),
    transaction: {
      reference: transaction.reference,
      transaction_type: transaction.transactionType,
      ...(targetAudit !== undefined && { target_audit: targetAudit }),
      amount_details: { total_amount: String(transaction.amountCents), currency: transaction.currency },
      ...paymentMethod(transaction),
      ...credential(transaction),
      ...(directdebit_mode !== undefined && { directdebit_mode }),
    },
    status: statusOf(transaction),
    _links: linksOf(transaction, allowed),
  };
}

/** For an event: without the payment method, and without the possible operations, which may have changed by the time it is read. */
export function eventTransaction(transaction: Transaction, merchant: Pick<Merchant, 'mode'>) {
  const { targetAudit } = transaction;
  const directdebit_mode = directdebitMode(transaction);
  return {
    audit: transaction.audit,
    gateway_timestamp: sydneyTimestamp(transaction.createdMs),
    merchant: { id: transaction.merchantId },
    kvps: kvpsOf(transaction, merchant),
    transaction: {
      reference: transaction.reference,
      transaction_type: transaction.transactionType,
      ...(targetAudit !== undefined && { target_audit: targetAudit }),
      amount_details: { total_amount: String(transaction.amountCents), currency: transaction.currency },
      ...(directdebit_mode !== undefined && { directdebit_mode }),
    },
    status: statusOf(transaction),
    _links: {
      self: { href: transactionPath(transaction.audit) },
      ...(targetAudit !== undefined && { target: { href: transactionPath(targetAudit) } }),
    },
  };
}

function paymentMethod({
  cardMask,
  cardType = '',
  bankAccount,
  cardholder,
}: Transaction): Pick<LookedUpTransaction['transaction'], 'payment_method'> {
  if (bankAccount !== undefined) {
    const { bsb, accountNumber: account_number, accountName: account_name } = bankAccount;
    return { payment_method: { bankaccount: { bsb, account_number, account_name } } };
  }
  if (cardMask === undefined) return {};
  const three_d_secure = cardholder?.threeDSecure;
  const creditcard = { pan: cardMask, type: cardType };
  return { payment_method: { creditcard: three_d_secure ? { ...creditcard, three_d_secure } : creditcard } };
}

function credential({ cardholder }: Transaction): Pick<LookedUpTransaction['transaction'], 'credential'> {
  if (cardholder?.credential === undefined) return {};
  const { initiator, reason, sequence, networkTransactionId: id } = cardholder.credential;
  const shown = { initiator, reason, sequence };
  return { credential: id === undefined ? shown : { ...shown, network_transaction_id: id } };
}

function statusOf(transaction: Transaction): CreatedTransaction['status'] {
  const { responseCode, responseMessage, settlementDate, authorisationCode, preauthorisationCode } =
    transaction;
  const acquirer: CreatedTransaction['status']['acquirer'] = {};
  if (responseCode !== undefined) acquirer.response_code = responseCode;
  if (responseMessage !== undefined) acquirer.response_message = responseMessage;
  if (settlementDate !== undefined) acquirer.settlement_date = settlementDate;
  if (authorisationCode !== undefined) acquirer.authorisation_code = authorisationCode;
  if (preauthorisationCode !== undefined) acquirer.preauthorisation_code = preauthorisationCode;
  const { networkTransactionId } = transaction;
  if (networkTransactionId !== undefined) acquirer.network_transaction_id = networkTransactionId;
  return {
    gateway_status_code: transaction.gatewayStatusCode,
    gateway_status_message: GATEWAY_MESSAGES[transaction.gatewayStatusCode],
    transaction_status_code: transaction.status,
    acquirer,
  };
}

/** What can be done next with a transaction. */
interface Allowed {
  readonly completableCents: number | undefined;
  readonly refundableCents: number | undefined;
  readonly voidable: boolean;
}

function allowedNow(transaction: Transaction, nowMs: number, merchant: OfMerchant): Allowed {
  return {
    completableCents: completableCents(transaction, nowMs, merchant),
    refundableCents: refundableCents(transaction, nowMs, merchant),
    voidable: voidable(transaction, nowMs, merchant),
  };
}

function linksOf({ audit, targetAudit }: Transaction, allowed: Allowed): CreatedTransaction['_links'] {
  const self = transactionPath(audit);
  const links: CreatedTransaction['_links'] = { self: { href: self } };
  if (targetAudit !== undefined) links.target = { href: transactionPath(targetAudit) };
  if (allowed.completableCents !== undefined) links.completion = { href: `${self}/completion` };
  if (allowed.refundableCents !== undefined) links.refund = { href: `${self}/refund` };
  if (allowed.voidable) links.void = { href: `${self}/void` };
  return links;
}

/** The request's KVPs, a note for play money, and one where a limit was reached that only watches. */
function kvpsOf({ kvps, pricing }: Transaction, { mode }: Pick<Merchant, 'mode'>): Record<string, string> {
  const prefixed: Record<string, string> = {};
  for (const key in kvps) prefixed[KVP_REQUEST_PREFIX + key] = kvps[key] as string;
  if (mode === 'test') prefixed[MODE] = mode;
  const reached = pricing?.decisions.limits as readonly string[] | undefined;
  if (reached !== undefined) prefixed[LIMIT_REACHED] = reached.join(',');
  return prefixed;
}

/** Adds the limits of the links, how much and until when, and what to do after a decline. */
function withAllowances(
  kvps: Record<string, string>,
  transaction: Transaction,
  { completableCents: completable, refundableCents: refundable, voidable: isVoidable }: Allowed,
  nowMs: number,
): Record<string, string> {
  if (refundable !== undefined) kvps[`${KVP_RESPONSE_PREFIX}REFUNDABLE_AMOUNT`] = String(refundable);
  if (completable !== undefined) {
    kvps[`${KVP_RESPONSE_PREFIX}COMPLETABLE_AMOUNT`] = String(completable);
    kvps[`${KVP_RESPONSE_PREFIX}COMPLETABLE_UNTIL`] = sydneyTimestamp(transaction.completableUntilMs ?? 0);
  }
  const advice = declineAdvice(transaction);
  if (advice !== undefined) kvps[`${KVP_RESPONSE_PREFIX}DECLINE_ADVICE`] = advice;
  if (advice !== undefined && wantsAuthentication(transaction))
    kvps[`${KVP_RESPONSE_PREFIX}AUTHENTICATION_REQUIRED`] = 'true';
  if (isVoidable) {
    kvps[`${KVP_RESPONSE_PREFIX}VOIDABLE_UNTIL`] = sydneyTimestamp(voidableUntilMs(transaction, nowMs));
  }
  return kvps;
}
