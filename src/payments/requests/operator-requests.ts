// What operators ask for with money: voids, refunds and completions, each with a reason. Whatever is asked for is stored under a key
// before anything happens, so that asked again it is the same request, and can never become two transactions. A gateway that runs
// carries it out (`request-runner.ts`); whoever has asked waits for what comes of it. This room owns the table.
import { setTimeout as sleep } from 'node:timers/promises';
import { runningGateways } from '../../acquirers/running-gateways.js';
import { gatewayTime } from '../../clock/gateway-clock.js';
import { signerOf } from '../../journal/entry-signer.js';
import { journal } from '../../journal/journal.js';
import { findActingOperator } from '../../operators/operators.js';
import { Acquaintance } from '../../operators/second-person/independence.js';
import { needsApproval, readRules } from '../../operators/second-person/rules.js';
import { ALONE_MS, WAITING_MS } from '../../operators/second-person/task-requests.js';
import { databaseTime } from '../../operators/sessions.js';
import { needOrganisationHere } from '../../organisations/sealed-organisation.js';
import { type Caller, callerFor } from '../../organisations/users/callers.js';
import type { CredentialKey } from '../../organisations/users/credentials.js';
import type { Database, Queryable } from '../../postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import { Refusal, refuse } from '../../values/refusal.js';
import { showTransaction } from '../finding/listed-transactions.js';
import { Lookup } from '../finding/lookup.js';
import { completableCents, refundableCents, voidable } from '../target-rules.js';
import type { Transaction } from '../transaction.js';
import {
  checkedReason,
  correlationIdOf,
  inWords,
  type OperatorRequest,
  type OperatorsOperation,
  type RequestRow,
  refusalOf,
  requestUnder,
  sealOf,
  viewOf,
} from './operator-request.js';
import {
  ASKED_ALREADY,
  LOCK_REQUESTS_OF_TARGET,
  OPERATOR_NUMBER,
  STORE_REQUEST,
} from './operator-requests.sql.js';

export interface RequestMeans {
  /** Requests are sealed under it. */
  readonly key: CredentialKey;
  /** So long the outcome is waited for. */
  readonly patienceMs: number;
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

/** A request that no gateway has begun by then has expired: nobody expects it any more. */
export const TO_BE_DONE_MS = 5 * 60_000;
/** Beyond the acquirer's own time. */
const FURTHER_PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 100;
const ALONE = { maxBatch: 1, lanes: 1 };

/** Of a console, or a command, by what its settings say. */
export function requestMeans(
  key: CredentialKey,
  { acquirerDeadlineMs }: { readonly acquirerDeadlineMs: number },
): RequestMeans {
  return { key, patienceMs: acquirerDeadlineMs + FURTHER_PATIENCE_MS };
}

/** Has it done at once, unless a second person has to approve it. Under the same key, what the first time has come to is shown again. */
export async function requestOperation(
  database: Database,
  operator: string,
  means: RequestMeans,
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
    request = await storeRequest(database, asked, means);
    checkSame(request, { ...wish, amountCents });
  }
  return outcomeOf(database, request, means.patienceMs);
}

/** What has become of it. Where that is not known in time, the request as it is then. */
export async function outcomeOf(
  database: Queryable,
  request: RequestRow,
  patienceMs: number,
): Promise<OperatorRequest> {
  const untilMs = performance.now() + patienceMs;
  try {
    for (let now = request; ; now = await storedRequest(database, now)) {
      if (now.state === 'failed') throw refusalOf(now);
      const isUnderWay = now.state === 'ready' || now.state === 'approved' || now.status === 'unknown';
      if (!isUnderWay || performance.now() > untilMs) return viewOf(now);
      await sleep(LOOK_EVERY_MS);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    // Whatever went wrong, it may have been done before that.
    throw new Refusal('request_outcome_unknown', { reason: (error as Error).message });
  }
}

/** Nothing is stored that nobody could carry out: it would lie there, and be done when nobody expects it. */
export async function needGateway(database: Queryable): Promise<void> {
  if ((await runningGateways(database)).length === 0) refuse('no_gateway_running');
}

/** The version of an operator who may act; null of an account of the system. */
export async function actingVersion(
  database: Queryable,
  key: CredentialKey,
  actor: string,
): Promise<number | null> {
  return isAccount(actor) ? null : (await findActingOperator(database, operatorIn(actor), key)).version;
}

/** As the journal names those who act where there are no operators. */
export function isAccount(actor: string): boolean {
  return actor.startsWith('operator:account:');
}

/** The name of the operator whom the journal names so. */
export function operatorIn(actor: string): string {
  return actor.replace(/^operator:/, '');
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
  { key }: RequestMeans,
): Promise<RequestRow> {
  const { organisationId, merchantId, audit, currency } = target;
  const address = (await signerOf(database))?.address ?? null;
  return database.transaction(async (connection) => {
    await connection.query(LOCK_REQUESTS_OF_TARGET, [organisationId, audit]);
    const { rows } = await connection.query<{ cents: number }>(ASKED_ALREADY, [
      organisationId,
      audit,
      operator,
    ]);
    // guard(four eyes: what the same operator asks for counts together): ( ⇒ 0 * (
    const togetherCents = amountCents + (rows[0]?.cents ?? 0);
    const waits = needsApproval(await readRules(connection), currency, togetherCents);
    const nowMs = await databaseTime(connection);
    const needed = { role: 'operator', organisation: organisationId } as const;
    const isAlone = waits && !(await Acquaintance.of(connection, key)).hasAnother(operator, needed);
    const aloneMs = isAlone ? ALONE_MS : 0;
    // guard(operator: nothing is stored that no gateway could carry out): if (!waits) await needGateway(connection); ⇒
    if (!waits) await needGateway(connection);
    // In the order of the statement.
    const asked = {
      organisation: organisationId,
      merchant: merchantId,
      targetAudit: audit,
      operation,
      amountCents,
      currency,
      reason,
      requestedBy: operator,
      correlationId,
      state: waits ? 'waiting' : 'ready',
      expiresMs: nowMs + (waits ? WAITING_MS + aloneMs : TO_BE_DONE_MS),
      aloneFromMs: isAlone ? nowMs + ALONE_MS : null,
      address,
      requesterVersion: await actingVersion(connection, key, operator),
    } as const;
    const seal = sealOf(key, { ...asked, decidedBy: null, approverVersion: null });
    const { count } = await connection.query(STORE_REQUEST, [...Object.values(asked), seal]);
    const request = await requestUnder(connection, organisationId, correlationId);
    if (request === undefined) throw new Error('a request that was stored is not there');
    if (waits && count > 0) {
      const alone = isAlone ? '; nobody else can approve it yet, so it waits for a day' : '';
      const detail = `request ${request.id}: ${inWords(request)}${alone}`;
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
  // guard(operator: a key stands for one thing): || (wish.operation !== 'void' && (wish.amountCents ?? amountCents) !== amountCents) ⇒ && targetAudit === 0
  if (!isSame || (wish.operation !== 'void' && (wish.amountCents ?? amountCents) !== amountCents))
    refuse('request_key_used', { audit: targetAudit, operation });
}

export async function targetOf(
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
  await needOrganisationHere(database, target.organisationId);
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

/** An operator who acts on behalf of a merchant, as the pipeline of payments knows its callers. */
export async function callerOf(
  database: Queryable,
  operator: string,
  { organisationId, merchantId }: Transaction,
): Promise<Caller> {
  const { rows } = await database.query<{ id: number }>(OPERATOR_NUMBER, [operatorIn(operator)]);
  return callerFor(
    database,
    { organisationId, merchantId },
    // Users have positive numbers. An account of the system has none: the journal names it.
    { username: operator, userId: -(rows[0]?.id ?? 0) },
  );
}
