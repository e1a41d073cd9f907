// Sessions of operators on the console: opened by a sign-in, found again by what the browser keeps, and ended. The database decides,
// so that a session ends in every process at the same time, and outlives each.
import { randomBytes } from 'node:crypto';
import { journal } from '../journal/journal.js';
import { reportMisfit } from '../journal/seals.js';
import { type CredentialKey, sameBytes } from '../organisations/users/credentials.js';
import type { Database, Queryable } from '../postgres/database.js';
import { refuse } from '../values/refusal.js';
import {
  isAsSealedLast,
  isSealedSession,
  type OperatorRow,
  type SealedOperator,
  type SealedSession,
  type SessionStage,
  type SignInMethod,
  sealOfSession,
} from './operator.js';
import {
  END_SESSION,
  END_SESSION_BY_ID,
  END_SESSIONS_OF,
  FIND_SESSION,
  FORGET_SESSIONS,
  LIST_SESSIONS,
  NOW_MS,
  OPEN_SESSION,
  RESEAL_SESSION,
} from './sessions.sql.js';

const SESSION_MS = 12 * 3_600_000;
/** Of a link that was opened: so long it takes at most to set a passkey or a password. */
const ENROLLING_MS = 15 * 60_000;
/** Of a token for the command line. */
const TOKEN_MS = 15 * 60_000;
const LONGEST_AGENT = 200;
/** At most. */
const LASTS: Readonly<Record<SessionStage, number>> = {
  enrolling: ENROLLING_MS,
  signed_in: SESSION_MS,
  command_line: TOKEN_MS,
};

export interface NewSession {
  readonly operator: string;
  readonly stage: SessionStage;
  readonly method: SignInMethod;
  readonly address: string;
  /** What the browser calls itself. */
  readonly agent: string;
  /** For tests: another length than that of its stage. */
  readonly lastsMs?: number;
}

/** A session that goes on, and whose it is. */
export interface Session {
  readonly tag: Buffer;
  readonly stage: SessionStage;
  readonly method: SignInMethod;
  readonly endsMs: number;
  readonly provedMs: number;
  readonly seal: Buffer;
  /** Whether it has been in use within the last minute. */
  readonly seenLately: boolean;
  /** Whether its operator proved within the last five minutes who they are. */
  readonly provedLately: boolean;
  readonly operator: SealedOperator;
}

export interface SessionView {
  readonly id: string;
  readonly stage: SessionStage;
  readonly method: SignInMethod;
  readonly address: string;
  readonly agent: string;
  readonly created_at: Date;
  readonly seen_at: Date;
  readonly ends_at: Date;
  /** Whether it is the one that asks. */
  readonly current: boolean;
}

/** Returns what the browser is to keep: nobody can make it of what is stored. */
export async function openSession(
  database: Queryable,
  key: CredentialKey,
  { operator, stage, method, address, agent, lastsMs }: NewSession,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  const tag = key.tagOfToken('session', token);
  const nowMs = await databaseTime(database);
  const times = { endsMs: nowMs + (lastsMs ?? LASTS[stage]), seenMs: nowMs, provedMs: nowMs };
  const seal = sealOfSession(key, { tag, operator, stage, method, ...times });
  await database.query(FORGET_SESSIONS);
  const values = [tag, operator, stage, method, address, agent.slice(0, LONGEST_AGENT)];
  await database.query(OPEN_SESSION, [...values, times.endsMs, times.seenMs, times.provedMs, seal]);
  return token;
}

/** What ends, ends by the database's clock: it is one and the same for all processes. */
export async function databaseTime(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ nowMs: number }>(NOW_MS);
  return (rows[0] as { nowMs: number }).nowMs;
}

type SessionRow = OperatorRow & {
  readonly tag: Buffer;
  readonly operator: string;
  readonly stage: SessionStage;
  readonly method: SignInMethod;
  readonly sessionSeal: Buffer;
  readonly endsMs: number;
  readonly seenMs: number;
  readonly provedMs: number;
  readonly notSeenLately: boolean;
  readonly provedLately: boolean;
};

/** Undefined if the session has ended or was not used for `idleMs`, or if it or its operator is not as it was sealed. */
export async function findSession(
  database: Queryable,
  key: CredentialKey,
  token: string,
  idleMs: number,
): Promise<Session | undefined> {
  return findSessionByTag(database, key, key.tagOfToken('session', token), idleMs);
}

/** The same where only the tag is known, which lets nobody in. */
export async function findSessionByTag(
  database: Queryable,
  key: CredentialKey,
  bySession: Buffer,
  idleMs: number,
): Promise<Session | undefined> {
  const { rows } = await database.query<SessionRow>(FIND_SESSION, [bySession, idleMs]);
  const [row] = rows;
  if (row === undefined || row.removed) return undefined;
  if (!isSealedSession(key, row, row.sessionSeal)) {
    await reportMisfit(database, `a session of operator/${row.operator}`, 'changed');
    return undefined;
  }
  if (!(await isAsSealedLast(database, key, row))) return undefined;
  const { tag, stage, method, endsMs, provedMs, sessionSeal: seal, notSeenLately, provedLately } = row;
  const seenLately = !notSeenLately;
  return { tag, stage, method, endsMs, provedMs, seal, seenLately, provedLately, operator: row };
}

/** What the console gives to somebody who has just proved who they are, once: it shows who runs commands, and ends with their sessions. */
export async function makeToken(
  database: Database,
  key: CredentialKey,
  { operator: { name, organisationId }, method }: Session,
  from: Pick<NewSession, 'address' | 'agent'>,
): Promise<{ readonly token: string; readonly ends_at: Date }> {
  return database.transaction(async (connection) => {
    const token = await openSession(connection, key, {
      operator: name,
      stage: 'command_line',
      method,
      ...from,
    });
    const session = (await findSession(connection, key, token, TOKEN_MS)) as Session;
    await journal(connection, {
      actor: `operator:${name}`,
      action: 'operator.token_made',
      organisationId: organisationId ?? undefined,
      detail: name,
    });
    return { token, ends_at: new Date(session.endsMs) };
  });
}

/** Whom the console has given this token. */
export async function operatorWithToken(
  database: Queryable,
  key: CredentialKey,
  token: string,
): Promise<SealedOperator> {
  const session = await findSession(database, key, token, TOKEN_MS);
  // guard(command line: a session of the console is no token): session?.stage !== 'command_line' ⇒ session === undefined
  if (session?.stage !== 'command_line') refuse('command_line_token_refused');
  return session.operator;
}

/** That its operator is there. Another request may have said so a moment before, or proved who they are. */
export async function seeSession(database: Queryable, key: CredentialKey, session: Session): Promise<void> {
  const seenMs = await databaseTime(database);
  await reseal(database, key, session, { seenMs, provedMs: session.provedMs }, session.seal);
}

async function reseal(
  database: Queryable,
  key: CredentialKey,
  { tag, operator, stage, method, endsMs }: Session,
  { seenMs, provedMs }: Pick<SealedSession, 'seenMs' | 'provedMs'>,
  before: Buffer | null,
): Promise<void> {
  const sealed = { tag, operator: operator.name, stage, method, endsMs, seenMs, provedMs };
  await database.query(RESEAL_SESSION, [tag, seenMs, provedMs, sealOfSession(key, sealed), before]);
}

/** That its operator has proved again who they are. */
export async function proveSession(
  database: Queryable,
  key: CredentialKey,
  actor: string,
  session: Session,
  method: SignInMethod,
): Promise<void> {
  await database.transaction(async (connection) => {
    const nowMs = await databaseTime(connection);
    await reseal(connection, key, session, { seenMs: nowMs, provedMs: nowMs }, null);
    const detail = `${session.operator.name}: ${method}`;
    await journal(connection, { actor, action: 'operator.proved', detail });
  });
}

export async function signOut(database: Queryable, actor: string, { tag, operator }: Session): Promise<void> {
  await database.transaction(async (connection) => {
    await connection.query(END_SESSION, [tag]);
    await journal(connection, { actor, action: 'operator.signed_out', detail: operator.name });
  });
}

/** All of an operator's sessions. Returns how many there were. */
export function signOutEverywhere(database: Queryable, actor: string, name: string): Promise<number> {
  return database.transaction(async (connection) => {
    const ended = await endSessionsOf(connection, name);
    const detail = `${name}: everywhere, ${ended} sessions`;
    await journal(connection, { actor, action: 'operator.signed_out', detail });
    return ended;
  });
}

/** One of an operator's sessions, by its ID. */
export async function endSession(
  database: Queryable,
  actor: string,
  name: string,
  id: string,
): Promise<void> {
  await database.transaction(async (connection) => {
    const { count } = await connection.query(END_SESSION_BY_ID, [name, id]);
    if (count === 0) refuse('session_not_found', { id });
    await journal(connection, { actor, action: 'operator.signed_out', detail: `${name}: one session` });
  });
}

/** Without a word in the journal: for what is journalled itself. */
export async function endSessionsOf(connection: Queryable, name: string): Promise<number> {
  return (await connection.query(END_SESSIONS_OF, [name])).count;
}

export async function listSessions(
  database: Queryable,
  name: string,
  idleMs: number,
  current?: Session,
): Promise<SessionView[]> {
  const { rows } = await database.query<Omit<SessionView, 'current'> & { readonly tag: Buffer }>(
    LIST_SESSIONS,
    [name, idleMs],
  );
  return rows.map(({ tag, id, stage, method, address, agent, created_at, seen_at, ends_at }) => ({
    id,
    stage,
    method,
    address,
    agent,
    created_at,
    seen_at,
    ends_at,
    current: current !== undefined && sameBytes(tag, current.tag),
  }));
}
