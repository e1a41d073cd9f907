// Tasks that need a second person. The first attempt stores a request, which says everything that would be done. Once somebody else has
// approved it, whoever asked does the very same again within an hour, once. So no secret of it is stored, a file is written where they
// are, and a link is shown to them alone.
import { createHmac } from 'node:crypto';
import { journal } from '../../journal/journal.js';
import { type CredentialKey, sameBytes } from '../../organisations/users/credentials.js';
import type { Database, Queryable } from '../../postgres/database.js';
import {
  type Doing,
  type Fields,
  namedIn,
  type OperatorRole,
  type Scope,
  type Task,
} from '../../tasks/task.js';
import { containsCardNumber } from '../../values/card.js';
import type { OrganisationId } from '../../values/ids.js';
import { Refusal, refuse } from '../../values/refusal.js';
import { sydneyTimestamp } from '../../values/time.js';
import { organisationsOf, permit } from '../operator-roles.js';
import { findActingOperator, hasOperators } from '../operators.js';
import { databaseTime } from '../sessions.js';
import { Acquaintance } from './independence.js';
import { readRules } from './rules.js';
import {
  APPROVE_TASK_REQUEST,
  LIST_TASK_REQUESTS,
  REFUSE_TASK_REQUEST,
  RETURN_TASK_REQUEST,
  STORE_TASK_REQUEST,
  TASK_REQUEST_BY_DIGEST,
  TASK_REQUEST_BY_ID,
  USE_TASK_REQUEST,
} from './task-requests.sql.js';

/** A second person has so long to approve something. */
export const WAITING_MS = 24 * 3_600_000;
/** So long whoever is alone waits, and then has again to approve it themselves. */
export const ALONE_MS = 24 * 3_600_000;
/** Once it is approved, it is to be done within. */
const TO_BE_DONE_MS = 3_600_000;
const LONGEST_WORDS = 1_000;

/** What was asked for, and what has become of it. */
export interface TaskRequest {
  readonly request: number;
  readonly kind: 'task';
  readonly organisation: OrganisationId | null;
  /** The words of its command. */
  readonly operation: string;
  /** The command, with everything that was given but what its files hold. */
  readonly what: string;
  readonly requestedBy: string;
  readonly requested: string;
  /** `approved`: whoever asked can do it now. */
  readonly state: 'waiting' | 'approved' | 'refused' | 'expired' | 'done';
  readonly expires: string;
  /** From then on whoever asked may approve it, because nobody else could. */
  readonly aloneFrom: string | null;
  readonly decidedBy: string | null;
  readonly decided: string | null;
  readonly decisionReason: string | null;
}

interface TaskRequestRow {
  readonly id: number;
  readonly task: string;
  readonly role: OperatorRole;
  readonly scope: Scope;
  readonly organisation: OrganisationId | null;
  readonly what: string;
  readonly digest: Buffer;
  readonly requestedBy: string;
  readonly requestedMs: number;
  readonly state: TaskRequest['state'];
  readonly expiresMs: number;
  readonly aloneFromMs: number | null;
  readonly decidedBy: string | null;
  readonly decidedMs: number | null;
  readonly decisionReason: string | null;
  readonly approverVersion: number | null;
  readonly seal: Buffer;
}

interface WithKey {
  key(): Promise<CredentialKey>;
}

/** Does a task; one that needs a second person, if it was approved. */
export async function runTask<Means extends WithKey>(
  task: Task<Means>,
  doing: Doing<Means>,
  given: object,
): Promise<object> {
  const { secondPerson } = task;
  // Without operators nobody is asked who they are, and nobody could approve it.
  if (secondPerson === undefined || !(await hasOperators(doing.database))) return task.run(doing, given);
  const key = await doing.means.key();
  const isNeeded =
    (secondPerson.for === 'rules' || (await readRules(doing.database)).kinds.includes(secondPerson.for)) &&
    (secondPerson.when === undefined || (await secondPerson.when(doing, given)));
  if (!isNeeded) return task.run(doing, given);
  const request = await useApproval(task, doing, key, given);
  try {
    return await task.run(doing, given);
  } catch (error) {
    if (error instanceof Refusal) await doing.database.query(RETURN_TASK_REQUEST, [request]);
    throw error;
  }
}

/** Returns the request that allows it; refuses where there is none yet. */
async function useApproval<Means>(
  task: Task<Means>,
  { database, actor }: Doing<Means>,
  key: CredentialKey,
  given: object,
): Promise<number> {
  const digest = key.macOf(['tollgate task', task.name, actor, canonical(given)]);
  const found = (await database.query<TaskRequestRow>(TASK_REQUEST_BY_DIGEST, [digest])).rows[0];
  if (found === undefined) waits(await ask(task, database, actor, key, given, digest));
  await needSeal(database, actor, key, found);
  if (found.state === 'waiting') waits(found);
  await needApprover(database, key, found);
  return database.transaction(async (connection) => {
    const { count } = await connection.query(USE_TASK_REQUEST, [found.id]);
    if (count === 0) refuse('request_decided', { request: found.id, state: 'done' });
    const detail = `request ${found.id}: ${found.what}, approved by ${found.decidedBy}`;
    await journal(connection, {
      actor,
      action: 'approval.used',
      organisationId: found.organisation ?? undefined,
      detail,
    });
    return found.id;
  });
}

async function ask<Means>(
  task: Task<Means>,
  database: Queryable,
  actor: string,
  key: CredentialKey,
  given: object,
  digest: Buffer,
): Promise<Pick<TaskRequestRow, 'id' | 'aloneFromMs'>> {
  const { name, role = 'administrator', scope } = task;
  const [organisation = null, ...others] = new Set(
    await organisationsOf(database, namedIn(task.input, given)),
  );
  const concerns = others.length === 0 && scope === 'organisation' ? organisation : null;
  const what = inWords(name, task.input, given);
  return database.transaction(async (connection) => {
    const people = await Acquaintance.of(connection, key);
    const isAlone = !people.hasAnother(actor, { role, organisation: concerns });
    const nowMs = await databaseTime(connection);
    const request = {
      task: name,
      role,
      scope,
      organisation: concerns,
      what,
      digest,
      requestedBy: actor,
      expiresMs: nowMs + WAITING_MS + (isAlone ? ALONE_MS : 0),
      aloneFromMs: isAlone ? nowMs + ALONE_MS : null,
    };
    const seal = sealOf(key, { ...request, state: 'waiting', decidedBy: null, approverVersion: null });
    const values = [...Object.values(request), seal];
    const { rows } = await connection.query<{ id: number }>(STORE_TASK_REQUEST, values);
    const { id } = rows[0] as { id: number };
    const alone = isAlone ? '; nobody else can approve it yet, so it waits for a day' : '';
    await journal(connection, {
      actor,
      action: 'approval.requested',
      organisationId: concerns ?? undefined,
      detail: `request ${id}: ${what}${alone}`,
    });
    return { id, aloneFromMs: request.aloneFromMs };
  });
}

function waits({ id: request, aloneFromMs }: Pick<TaskRequestRow, 'id' | 'aloneFromMs'>): never {
  if (aloneFromMs === null) refuse('second_person_needed', { request });
  refuse('nobody_else_can_approve', { request, from: sydneyTimestamp(aloneFromMs) });
}

export async function findTaskRequest(
  database: Queryable,
  id: number,
  organisation: number | undefined,
): Promise<TaskRequestRow | undefined> {
  const values = [id, organisation ?? null];
  return (await database.query<TaskRequestRow>(TASK_REQUEST_BY_ID, values)).rows[0];
}

export async function listTaskRequests(
  database: Queryable,
  organisation: number | undefined,
  openOnly: boolean,
  limit: number,
): Promise<TaskRequest[]> {
  const values = [organisation ?? null, openOnly, limit];
  return (await database.query<TaskRequestRow>(LIST_TASK_REQUESTS, values)).rows.map(viewOf);
}

export interface TaskDecision {
  readonly request: TaskRequestRow;
  readonly actor: string;
  readonly reason: string | null;
}

/** By somebody who may do it themselves. */
export async function approveTask(
  database: Database,
  key: CredentialKey,
  { request, actor, reason }: TaskDecision,
): Promise<TaskRequest> {
  const { id, task: name, role, scope, organisation } = request;
  if (request.state !== 'waiting') refuse('request_decided', { request: id, state: request.state });
  await needSeal(database, actor, key, request);
  const approver = await findActingOperator(database, nameOf(actor), key);
  // guard(second person: whoever approves it may do it): await permit( ⇒ void ((..._: unknown[]) => {})(
  await permit(
    database,
    approver,
    { name, role, scope },
    organisation === null ? {} : { organisations: [organisation] },
  );
  return independently(database, actor, `approval approve ${id}`, async (connection) => {
    const needed = { role, organisation };
    await needIndependence(connection, key, { ...request, actor, needed });
    const approved = {
      ...request,
      state: 'approved',
      decidedBy: actor,
      expiresMs: (await databaseTime(connection)) + TO_BE_DONE_MS,
      approverVersion: approver.version,
    } as const;
    const values = [id, actor, reason, approved.expiresMs, approver.version, sealOf(key, approved)];
    const { count } = await connection.query(APPROVE_TASK_REQUEST, values);
    return decided(connection, 'approval.approved', count, { request, actor, reason });
  });
}

export async function refuseTask(database: Queryable, decision: TaskDecision): Promise<TaskRequest> {
  const { request, actor, reason } = decision;
  return database.transaction(async (connection) => {
    const { count } = await connection.query(REFUSE_TASK_REQUEST, [request.id, actor, reason]);
    return decided(connection, 'approval.refused', count, decision);
  });
}

async function decided(
  connection: Queryable,
  action: 'approval.approved' | 'approval.refused',
  count: number,
  { request: { id, what, requestedBy, organisation }, actor, reason }: TaskDecision,
): Promise<TaskRequest> {
  const now = (await findTaskRequest(connection, id, undefined)) as TaskRequestRow;
  if (count === 0 && now.state === 'waiting') refuse('request_of_same_operator', { request: id });
  if (count === 0) refuse('request_decided', { request: id, state: now.state });
  const why = reason === null ? '' : ` (${reason})`;
  const detail = `request ${id}${why}: ${what}, asked for by ${requestedBy}`;
  await journal(connection, { actor, action, organisationId: organisation ?? undefined, detail });
  return viewOf(now);
}

/** Who approves what somebody has asked for. */
interface Approval {
  readonly id: number;
  readonly actor: string;
  readonly requestedBy: string;
  readonly aloneFromMs: number | null;
  readonly needed: { readonly role: OperatorRole; readonly organisation: OrganisationId | null };
}

/** Another person; or, when their day is over, somebody who is still alone. */
export async function needIndependence(
  connection: Queryable,
  key: CredentialKey,
  { id: request, actor, requestedBy, aloneFromMs, needed }: Approval,
): Promise<void> {
  const people = await Acquaintance.of(connection, key);
  if (actor === requestedBy) {
    // Whether their day is over, the statement that approves it decides.
    if (aloneFromMs !== null && people.hasAnother(actor, needed))
      refuse('request_of_same_operator', { request });
    return;
  }
  // guard(second person: not somebody whom the first one may be, too): if (!people.areIndependent(requestedBy, actor)) ⇒ if (request === 0)
  if (!people.areIndependent(requestedBy, actor))
    refuse('second_person_not_independent', {
      request,
      requester: nameOf(requestedBy),
      approver: nameOf(actor),
    });
}

/** In a transaction of its own. The journal has who tried to approve what they may not, or what somebody has changed in the database. */
export async function independently<Result>(
  database: Queryable,
  actor: string,
  task: string,
  work: (connection: Queryable) => Promise<Result>,
): Promise<Result> {
  try {
    return await database.transaction(work);
  } catch (error) {
    if (error instanceof Refusal && NOT_SECOND.includes(error.code))
      await journal(database, { actor, action: 'operator.refused', detail: `${task}: ${error.message}` });
    if (error instanceof Refusal && error.code === 'request_altered')
      await journal(database, { actor, action: 'seal.broken', detail: task });
    throw error;
  }
}

const NOT_SECOND: readonly string[] = ['request_of_same_operator', 'second_person_not_independent'];

/** Nothing that was made up or changed in the database. */
async function needSeal(
  database: Queryable,
  actor: string,
  key: CredentialKey,
  request: TaskRequestRow,
): Promise<void> {
  // guard(second person: nothing is done that was changed in the database): if (sameBytes(sealOf(key, request), request.seal)) return; ⇒ if (request.id > 0) return;
  if (sameBytes(sealOf(key, request), request.seal)) return;
  const { id, organisation } = request;
  await journal(database, {
    actor,
    action: 'seal.broken',
    organisationId: organisation ?? undefined,
    detail: `request ${id}`,
  });
  refuse('request_altered', { request: id });
}

/** Whoever approved it is still there, and as they were then. */
async function needApprover(
  database: Queryable,
  key: CredentialKey,
  { id, decidedBy, approverVersion }: TaskRequestRow,
): Promise<void> {
  const approver = await findActingOperator(database, nameOf(decidedBy ?? ''), key).catch(
    (error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    },
  );
  // guard(second person: an approval ends with whoever gave it): if (approver?.version !== approverVersion) ⇒ if (id === 0)
  if (approver?.version !== approverVersion) refuse('request_of_changed_operator', { request: id });
}

type Sealed = Pick<
  TaskRequestRow,
  | 'task'
  | 'role'
  | 'scope'
  | 'organisation'
  | 'what'
  | 'digest'
  | 'requestedBy'
  | 'state'
  | 'expiresMs'
  | 'aloneFromMs'
  | 'decidedBy'
  | 'approverVersion'
>;

function sealOf(key: CredentialKey, request: Sealed): Buffer {
  const parts = [
    request.task,
    request.role,
    request.scope,
    request.organisation,
    request.what,
    request.digest.toString('hex'),
    request.requestedBy,
    request.state,
    request.expiresMs,
    request.aloneFromMs,
    request.decidedBy,
    request.approverVersion,
  ];
  return createHmac('sha256', key.keyFor('task requests')).update(JSON.stringify(parts)).digest();
}

function viewOf(row: TaskRequestRow): TaskRequest {
  const { decidedMs, aloneFromMs } = row;
  return {
    request: row.id,
    kind: 'task',
    organisation: row.organisation,
    operation: row.task,
    what: row.what,
    requestedBy: row.requestedBy,
    requested: sydneyTimestamp(row.requestedMs),
    state: row.state,
    expires: sydneyTimestamp(row.expiresMs),
    aloneFrom: aloneFromMs === null ? null : sydneyTimestamp(aloneFromMs),
    decidedBy: row.decidedBy,
    decided: decidedMs === null ? null : sydneyTimestamp(decidedMs),
    decisionReason: row.decisionReason,
  };
}

/** The same whatever the order of its members, and whether what was not given is there. */
function canonical(given: object): unknown[] {
  return Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

/** As it would be typed. What is in a file may be a secret; and whatever looks like a card number is not repeated. */
function inWords(name: string, input: Fields, given: object): string {
  const values = given as Readonly<Record<string, unknown>>;
  const parts = Object.entries(input).flatMap(([field, { kind, flag, without }]) => {
    const value = values[field];
    const option = (flag.split(/[ ,]/)[0] as string).startsWith('-') ? [flag.split(/[ ,]/)[0] as string] : [];
    if (value === undefined || (value === false && without === undefined)) return [];
    if ((value === null || value === false) && without !== undefined) return [without[0]];
    if (value === null) return [];
    if (kind.isFlag) return option;
    if (kind.inFile) return [...option, `(a file of ${String(value).length} characters)`];
    const text = Array.isArray(value)
      ? value
          .map((each) => (typeof each === 'object' && each !== null ? Object.values(each).join('=') : each))
          .join(',')
      : String(value);
    return [...option, containsCardNumber(text) ? '(not shown)' : text];
  });
  return [name, ...parts].join(' ').slice(0, LONGEST_WORDS);
}

export function nameOf(actor: string): string {
  return actor.replace(/^operator:/, '');
}
