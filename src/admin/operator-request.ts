// A request of an operator: what it says, what it has come to, and how it is known again.
import { createHash } from 'node:crypto';
import type { Queryable } from '../postgres/database.js';
import { containsCardNumber } from '../values/card-in-text.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { moneyText } from '../values/money.js';
import { refuse } from '../values/refusal.js';
import { sydneyTimestamp } from '../values/sydney.js';
import { REQUEST_BY_CORRELATION_ID } from './operator-requests.sql.js';

export type OperatorsOperation = 'void' | 'refund' | 'completion';

/** What was asked for, and what has become of it. */
export interface OperatorRequest {
  readonly request: number;
  readonly organisation: number;
  readonly merchant: number;
  readonly operation: OperatorsOperation;
  readonly targetAudit: number;
  readonly amountCents: number;
  readonly currency: string;
  readonly reason: string;
  readonly requestedBy: string;
  readonly requested: string;
  /** `approved`, and not done: whoever approves it again has it done. */
  readonly state: 'ready' | 'waiting' | 'approved' | 'refused' | 'expired' | 'failed' | 'done';
  readonly expires: string | null;
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
    'request' | 'requested' | 'expires' | 'decided' | 'organisation' | 'merchant'
  > {
  readonly id: number;
  readonly organisation: OrganisationId;
  readonly merchant: MerchantId;
  readonly requestedMs: number;
  readonly expiresMs: number | null;
  readonly decidedMs: number | null;
  readonly correlationId: string;
}

const LONGEST_REASON = 200;

/** Under the same key, the same: the database lets nobody use it for two transactions. */
export function correlationIdOf(organisationId: OrganisationId, key: string): string {
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

export function viewOf(row: RequestRow): OperatorRequest {
  const { id, requestedMs, expiresMs, decidedMs, correlationId: _, ...rest } = row;
  return {
    ...rest,
    request: id,
    requested: sydneyTimestamp(requestedMs),
    expires: expiresMs === null ? null : sydneyTimestamp(expiresMs),
    decided: decidedMs === null ? null : sydneyTimestamp(decidedMs),
  };
}

/** For the journal: what was asked for, of which transaction, and why. */
export function inWords({
  operation,
  targetAudit,
  amountCents,
  currency,
  reason,
  decidedBy,
}: RequestRow): string {
  const approved = decidedBy === null ? '' : `, approved by ${decidedBy}`;
  return `${operation} of ${targetAudit}, ${moneyText(amountCents, currency)}: ${reason}${approved}`;
}

export function checkedReason(text: string): string {
  const reason = text.trim();
  const allowed = reason.length >= 1 && reason.length <= LONGEST_REASON && !/\p{C}/u.test(reason);
  if (!allowed || containsCardNumber(reason)) refuse('reason_not_allowed');
  return reason;
}
