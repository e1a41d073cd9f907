// Tasks that need a second person. The first attempt stores a request, which says everything that would be done. Once somebody else has
// approved it, whoever asked does the very same again within an hour, once. So no secret of it is stored, a file is written where they
// are, and a link is shown to them alone. The journal seals each step: a request that was made up, approved or revived in the database
// allows nothing.
import { type JournalAction, journal } from '../../journal/journal.js';
import { checkSeal, fitNow, fitOf, type ReadRow } from '../../journal/seals.js';
import type { CredentialKey } from '../../organisations/users/credentials.js';
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
  LOCK_TASK_REQUEST,
  REFUSE_TASK_REQUEST,
  RETURN_TASK_REQUEST,
  STORE_TASK_REQUEST,
  TASK_REQUEST_BY_DIGEST,
  TASK_REQUEST_BY_ID,
  TASK_REQUESTS_AFTER,
  USE_TASK_REQUEST,
} from './task-requests.sql.js';

/** A second person has so long to approve something. */
export const WAITING_MS = 24 * 3_600_000;
/** So long whoever is alone waits, and then has again to approve it themselves. */
export const ALONE_MS = 24 * 3_600_000;
/** Once it is approved, it is to be done within. */
const TO_BE_DONE_MS = 3_600_000;
const LONGEST_WORDS = 1_000;
const PAGE = 500;

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
  /** The state without a look at the time. */
  readonly stored: string;
  readonly expiresMs: number;
  readonly aloneFromMs: number | null;
  readonly decidedBy: string | null;
  readonly decidedMs: number | null;
  readonly decisionReason: string | null;
  readonly approverVersion: number | null;
  /** Its newest seal in the journal, behind its version. */
  readonly newest: Buffer | null;
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
    if (error instanceof Refusal) await returnApproval(doing.database, doing.actor, request);
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
  await needSeal(database, actor, found);
  if (found.state === 'waiting') waits(found);
  await needApprover(database, key, found);
  const { id } = found;
  return database.transaction(async (connection) => {
    const { what, decidedBy } = await lockedAsSealed(connection, id);
    const { count } = await connection.query(USE_TASK_REQUEST, [id]);
    if (count === 0) refuse('request_decided', { request: id, state: 'done' });
    await journalStep(connection, id, {
      actor,
      action: 'approval.used',
      detail: `${what}, approved by ${decidedBy}`,
    });
    return id;
  });
}

async function returnApproval(database: Queryable, actor: string, id: number): Promise<void> {
  await database.transaction(async (connection) => {
    const { what } = await lockedAsSealed(connection, id);
    const { count } = await connection.query(RETURN_TASK_REQUEST, [id]);
    if (count > 0) await journalStep(connection, id, { actor, action: 'approval.returned', detail: what });
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
    const expiresMs = nowMs + WAITING_MS + (isAlone ? ALONE_MS : 0);
    const aloneFromMs = isAlone ? nowMs + ALONE_MS : null;
    const values = [name, role, scope, concerns, what, digest, actor, expiresMs, aloneFromMs];
    const { rows } = await connection.query<{ id: number }>(STORE_TASK_REQUEST, values);
    const { id } = rows[0] as { id: number };
    const alone = isAlone ? '; nobody else can approve it yet, so it waits for a day' : '';
    await journalStep(connection, id, { actor, action: 'approval.requested', detail: `${what}${alone}` });
    return { id, aloneFromMs };
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
  // guard(second person: a task is not approved after its time): request.state !== 'waiting' ⇒ request.state === 'done'
  if (request.state !== 'waiting') refuse('request_decided', { request: id, state: request.state });
  await needSeal(database, actor, request);
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
    await lockedAsSealed(connection, id);
    await needIndependence(connection, key, { ...request, actor, needed });
    const expiresMs = (await databaseTime(connection)) + TO_BE_DONE_MS;
    const values = [id, actor, reason, expiresMs, approver.version];
    const { count } = await connection.query(APPROVE_TASK_REQUEST, values);
    return decided(connection, 'approval.approved', count, { request, actor, reason });
  });
}

/** What was changed in the database is refused for good, whatever state it is said to be in. */
export async function refuseTask(database: Queryable, decision: TaskDecision): Promise<TaskRequest> {
  const { request, actor, reason } = decision;
  return database.transaction(async (connection) => {
    const fit = await fitOf(connection, sealedRequest(await locked(connection, request.id)));
    const values = [request.id, actor, reason, fit.kind === 'misfit'];
    const { count } = await connection.query(REFUSE_TASK_REQUEST, values);
    return decided(connection, 'approval.refused', count, decision);
  });
}

async function decided(
  connection: Queryable,
  action: 'approval.approved' | 'approval.refused',
  count: number,
  { request: { id, what, requestedBy }, actor, reason }: TaskDecision,
): Promise<TaskRequest> {
  if (count === 0) {
    const { state } = await locked(connection, id);
    if (state === 'waiting') refuse('request_of_same_operator', { request: id });
    refuse('request_decided', { request: id, state });
  }
  const detail = `${what}, asked for by ${requestedBy}`;
  return viewOf(await journalStep(connection, id, { actor, action, reason, detail }));
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

interface Step {
  readonly actor: string;
  readonly action: JournalAction;
  readonly reason?: string | null;
  readonly detail: string;
}

/** The journal seals the request as it is now. It must be locked, or new. */
async function journalStep(
  connection: Queryable,
  id: number,
  { actor, action, reason = null, detail }: Step,
): Promise<TaskRequestRow> {
  const row = await locked(connection, id);
  const why = reason === null ? '' : ` (${reason})`;
  const entry = {
    actor,
    action,
    organisationId: row.organisation ?? undefined,
    detail: `request ${id}${why}: ${detail}`,
  };
  await journal(connection, entry, sealedRequest(row));
  return row;
}

async function locked(connection: Queryable, id: number): Promise<TaskRequestRow> {
  await connection.query(LOCK_TASK_REQUEST, [id]);
  return (await findTaskRequest(connection, id, undefined)) ?? refuse('request_not_found', { request: id });
}

/** Somebody may have changed it since it was looked at: the next step would seal that. */
async function lockedAsSealed(connection: Queryable, id: number): Promise<TaskRequestRow> {
  const row = await locked(connection, id);
  // guard(second person: what was changed in the database is not sealed by the next step): await checkSeal(connection, sealedRequest(row)); ⇒
  await checkSeal(connection, sealedRequest(row));
  return row;
}

/** Nothing that was made up, changed or revived in the database. */
async function needSeal(database: Queryable, actor: string, request: TaskRequestRow): Promise<void> {
  const fit = await fitNow(database, sealedRequest(request));
  // guard(second person: nothing is done that was changed in the database): fit.kind === 'fits' ⇒ fit.version >= 0
  if (fit.kind === 'fits') return;
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

/** For the journal, which seals everything that a request says. */
function sealedRequest(row: TaskRequestRow): ReadRow {
  const { id, task: name, role, scope, organisation, what, digest, requestedBy, requestedMs, newest } = row;
  const { stored, expiresMs, aloneFromMs, decidedBy, decidedMs, decisionReason, approverVersion } = row;
  const asked = [name, role, scope, organisation, what, digest.toString('hex'), requestedBy, requestedMs];
  // guard(second person: a request is sealed with its state): stored, expiresMs ⇒ expiresMs
  const decided = [stored, expiresMs, aloneFromMs, decidedBy, decidedMs, decisionReason, approverVersion];
  return { subject: `request/${id}`, state: [...asked, ...decided], newest };
}

/** All that there ever were. */
export async function* sealedRequests(database: Queryable): AsyncGenerator<ReadRow> {
  for (let after = 0; ; ) {
    const { rows } = await database.query<TaskRequestRow>(TASK_REQUESTS_AFTER, [after, PAGE]);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* rows.map(sealedRequest);
    after = last.id;
  }
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
