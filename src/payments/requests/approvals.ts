// Approvals: what an operator has asked for waits for a second person, who approves or refuses it. The database decides who was in time.
// Money that was approved is moved by a gateway; any other task is done by whoever asked (`src/operators/second-person`).
import { type JournalAction, journal } from '../../journal/journal.js';
import { permit } from '../../operators/operator-roles.js';
import { findActingOperator } from '../../operators/operators.js';
import { RULES_SEEN, RULES_SET } from '../../operators/second-person/rules.js';
import {
  approveTask,
  findTaskRequest,
  independently,
  listTaskRequests,
  needIndependence,
  refuseTask,
  type TaskRequest,
} from '../../operators/second-person/task-requests.js';
import { databaseTime } from '../../operators/sessions.js';
import type { CredentialKey } from '../../organisations/users/credentials.js';
import type { Database, Queryable, Statement } from '../../postgres/database.js';
import { count, FLAG, ID, text } from '../../tasks/kinds.js';
import { type Doing, needed, optional, type Permission, task } from '../../tasks/task.js';
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

interface Decision {
  readonly request: number;
  /** Where the operator may see only this one. */
  readonly organisation?: number | undefined;
  readonly reason?: string | undefined;
}

/** With what a task is done that asks the gateways for something. */
export type RequestDoing = Doing<{ requests(): Promise<RequestMeans> }>;

/** What is in it is checked where it is stored. */
export const REASON = text(1_000);

/** Who may ask for it, and still has to may when it is approved. */
export const MONEY_PERMISSIONS = {
  void: { name: 'transaction void', role: 'operator', scope: 'organisation' },
  refund: { name: 'transaction refund', role: 'operator', scope: 'organisation' },
  completion: { name: 'transaction complete', role: 'operator', scope: 'organisation' },
} as const satisfies Record<OperatorsOperation, Permission>;

const DECISION = {
  request: needed(ID, '<request>', 'its number'),
  organisation: optional(ID, '--organisation <id>', 'the organisation that it concerns', {
    names: 'organisations',
    only: 'command',
  }),
  reason: optional(REASON, '--reason <text>', 'why'),
};

export const APPROVALS = {
  name: 'approval',
  help: 'what operators have asked for, and what a second person says to it',
  tasks: [
    task({
      name: 'approval list',
      help: 'list what waits for approval, and what is being processed; the newest first',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /approvals',
      fenced: true,
      input: {
        organisation: optional(ID, '--organisation <id>', 'only of this organisation', {
          names: 'organisations',
        }),
        audit: optional(ID, '--audit <audit>', 'only about this transaction'),
        all: optional(FLAG, '--all', 'also what was done, refused, has expired or failed'),
        limit: optional(count(), '--limit <count>', 'how many at most', { default: 50, onPage: 100 }),
      },
      run: async (
        { database, fence },
        { organisation, audit, all = false, limit },
      ): Promise<(OperatorRequest | TaskRequest)[]> => {
        const values = [fence ?? organisation ?? null, audit ?? null, !all, limit];
        const ofMoney = (await database.query<RequestRow>(LIST_REQUESTS, values)).rows.map(viewOf);
        const ofTasks =
          audit === undefined ? await listTaskRequests(database, fence ?? organisation, !all, limit) : [];
        return [...ofMoney, ...ofTasks].sort((one, other) => other.request - one.request).slice(0, limit);
      },
    }),
    task({
      name: 'approval approve',
      help: 'approve what another operator has asked for: money moves at once, anything else when they do it again',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /approvals/:request/approve',
      fresh: true,
      fenced: true,
      input: DECISION,
      run: async (
        { database, actor, fence, means }: RequestDoing,
        { organisation = fence, ...decision },
      ): Promise<OperatorRequest | TaskRequest> => {
        // An account of the system may be anybody's.
        if (isAccount(actor)) refuse('approval_needs_operator');
        const requests = await means.requests();
        const request = await findTaskRequest(database, decision.request, organisation);
        if (request === undefined)
          return approveRequest(database, actor, requests, { ...decision, organisation });
        return approveTask(database, requests.key, { request, actor, reason: given(decision.reason) });
      },
      says: toldOf,
    }),
    task({
      name: 'approval refuse',
      help: 'refuse what another operator has asked for, or take back what you have',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /approvals/:request/refuse',
      fenced: true,
      input: DECISION,
      // Whoever made it takes it back.
      run: async (
        { database, actor, fence },
        { organisation = fence, ...decision },
      ): Promise<OperatorRequest | TaskRequest> => {
        const ofTask = await findTaskRequest(database, decision.request, organisation);
        if (ofTask !== undefined)
          return refuseTask(database, { request: ofTask, actor, reason: given(decision.reason) });
        const wish = { ...decision, organisation };
        const request = await decide(database, actor, wish, 'approval.refused', async () => [REFUSE_REQUEST]);
        if (request.state !== 'refused')
          refuse('request_decided', { request: request.id, state: request.state });
        return viewOf(request);
      },
      says: ({ request }) => `Request ${request} is refused.`,
    }),
    RULES_SEEN,
    RULES_SET,
  ],
} as const;

/** What has become of a request, for whoever made or approved it. */
export function toldOf(made: OperatorRequest | TaskRequest): string {
  const { request, what, state } = made;
  if (made.kind === 'task')
    return `Request ${request} (${what}) is ${state}: ${made.requestedBy} can do it until ${made.expires}.`;
  const { targetAudit, audit, status, responseCode, aloneFrom } = made;
  if (state === 'waiting' && aloneFrom !== null)
    return `Request ${request} (${what}) waits: nobody else can approve it, so you can from ${aloneFrom} on.`;
  if (state === 'waiting') return `Request ${request} (${what}) waits for the approval of a second operator.`;
  if (state === 'ready' || state === 'approved')
    return `Request ${request} (${what}) is still being processed; \`tollgate approval list --all --audit ${targetAudit}\` shows what becomes of it.`;
  if (state === 'expired') return `Request ${request} (${what}) has expired: nothing was done.`;
  const code = responseCode === null ? '' : ` (${responseCode})`;
  return `${what}: ${audit === null ? state : `transaction ${audit}, ${status}${code}`}.`;
}

function given(reason: string | undefined): string | null {
  return reason === undefined ? null : checkedReason(reason);
}

/** And has it done. */
async function approveRequest(
  database: Database,
  operator: string,
  { key, patienceMs }: RequestMeans,
  decision: Decision,
): Promise<OperatorRequest> {
  const request = await decide(
    database,
    operator,
    decision,
    'approval.approved',
    async (connection, found) => {
      await needGateway(connection);
      // guard(four eyes: nobody approves what was changed in the database): )) ⇒ ) && found.id === 0)
      if (!isSealed(key, found)) refuse('request_altered', { request: found.id });
      const needed = { role: 'operator', organisation: found.organisation } as const;
      await needIndependence(connection, key, { ...found, actor: operator, needed });
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
  if (request.state !== 'approved' && request.state !== 'done')
    refuse('request_decided', { request: request.id, state: request.state });
  return outcomeOf(database, request, patienceMs);
}

/** Whoever asked may have been given another role, or another organisation, since. */
async function requesterVersion(
  connection: Queryable,
  key: CredentialKey,
  { requestedBy, operation, organisation }: RequestRow,
): Promise<number | null> {
  if (isAccount(requestedBy)) return null;
  const requester = await findActingOperator(connection, operatorIn(requestedBy), key);
  // guard(four eyes: whoever asked may still do it): await permit(connection, requester, MONEY_PERMISSIONS[operation], { organisations: [organisation] }); ⇒
  await permit(connection, requester, MONEY_PERMISSIONS[operation], { organisations: [organisation] });
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
  const why = given(reason);
  const task = `approval ${action === 'approval.approved' ? 'approve' : 'refuse'} ${id}`;
  return independently(database, operator, task, async (connection) => {
    const find = async () =>
      (await connection.query<RequestRow>(REQUEST_BY_ID, [id, organisation ?? null])).rows[0] ??
      refuse('request_not_found', { request: id });
    const found = await find();
    // guard(four eyes: not after its time): found.state !== 'waiting' ⇒ found.state === 'done'
    if (found.state !== 'waiting') return found;
    const { organisation: organisationId, merchant: merchantId, targetAudit, correlationId } = found;
    const [statement, ...further] = await verdict(connection, found);
    const { count } = await connection.query(statement, [organisationId, id, operator, why, ...further]);
    const request = await find();
    if (count === 0 && request.state === 'waiting') refuse('request_of_same_operator', { request: id });
    if (count === 0) return request;
    const about = { organisationId, merchantId, audit: targetAudit as Audit, correlationId };
    const because = why === null ? '' : ` (${why})`;
    const detail = `request ${id}${because}: ${inWords({ ...request, decidedBy: null })}, asked for by ${request.requestedBy}`;
    await journal(connection, { actor: operator, action, ...about, detail });
    return request;
  });
}
