// What operators ask for with money: voids, refunds and completions, each with a reason. Whatever is asked for is stored under a key
// before anything happens, so that asked again it is the same request, and can never become two transactions. This room owns the table.
import { journal } from '../journal/journal.js';
import { penOf } from '../journal/pen.js';
import { actingMerchant } from '../merchants/callers.js';
import { operatorAsCaller } from '../merchants/operator-as-caller.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { TargetedWish } from '../transactions/command.js';
import { gatewayTime } from '../transactions/gateway-clock.js';
import { Lookup } from '../transactions/lookup.js';
import { completableCents, refundableCents, voidable } from '../transactions/target-rules.js';
import type { Transaction } from '../transactions/transaction.js';
import { Fault, type FaultCode } from '../values/faults.js';
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import type { Cents } from '../values/money.js';
import { Refusal, refuse } from '../values/refusal.js';
import {
  checkedReason,
  correlationIdOf,
  inWords,
  type OperatorRequest,
  type OperatorsOperation,
  type RequestRow,
  requestUnder,
  viewOf,
} from './operator-request.js';
import {
  ASKED_ALREADY,
  FAIL_REQUEST,
  LOCK_REQUESTS_OF_TARGET,
  OPERATOR_NUMBER,
  STORE_REQUEST,
} from './operator-requests.sql.js';
import { showTransaction } from './transactions.js';

/** The pipeline of payments, as far as operators need it: the very same as requests go through. */
export interface OperatorsPipeline {
  /** `acquirer`: the link that the target went by. */
  create(wish: TargetedWish, acquirer: string): Promise<Transaction>;
}

export interface RequestMeans {
  readonly pipeline: OperatorsPipeline;
  /** More than so many cents need a second person. Undefined: nothing does. */
  readonly fourEyesAboveCents: number | undefined;
}

export interface OperatorsWish {
  readonly operation: OperatorsOperation;
  readonly audit: number;
  /** Where several have such an audit. */
  readonly organisation?: number | undefined;
  /** All that is left, where none is named. A void has none. */
  readonly amountCents?: number | undefined;
  readonly reason: string;
  /** Made up once for each thing that is wanted: under the same key it happens once. */
  readonly key: string;
}

/** A second person has so long to approve it. */
const WAITING_MS = 24 * 3_600_000;
const ALONE = { maxBatch: 1, lanes: 1 };

/** Done at once, unless a second person has to approve it. Under the same key, what the first time has come to is shown again. */
export async function requestOperation(
  database: Database,
  operator: string,
  { pipeline, fourEyesAboveCents }: RequestMeans,
  wish: OperatorsWish,
): Promise<OperatorRequest> {
  const reason = checkedReason(wish.reason);
  if (!/^[A-Za-z0-9_-]{16,64}$/.test(wish.key)) refuse('request_key_not_allowed');
  const shown = await showTransaction(database, wish.audit, wish.organisation);
  const organisationId = shown.organisation as OrganisationId;
  const correlationId = correlationIdOf(organisationId, wish.key);
  const before = await requestUnder(database, organisationId, correlationId);
  if (before !== undefined) checkSame(before, wish);
  let request = before;
  if (request === undefined || request.state === 'failed') {
    const target = await targetOf(
      database,
      organisationId,
      shown.merchant as MerchantId,
      wish.audit as Audit,
    );
    const amountCents = await allowedCents(database, operator, target, wish);
    const asked = { target, operator, reason, correlationId, operation: wish.operation, amountCents };
    request = await storeRequest(database, asked, fourEyesAboveCents);
    checkSame(request, { ...wish, amountCents });
  }
  return request.state === 'ready' ? perform(database, pipeline, request) : viewOf(request);
}

/** Exactly once, whoever tries how often: the correlation ID of the request decides. */
export async function perform(
  database: Database,
  pipeline: OperatorsPipeline,
  request: RequestRow,
): Promise<OperatorRequest> {
  try {
    return await attempt(database, pipeline, request);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    // Whatever went wrong, it may have been done before that.
    throw new Refusal('request_outcome_unknown', { reason: (error as Error).message });
  }
}

async function attempt(
  database: Database,
  pipeline: OperatorsPipeline,
  request: RequestRow,
): Promise<OperatorRequest> {
  const { organisation, merchant: merchantId, correlationId, operation, targetAudit, id } = request;
  const target = await targetOf(database, organisation, merchantId, targetAudit as Audit);
  try {
    const caller = await callerOf(database, request.requestedBy, target);
    const wish = {
      caller,
      address: '',
      merchant: actingMerchant(caller, merchantId),
      correlationId,
      reference: target.reference,
      kvps: {},
      targetAudit: target.audit,
      byOperator: {
        actor: request.requestedBy,
        address: (await penOf(database))?.address,
        detail: inWords(request),
      },
    };
    const amount = { amountCents: request.amountCents as Cents, currency: request.currency };
    await pipeline.create(
      operation === 'void' ? { operation, ...wish } : { operation, ...wish, ...amount },
      target.acquirer,
    );
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const now = await storedRequest(database, request);
    // Another has done it under the same key, or nobody knows yet what has become of it: both are there to be seen.
    if (now.audit !== null) return viewOf(now);
    const refusal = refusalOf(error, request);
    if (refusal.code !== 'not_processed')
      await database.query(FAIL_REQUEST, [organisation, id, refusal.code]);
    throw refusal;
  }
  return viewOf(await storedRequest(database, request));
}

interface Asked {
  readonly target: Transaction;
  readonly operator: string;
  readonly operation: OperatorsOperation;
  readonly amountCents: number;
  readonly reason: string;
  readonly correlationId: string;
}

/** One at a time for a target: what the same operator has asked for before counts together. */
async function storeRequest(
  database: Database,
  { target, operator, operation, amountCents, reason, correlationId }: Asked,
  fourEyesAboveCents: number | undefined,
): Promise<RequestRow> {
  const { organisationId, merchantId, audit, currency } = target;
  return database.transaction(async (connection) => {
    await connection.query(LOCK_REQUESTS_OF_TARGET, [organisationId, audit]);
    const { rows } = await connection.query<{ cents: number }>(ASKED_ALREADY, [
      organisationId,
      audit,
      operator,
    ]);
    const togetherCents = amountCents + (rows[0]?.cents ?? 0);
    const waits = fourEyesAboveCents !== undefined && togetherCents > fourEyesAboveCents;
    const { count } = await connection.query(STORE_REQUEST, [
      organisationId,
      merchantId,
      audit,
      operation,
      amountCents,
      currency,
      reason,
      operator,
      correlationId,
      waits ? 'waiting' : 'ready',
      waits ? WAITING_MS : null,
    ]);
    const request = await requestUnder(connection, organisationId, correlationId);
    if (request === undefined) throw new Error('a request that was stored is not there');
    if (waits && count > 0) {
      const detail = `request ${request.id}: ${inWords(request)}`;
      const entry = {
        actor: operator,
        action: 'approval.requested',
        organisationId,
        merchantId,
        audit,
      } as const;
      await journal(connection, { ...entry, correlationId, detail });
    }
    return request;
  });
}

async function storedRequest(database: Queryable, request: RequestRow): Promise<RequestRow> {
  return (await requestUnder(database, request.organisation, request.correlationId)) ?? request;
}

/** A key stands for one thing. */
function checkSame(
  request: RequestRow,
  wish: Pick<OperatorsWish, 'operation' | 'audit' | 'amountCents'>,
): void {
  const { operation, targetAudit, amountCents } = request;
  const isSame = operation === wish.operation && targetAudit === wish.audit;
  if (!isSame || (wish.operation !== 'void' && (wish.amountCents ?? amountCents) !== amountCents))
    refuse('request_key_used', { audit: targetAudit, operation });
}

async function targetOf(
  database: Database,
  organisationId: OrganisationId,
  merchantId: MerchantId,
  audit: Audit,
): Promise<Transaction> {
  const target = await new Lookup(database, 0, ALONE).byAudit({ organisationId }, audit, [merchantId]);
  return target ?? refuse('transaction_not_found', { audit });
}

/** What is asked for, if the target allows it as it is now. The claim decides, and may find it changed. */
async function allowedCents(
  database: Queryable,
  operator: string,
  target: Transaction,
  { operation, amountCents }: OperatorsWish,
): Promise<number> {
  const { audit, merchantId } = target;
  const { merchants } = await callerOf(database, operator, target);
  const merchant = merchants.get(merchantId) ?? refuse('merchant_not_found', { merchant: merchantId });
  if (merchant.suspended) refuse('merchant_suspended', { merchant: merchantId });
  const nowMs = await gatewayTime(database);
  if (operation === 'void') {
    if (!voidable(target, nowMs, merchant)) refuse('transaction_not_voidable', { audit });
    return target.amountCents;
  }
  if (operation === 'completion') {
    const leftCents = completableCents(target, nowMs, merchant);
    return amountCents ?? leftCents ?? refuse('transaction_not_completable', { audit });
  }
  const leftCents =
    refundableCents(target, nowMs, merchant) ?? refuse('transaction_not_refundable', { audit });
  if (amountCents !== undefined && amountCents > leftCents)
    refuse('refund_exceeds_rest', { audit, leftCents, currency: target.currency });
  return amountCents ?? leftCents;
}

/** An account of the system has no number: the journal names it. */
async function callerOf(database: Queryable, operator: string, { organisationId, merchantId }: Transaction) {
  const name = operator.replace(/^operator:/, '');
  const { rows } = await database.query<{ id: number }>(OPERATOR_NUMBER, [name]);
  return operatorAsCaller(database, { name: operator, id: rows[0]?.id ?? 0 }, organisationId, merchantId);
}

const REFUSALS: { readonly [Code in FaultCode]?: (request: RequestRow) => Refusal } = {
  merchant_suspended: ({ merchant }) => new Refusal('merchant_suspended', { merchant }),
  target_not_completable: ({ targetAudit: audit }) => new Refusal('transaction_not_completable', { audit }),
  target_not_refundable: ({ targetAudit: audit }) => new Refusal('transaction_not_refundable', { audit }),
  target_not_voidable: ({ targetAudit: audit }) => new Refusal('transaction_not_voidable', { audit }),
  transaction_not_found: ({ targetAudit: audit }) => new Refusal('transaction_not_found', { audit }),
  refund_exceeds_original: ({ targetAudit: audit }) => new Refusal('transaction_not_refundable', { audit }),
  completion_exceeds_preauthorisation: ({ targetAudit: audit }) =>
    new Refusal('completion_exceeds_rest', { audit }),
  priced_amount_too_large: ({ targetAudit: audit }) => new Refusal('completion_exceeds_rest', { audit }),
  no_acquirer: ({ targetAudit: audit }) => new Refusal('acquirer_gone', { audit }),
};

function refusalOf(error: Fault, request: RequestRow): Refusal {
  return REFUSALS[error.code]?.(request) ?? new Refusal('not_processed', undefined);
}
