// A request of an operator: what it says, what it has come to, and how it is known again.
import { createHash, createHmac } from 'node:crypto';
import { type CredentialKey, sameBytes } from '../../organisations/users/credentials.js';
import type { Queryable } from '../../postgres/database.js';
import { containsCardNumber } from '../../values/card.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import { moneyText } from '../../values/money.js';
import { Refusal, refuse } from '../../values/refusal.js';
import { sydneyTimestamp } from '../../values/time.js';
import { LIST_REQUESTS, REQUEST_BY_CORRELATION_ID } from './operator-requests.sql.js';

export type OperatorsOperation = 'void' | 'refund' | 'completion';

/** What was asked for, and what has become of it. */
export interface OperatorRequest {
  readonly request: number;
  readonly kind: 'transaction';
  readonly organisation: number;
  readonly merchant: number;
  readonly operation: OperatorsOperation;
  /** For people. */
  readonly what: string;
  readonly targetAudit: number;
  readonly amountCents: number;
  readonly currency: string;
  readonly reason: string;
  readonly requestedBy: string;
  readonly requested: string;
  /** `ready` and `approved`: a gateway carries it out, or has begun to. */
  readonly state: 'ready' | 'waiting' | 'approved' | 'refused' | 'expired' | 'failed' | 'done';
  readonly expires: string | null;
  /** From then on whoever asked may approve it, because nobody else could. */
  readonly aloneFrom: string | null;
  readonly decidedBy: string | null;
  readonly decided: string | null;
  readonly decisionReason: string | null;
  readonly failure: string | null;
  /** Of the new transaction. */
  readonly audit: number | null;
  readonly status: string | null;
  readonly responseCode: string | null;
  readonly responseMessage: string | null;
}

export interface RequestRow
  extends Omit<
    OperatorRequest,
    | 'request'
    | 'kind'
    | 'what'
    | 'requested'
    | 'expires'
    | 'aloneFrom'
    | 'decided'
    | 'organisation'
    | 'merchant'
  > {
  readonly id: number;
  readonly organisation: OrganisationId;
  readonly merchant: MerchantId;
  readonly requestedMs: number;
  readonly expiresMs: number | null;
  readonly aloneFromMs: number | null;
  readonly decidedMs: number | null;
  readonly correlationId: string;
  /** Where it was asked for from. */
  readonly address: string | null;
  /** The operators as they were when their rights were checked; null for an account of the system. */
  readonly requesterVersion: number | null;
  readonly approverVersion: number | null;
  readonly seal: Buffer | null;
}

/** Everything that the seal covers. */
export type SealedRequest = Pick<
  RequestRow,
  | 'organisation'
  | 'merchant'
  | 'targetAudit'
  | 'operation'
  | 'amountCents'
  | 'currency'
  | 'reason'
  | 'requestedBy'
  | 'requesterVersion'
  | 'address'
  | 'correlationId'
  | 'state'
  | 'expiresMs'
  | 'aloneFromMs'
  | 'decidedBy'
  | 'approverVersion'
>;

const LONGEST_REASON = 200;

/** Under the same key, the same: the database lets nobody use it for two transactions. */
export function correlationIdOf(organisationId: OrganisationId, key: string): string {
  // guard(operator: the same key is the same correlation ID): ` ⇒ String(Math.random())).update(`
  const digest = createHash('sha256').update(`operator request\n${organisationId}\n${key}`).digest('hex');
  return `operator-${digest.slice(0, 32)}`;
}

export async function requestUnder(
  database: Queryable,
  organisationId: OrganisationId,
  correlationId: string,
): Promise<RequestRow | undefined> {
  const values = [organisationId, correlationId];
  return (await database.query<RequestRow>(REQUEST_BY_CORRELATION_ID, values)).rows[0];
}

/** Whoever can only write to the database can neither make a request up, nor change one, nor approve it. */
export function sealOf(key: CredentialKey, request: SealedRequest): Buffer {
  const parts = [
    request.organisation,
    request.merchant,
    request.targetAudit,
    request.operation,
    request.amountCents,
    request.currency,
    request.reason,
    request.requestedBy,
    request.requesterVersion,
    request.address,
    request.correlationId,
    request.state,
    request.expiresMs,
    request.decidedBy,
    request.approverVersion,
    ...(request.aloneFromMs === null ? [] : [request.aloneFromMs]),
  ];
  return createHmac('sha256', key.keyFor('operator requests')).update(JSON.stringify(parts)).digest();
}

export function isSealed(key: CredentialKey, request: RequestRow): boolean {
  return request.seal !== null && sameBytes(sealOf(key, request), request.seal);
}

/** Those that can still come to something, each with whether it is as it was sealed. */
export async function verifyRequests(
  database: Queryable,
  key: CredentialKey,
): Promise<{ readonly subject: string; readonly isRight: boolean }[]> {
  const { rows } = await database.query<RequestRow>(LIST_REQUESTS, [null, null, true, null]);
  return rows.map((row) => ({ subject: `request/${row.id}`, isRight: isSealed(key, row) }));
}

export function viewOf(row: RequestRow): OperatorRequest {
  const { expiresMs, aloneFromMs, decidedMs } = row;
  return {
    request: row.id,
    kind: 'transaction',
    organisation: row.organisation,
    merchant: row.merchant,
    operation: row.operation,
    what: whatIsAsked(row),
    targetAudit: row.targetAudit,
    amountCents: row.amountCents,
    currency: row.currency,
    reason: row.reason,
    requestedBy: row.requestedBy,
    requested: sydneyTimestamp(row.requestedMs),
    state: row.state,
    expires: expiresMs === null ? null : sydneyTimestamp(expiresMs),
    aloneFrom: aloneFromMs === null ? null : sydneyTimestamp(aloneFromMs),
    decidedBy: row.decidedBy,
    decided: decidedMs === null ? null : sydneyTimestamp(decidedMs),
    decisionReason: row.decisionReason,
    failure: row.failure,
    audit: row.audit,
    status: row.status,
    responseCode: row.responseCode,
    responseMessage: row.responseMessage,
  };
}

/** For the journal: what was asked for, of which transaction, and why. */
export function inWords(request: RequestRow): string {
  const approved = request.decidedBy === null ? '' : `, approved by ${request.decidedBy}`;
  return `${whatIsAsked(request)}: ${request.reason}${approved}`;
}

export function whatIsAsked({
  operation,
  targetAudit,
  amountCents,
  currency,
}: Pick<RequestRow, 'operation' | 'targetAudit' | 'amountCents' | 'currency'>): string {
  return `${operation} of ${targetAudit}, ${moneyText(amountCents, currency)}`;
}

/** Why a gateway could not carry one out, by what is stored in `failure`. */
const FAILURES = {
  merchant_suspended: ({ merchant }) => new Refusal('merchant_suspended', { merchant }),
  transaction_not_completable: ({ targetAudit: audit }) =>
    new Refusal('transaction_not_completable', { audit }),
  transaction_not_refundable: ({ targetAudit: audit }) =>
    new Refusal('transaction_not_refundable', { audit }),
  transaction_not_voidable: ({ targetAudit: audit }) => new Refusal('transaction_not_voidable', { audit }),
  transaction_not_found: ({ targetAudit: audit }) => new Refusal('transaction_not_found', { audit }),
  completion_exceeds_rest: ({ targetAudit: audit }) => new Refusal('completion_exceeds_rest', { audit }),
  acquirer_gone: ({ targetAudit: audit }) => new Refusal('acquirer_gone', { audit }),
  request_altered: ({ id }) => new Refusal('request_altered', { request: id }),
  request_of_changed_operator: ({ id }) => new Refusal('request_of_changed_operator', { request: id }),
} satisfies Record<string, (request: RequestRow) => Refusal>;

export type Failure = keyof typeof FAILURES;

export function refusalOf(request: RequestRow): Refusal {
  const failure = FAILURES[request.failure as Failure] as ((of: RequestRow) => Refusal) | undefined;
  return failure?.(request) ?? new Refusal('not_processed', undefined);
}

export function checkedReason(text: string): string {
  const reason = text.trim();
  const allowed = reason.length >= 1 && reason.length <= LONGEST_REASON && !/\p{C}/u.test(reason);
  if (!allowed || containsCardNumber(reason)) refuse('reason_not_allowed');
  return reason;
}
