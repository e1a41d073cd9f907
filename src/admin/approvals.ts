// Four eyes: what an operator has asked for above the limit waits for a second person, who approves or refuses it. The database decides
// who was in time; what was approved is done once, by whoever comes first.
import { type JournalAction, journal } from '../journal/journal.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { Audit } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { checkedReason, inWords, type OperatorRequest, type RequestRow, viewOf } from './operator-request.js';
import { type OperatorsPipeline, perform } from './operator-requests.js';
import {
  APPROVE_REQUEST,
  LIST_REQUESTS,
  OPERATOR_NUMBER,
  REFUSE_REQUEST,
  REQUEST_BY_ID,
} from './operator-requests.sql.js';

export interface RequestsWish {
  /** Of all of them, where none is named. */
  readonly organisation?: number | undefined;
  /** About this transaction. */
  readonly audit?: number | undefined;
  /** Also those that nobody waits for any more. */
  readonly all?: boolean | undefined;
  readonly limit: number;
}

export interface Decision {
  readonly request: number;
  /** Where the operator may see only this one. */
  readonly organisation?: number | undefined;
  readonly reason?: string | undefined;
}

/** What was approved has to be done by then. */
const TO_BE_DONE_MS = 3_600_000;

/** The newest first. */
export async function listRequests(
  database: Queryable,
  { organisation, audit, all = false, limit }: RequestsWish,
): Promise<OperatorRequest[]> {
  const values = [organisation ?? null, audit ?? null, !all, limit];
  return (await database.query<RequestRow>(LIST_REQUESTS, values)).rows.map(viewOf);
}

/** And has it done. Where it was approved and not done, because whoever approved it has died, it is done now. */
export async function approveRequest(
  database: Database,
  operator: string,
  pipeline: OperatorsPipeline,
  decision: Decision,
): Promise<OperatorRequest> {
  // An account of the system may be anybody's.
  const name = operator.replace(/^operator:/, '');
  const { rows } = await database.query<{ removed: boolean }>(OPERATOR_NUMBER, [name]);
  if (rows[0]?.removed !== false) refuse('approval_needs_operator');
  const request = await decide(database, operator, decision, 'approval.approved', APPROVE_REQUEST, [
    TO_BE_DONE_MS,
  ]);
  if (request.state === 'done') return viewOf(request);
  if (request.state === 'waiting') refuse('request_of_same_operator', { request: request.id });
  if (request.state !== 'approved') refuse('request_decided', { request: request.id, state: request.state });
  return perform(database, pipeline, request);
}

/** Also by whoever made it, who takes it back. */
export async function refuseRequest(
  database: Database,
  operator: string,
  decision: Decision,
): Promise<OperatorRequest> {
  const request = await decide(database, operator, decision, 'approval.refused', REFUSE_REQUEST, []);
  if (request.state !== 'refused') refuse('request_decided', { request: request.id, state: request.state });
  return viewOf(request);
}

/** The request as it is after that, whether this operator has decided it or not. */
function decide(
  database: Database,
  operator: string,
  { request: id, organisation, reason }: Decision,
  action: JournalAction,
  statement: typeof APPROVE_REQUEST,
  further: readonly unknown[],
): Promise<RequestRow> {
  const given = reason === undefined ? null : checkedReason(reason);
  return database.transaction(async (connection) => {
    const find = async () =>
      (await connection.query<RequestRow>(REQUEST_BY_ID, [id, organisation ?? null])).rows[0] ??
      refuse('request_not_found', { request: id });
    const { organisation: organisationId, merchant: merchantId, targetAudit, correlationId } = await find();
    const values = [organisationId, id, operator, given, ...further];
    const { count } = await connection.query(statement, values);
    const request = await find();
    if (count === 0) return request;
    const about = { organisationId, merchantId, audit: targetAudit as Audit, correlationId };
    const why = given === null ? '' : ` (${given})`;
    const detail = `request ${id}${why}: ${inWords({ ...request, decidedBy: null })}, asked for by ${request.requestedBy}`;
    await journal(connection, { actor: operator, action, ...about, detail });
    return request;
  });
}
