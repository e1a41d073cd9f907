// Four eyes: what an operator has asked for above the limit waits for a second person, who approves or refuses it. The database decides
// who was in time; what was approved is carried out by a gateway.
import { type JournalAction, journal } from '../../journal/journal.js';
import { permissionFor, permit } from '../../operators/operator-roles.js';
import { findActingOperator } from '../../operators/operators.js';
import { databaseTime } from '../../operators/sessions.js';
import type { CredentialKey } from '../../organisations/users/credentials.js';
import type { Database, Queryable, Statement } from '../../postgres/database.js';
import type { Permission } from '../../tasks/task.js';
import type { Audit } from '../../values/ids.js';
import { refuse } from '../../values/refusal.js';
import {
  checkedReason,
  inWords,
  isSealed,
  type OperatorRequest,
  type OperatorsOperation,
  type RequestRow,
  sealOf,
  viewOf,
} from './operator-request.js';
import {
  actingVersion,
  isAccount,
  needGateway,
  operatorIn,
  outcomeOf,
  type RequestMeans,
  TO_BE_DONE_MS,
} from './operator-requests.js';
import { APPROVE_REQUEST, LIST_REQUESTS, REFUSE_REQUEST, REQUEST_BY_ID } from './operator-requests.sql.js';

export interface RequestsWish {
  /** Of all of them, where none is named. */
  readonly organisation?: number | undefined;
  /** About this transaction. */
  readonly audit?: number | undefined;
  /** Also those that have come to their end. */
  readonly all?: boolean | undefined;
  readonly limit: number;
}

export interface Decision {
  readonly request: number;
  /** Where the operator may see only this one. */
  readonly organisation?: number | undefined;
  readonly reason?: string | undefined;
}

const PERMISSIONS: Readonly<Record<OperatorsOperation, Permission>> = {
  void: permissionFor('transaction void'),
  refund: permissionFor('transaction refund'),
  completion: permissionFor('transaction complete'),
};

/** The newest first. */
export async function listRequests(
  database: Queryable,
  { organisation, audit, all = false, limit }: RequestsWish,
): Promise<OperatorRequest[]> {
  const values = [organisation ?? null, audit ?? null, !all, limit];
  return (await database.query<RequestRow>(LIST_REQUESTS, values)).rows.map(viewOf);
}

/** And has it done. */
export async function approveRequest(
  database: Database,
  operator: string,
  { key, patienceMs }: Omit<RequestMeans, 'fourEyesAboveCents'>,
  decision: Decision,
): Promise<OperatorRequest> {
  // An account of the system may be anybody's.
  if (isAccount(operator)) refuse('approval_needs_operator');
  const request = await decide(
    database,
    operator,
    decision,
    'approval.approved',
    async (connection, found) => {
      await needGateway(connection);
      // guard(four eyes: nobody approves what was changed in the database): )) ⇒ ) && found.id === 0)
      if (!isSealed(key, found)) refuse('request_altered', { request: found.id });
      const approved = {
        ...found,
        state: 'approved',
        decidedBy: operator,
        expiresMs: (await databaseTime(connection)) + TO_BE_DONE_MS,
        requesterVersion: await requesterVersion(connection, key, found),
        approverVersion: await actingVersion(connection, key, operator),
      } as const;
      const { expiresMs, requesterVersion: requester, approverVersion: approver } = approved;
      return [APPROVE_REQUEST, expiresMs, requester, approver, sealOf(key, approved)];
    },
  );
  if (request.state === 'waiting') refuse('request_of_same_operator', { request: request.id });
  if (request.state !== 'approved' && request.state !== 'done')
    refuse('request_decided', { request: request.id, state: request.state });
  return outcomeOf(database, request, patienceMs);
}

/** Also by whoever made it, who takes it back. */
export async function refuseRequest(
  database: Database,
  operator: string,
  decision: Decision,
): Promise<OperatorRequest> {
  const request = await decide(database, operator, decision, 'approval.refused', async () => [
    REFUSE_REQUEST,
  ]);
  if (request.state !== 'refused') refuse('request_decided', { request: request.id, state: request.state });
  return viewOf(request);
}

/** Whoever asked may have been given another role, or another organisation, since. */
async function requesterVersion(
  connection: Queryable,
  key: CredentialKey,
  { requestedBy, operation, organisation }: RequestRow,
): Promise<number | null> {
  if (isAccount(requestedBy)) return null;
  const requester = await findActingOperator(connection, operatorIn(requestedBy), key);
  // guard(four eyes: whoever asked may still do it): await permit(connection, requester, PERMISSIONS[operation], { organisations: [organisation] }); ⇒
  await permit(connection, requester, PERMISSIONS[operation], { organisations: [organisation] });
  return requester.version;
}

/** The request as it is after that, whether this operator has decided it or not. `verdict`: the statement, and what it takes further. */
function decide(
  database: Database,
  operator: string,
  { request: id, organisation, reason }: Decision,
  action: JournalAction,
  verdict: (connection: Queryable, request: RequestRow) => Promise<[Statement, ...unknown[]]>,
): Promise<RequestRow> {
  const given = reason === undefined ? null : checkedReason(reason);
  return database.transaction(async (connection) => {
    const find = async () =>
      (await connection.query<RequestRow>(REQUEST_BY_ID, [id, organisation ?? null])).rows[0] ??
      refuse('request_not_found', { request: id });
    const found = await find();
    if (found.state !== 'waiting') return found;
    const { organisation: organisationId, merchant: merchantId, targetAudit, correlationId } = found;
    const [statement, ...further] = await verdict(connection, found);
    const { count } = await connection.query(statement, [organisationId, id, operator, given, ...further]);
    const request = await find();
    if (count === 0) return request;
    const about = { organisationId, merchantId, audit: targetAudit as Audit, correlationId };
    const why = given === null ? '' : ` (${given})`;
    const detail = `request ${id}${why}: ${inWords({ ...request, decidedBy: null })}, asked for by ${request.requestedBy}`;
    await journal(connection, { actor: operator, action, ...about, detail });
    return request;
  });
}
