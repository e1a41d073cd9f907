// Sessions of operators on the console: opened by a sign-in, found again by what the browser keeps, and ended. The database decides,
// so that a session ends in every process at the same time, and outlives each.
import { randomBytes } from 'node:crypto';
import { journal } from '../journal/journal.js';
import { reportMisfit } from '../journal/seals.js';
import { type CredentialKey, hex, sameBytes } from '../organisations/users/credentials.js';
import type { Database, Queryable } from '../postgres/database.js';
import { refuse } from '../values/refusal.js';
import { isAsSealedLast, type OperatorRow, type SealedOperator } from './operator.js';
import {
  ALL_SESSIONS,
  END_SESSION,
  END_SESSION_BY_ID,
  END_SESSIONS_OF,
  FIND_SESSION,
  FORGET_SESSIONS,
  LIST_SESSIONS,
  LOCK_SESSION,
  NOW_MS,
  OPEN_SESSION,
  PROVE_SESSION,
  SEE_SESSION,
} from './sessions.sql.js';

/**
 * A link lets somebody in only as far as to say how they will sign in from then on. `command_line`: a token, which shows who runs
 * commands and opens no page.
 */
export type SessionStage = 'enrolling' | 'signed_in' | 'command_line';

export type SignInMethod = 'link' | 'demo' | 'passkey' | 'password' | 'provider';

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

/** All that the seal of a session covers: nobody who writes to the database lengthens one, or proves who they are. */
export interface SealedSession {
  readonly tag: Buffer;
  readonly operator: string;
  readonly stage: SessionStage;
  readonly method: SignInMethod;
  readonly address: string;
  readonly agent: string;
  readonly endsMs: number;
  /** When it was in use last. */
  readonly seenMs: number;
  /** When its operator last proved who they are. */
  readonly provedMs: number;
}

type StoredSession = SealedSession & { readonly id: string; readonly sessionSeal: Buffer };

/** A session that goes on, and whose it is. */
export interface Session extends Pick<SealedSession, 'tag' | 'stage' | 'method' | 'endsMs'> {
  readonly stored: StoredSession;
  /** The database's time when it was found. */
  readonly foundMs: number;
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

export function sealOfSession(key: CredentialKey, session: SealedSession): Buffer {
  const { tag, operator, stage, method, address, agent, endsMs, seenMs, provedMs } = session;
  // guard(sessions: sealed with when it was in use, and when it was proved): endsMs, seenMs, provedMs] ⇒ endsMs, typeof seenMs, typeof provedMs]
  const times = [endsMs, seenMs, provedMs];
  return key.macOf(['tollgate session', hex(tag), operator, stage, method, address, agent, ...times]);
}

function isSealedSession(key: CredentialKey, session: StoredSession): boolean {
  return sameBytes(sealOfSession(key, session), session.sessionSeal);
}

const subjectOf = ({ id }: StoredSession) => `session/${id}`;

/** Each with whether it is as it was sealed. */
export async function verifySessions(
  database: Queryable,
  key: CredentialKey,
): Promise<{ readonly subject: string; readonly isRight: boolean }[]> {
  const { rows } = await database.query<StoredSession>(ALL_SESSIONS);
  return rows.map((row) => ({ subject: subjectOf(row), isRight: isSealedSession(key, row) }));
}

/** Returns what the browser is to keep: nobody can make it of what is stored. */
export async function openSession(
  database: Queryable,
  key: CredentialKey,
  { operator, stage, method, address, agent: called, lastsMs }: NewSession,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  const tag = key.tagOfToken('session', token);
  const agent = called.slice(0, LONGEST_AGENT);
  const nowMs = await databaseTime(database);
  const times = { endsMs: nowMs + (lastsMs ?? LASTS[stage]), seenMs: nowMs, provedMs: nowMs };
  const session = { tag, operator, stage, method, address, agent, ...times };
  await database.query(FORGET_SESSIONS);
  await database.query(OPEN_SESSION, [...Object.values(session), sealOfSession(key, session)]);
  return token;
}

/** What ends, ends by the database's clock: it is one and the same for all processes. */
export async function databaseTime(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ nowMs: number }>(NOW_MS);
  return (rows[0] as { nowMs: number }).nowMs;
}

type SessionRow = OperatorRow &
  StoredSession & {
    readonly nowMs: number;
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
  // guard(sessions: one that was changed in the database is none): !isSealedSession(key, row) ⇒ row.name === ''
  if (!isSealedSession(key, row)) {
    await reportMisfit(database, subjectOf(row), 'changed');
    return undefined;
  }
  if (!(await isAsSealedLast(database, key, row))) return undefined;
  const { tag, stage, method, endsMs, nowMs: foundMs, notSeenLately, provedLately } = row;
  const known = { tag, stage, method, endsMs, foundMs, seenLately: !notSeenLately, provedLately };
  return { ...known, stored: row, operator: row };
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

/** That its operator is there. */
export async function seeSession(
  database: Queryable,
  key: CredentialKey,
  { tag, stored, foundMs: seenMs }: Session,
): Promise<void> {
  const seal = sealOfSession(key, { ...stored, seenMs });
  await database.query(SEE_SESSION, [tag, seenMs, seal, stored.sessionSeal]);
}

/** That its operator has proved again who they are. */
export async function proveSession(
  database: Queryable,
  key: CredentialKey,
  actor: string,
  { tag, operator }: Session,
  method: SignInMethod,
): Promise<void> {
  await database.transaction(async (connection) => {
    const [row] = (await connection.query<StoredSession>(LOCK_SESSION, [tag])).rows;
    // It may have ended meanwhile; and what was changed in the database is not sealed as it is.
    // guard(sessions: one that was changed in the database is not sealed by a proof): && isSealedSession(key, row) ⇒
    if (row !== undefined && isSealedSession(key, row)) {
      const nowMs = await databaseTime(connection);
      const seal = sealOfSession(key, { ...row, seenMs: nowMs, provedMs: nowMs });
      await connection.query(PROVE_SESSION, [tag, nowMs, seal]);
    }
    await journal(connection, { actor, action: 'operator.proved', detail: `${operator.name}: ${method}` });
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
