// How operators sign in: by the link that another operator has made for them, once; then by a passkey, by a password and a code, or by the
// word of an identity provider. Whatever is wrong, whoever tries learns no more than that.
import { journal } from '../../journal/journal.js';
import { type CredentialKey, sameBytes } from '../../organisations/users/credentials.js';
import type { Queryable } from '../../postgres/database.js';
import { Refusal, refuse } from '../../values/refusal.js';
import { disabledOperators, sealOfSignIn } from '../idle-operators.js';
import {
  changeOperator,
  isAsSealedLast,
  type OperatorRow,
  type Passkey,
  type SealedOperator,
} from '../operator.js';
import { FIND_OPERATOR, LIST_OPERATORS } from '../operators.sql.js';
import { databaseTime, openSession, type Session, type SignInMethod } from '../sessions.js';
import { type Attempt, attemptSucceeded, beginAttempt, knowsDevice, rememberDevice } from './attempts.js';
import type { Passwords } from './password.js';
import {
  FIND_BY_PASSKEY,
  FIND_BY_SUBJECT,
  FORGET_CHALLENGES,
  STORE_SIGN_IN,
  USE_CHALLENGE,
  USE_CODE,
  USE_PASSKEY,
} from './sign-in.sql.js';
import { stepOf, type TotpSeals } from './totp.js';

/** Where somebody signs in. */
export interface Visitor {
  readonly address: string;
  readonly agent: string;
  /** An HMAC of what the browser has kept from an earlier sign-in, if it has. */
  readonly device?: Buffer | undefined;
}

export interface PasswordAndCode {
  readonly password: string;
  readonly code: string;
}

export interface PasswordMeans {
  readonly key: CredentialKey;
  readonly passwords: Passwords;
  readonly totp: TotpSeals;
  /** Called with the tenth wrong password under a name. The name is not given: it may be a password. */
  readonly onLocked: (from: string) => void;
}

/** The browser in which a link is opened. */
interface OpeningBrowser {
  readonly device: Buffer | undefined;
  /** Who is signed in there. */
  readonly signedIn: string | undefined;
}

/** Uses the link up. */
export async function useLink(
  database: Queryable,
  key: CredentialKey,
  name: string,
  token: string,
  browser: OpeningBrowser,
): Promise<SealedOperator> {
  const change = { actor: `operator:${name}`, action: 'operator.link_used' } as const;
  await needInvited(database, key, name, token, browser);
  try {
    return await changeOperator(database, key, name, change, async (operator, connection) => {
      const { linkTag, linkUntilMs, removed } = operator;
      const isRight = linkTag !== null && sameBytes(linkTag, key.tagOfLink(name, token));
      const isInTime = linkUntilMs !== null && linkUntilMs > (await databaseTime(connection));
      if (removed || !isRight || !isInTime) refuse('sign_in_link_refused');
      return { linkTag: null, linkUntilMs: null };
    });
  } catch (error) {
    throw error instanceof Refusal ? new Refusal('sign_in_link_refused', undefined) : error;
  }
}

/** A link is for whom it was made: not in a browser in which whoever made it is signed in, or ever was. The journal has the attempt. */
async function needInvited(
  database: Queryable,
  key: CredentialKey,
  name: string,
  token: string,
  { device, signedIn: current }: OpeningBrowser,
): Promise<void> {
  const operator = await findOperator(database, key, name);
  // Without the right token nobody learns who made it.
  if (!operator?.linkTag || !sameBytes(operator.linkTag, key.tagOfLink(name, token))) return;
  const made = operator.history.findLast(({ action }) => MAKES_LINK.includes(action));
  const by = made?.by.replace(/^operator:/, '') ?? name;
  const isInviter = by !== name && (current === by || (await knowsDevice(database, by, device)));
  // guard(second person: nobody opens the link that they made for another): if (!isInviter) return; ⇒ if (by !== '') return;
  if (!isInviter) return;
  const detail = `sign-in link of ${name}, in a browser of ${by}`;
  await journal(database, { actor: `operator:${by}`, action: 'operator.refused', detail });
  refuse('sign_in_link_opened_by_inviter', { name, by });
}

const MAKES_LINK: readonly string[] = ['operator.added', 'operator.link_made'];

/** By a password and a code. Returns what the browser is to keep. */
export async function signInByPassword(
  database: Queryable,
  means: PasswordMeans,
  name: string,
  given: PasswordAndCode,
  visitor: Visitor,
): Promise<string> {
  const operator = await findOperator(database, means.key, name);
  const { address, device } = visitor;
  const attempt = await beginAttempt(database, means.key, name, address, device);
  const isRight = await knowsBoth(database, means, operator, given);
  if (operator === undefined || !isRight) return failed(database, means, operator, attempt);
  await refuseDisabled(database, means.key, operator, 'password');
  return database.transaction(async (connection) => {
    await attemptSucceeded(connection, attempt);
    return signedIn(connection, means.key, operator, 'password', visitor);
  });
}

/** For one who is signed in: that they still know their password, and have their codes. */
export async function proveByPassword(
  database: Queryable,
  means: PasswordMeans,
  { operator }: Session,
  given: PasswordAndCode,
  { address, device }: Visitor,
): Promise<void> {
  const attempt = await beginAttempt(database, means.key, operator.name, address, device);
  if (!(await knowsBoth(database, means, operator, given))) await failed(database, means, operator, attempt);
  await attemptSucceeded(database, attempt);
}

async function failed(
  database: Queryable,
  { onLocked }: PasswordMeans,
  operator: SealedOperator | undefined,
  { isLast, from }: Attempt,
): Promise<never> {
  await journalFailure(database, operator, 'password', isLast ? 'locked for half an hour' : undefined);
  if (isLast) onLocked(from);
  return refuse('sign_in_failed');
}

/** Only for somebody who has proved who they are: nobody else learns that the operator exists. */
export async function refuseDisabled(
  database: Queryable,
  key: CredentialKey,
  operator: SealedOperator,
  method: SignInMethod,
): Promise<void> {
  const { name } = operator;
  const { rows } = await database.query<OperatorRow>(LIST_OPERATORS);
  // guard(sign-in: not while disabled): if (!disabledOperators(rows, key, await databaseTime(database)).has(name)) return; ⇒ if (rows.length > 0) return;
  if (!disabledOperators(rows, key, await databaseTime(database)).has(name)) return;
  await journalFailure(database, operator, method, 'disabled, no sign-in for 90 days');
  refuse('operator_disabled', { name });
}

/** Takes as long where there is nobody, or nothing to be right. The code is used up only beside the right password. */
async function knowsBoth(
  database: Queryable,
  { passwords, totp }: PasswordMeans,
  operator: SealedOperator | undefined,
  given: PasswordAndCode,
): Promise<boolean> {
  // A code belongs to the time at which it came: the passwords of others may be looked at before this one.
  const nowMs = await databaseTime(database);
  const isRight = await passwords.isRight(given.password, operator?.password ?? null);
  if (!isRight || operator === undefined || operator.totp === null) return false;
  const secret = totp.open(operator.totp, operator.name);
  const step = secret && stepOf(secret, given.code, nowMs);
  return step !== undefined && useCode(database, operator.name, step);
}

/** False where it, or a later one, was used before. */
export async function useCode(database: Queryable, name: string, step: number): Promise<boolean> {
  return (await database.query(USE_CODE, [name, step])).count === 1;
}

export interface PasskeyOwner {
  readonly operator: SealedOperator;
  readonly passkey: Passkey;
  /** How often it has signed. */
  readonly counter: number;
}

/** Undefined where nobody has it who may sign in. */
export async function findByPasskey(
  database: Queryable,
  key: CredentialKey,
  id: string,
): Promise<PasskeyOwner | undefined> {
  const { rows } = await database.query<OperatorRow & { counter: number }>(FIND_BY_PASSKEY, [
    JSON.stringify([{ id }]),
    id,
  ]);
  const operator = await whoMaySignIn(database, key, rows);
  const passkey = operator?.passkeys.find((each) => each.id === id);
  return operator && passkey && { operator, passkey, counter: operator.counter };
}

/** By a passkey that has answered its challenge. */
export async function signInByPasskey(
  database: Queryable,
  key: CredentialKey,
  { operator, passkey }: PasskeyOwner,
  counter: number,
  visitor: Visitor,
): Promise<string> {
  await refuseDisabled(database, key, operator, 'passkey');
  return database.transaction(async (connection) => {
    await usePasskey(connection, operator.name, passkey.id, counter);
    return signedIn(connection, key, operator, 'passkey', visitor);
  });
}

export async function usePasskey(
  connection: Queryable,
  name: string,
  id: string,
  counter: number,
): Promise<void> {
  if ((await connection.query(USE_PASSKEY, [name, id, counter])).count === 0) refuse('passkey_refused');
}

/** What an identity provider says of somebody. */
export interface ProvidersWord {
  /** What it calls them, for good. */
  readonly subject: string;
  /** The name of an operator, where it says one. */
  readonly name: string | undefined;
}

/** Operators who are there: nobody becomes one by it. The first time it is by the name; from then on by the subject alone. */
export async function signInByProvider(
  database: Queryable,
  key: CredentialKey,
  { subject, name }: ProvidersWord,
  visitor: Visitor,
): Promise<string> {
  const { rows } = await database.query<OperatorRow>(FIND_BY_SUBJECT, [subject]);
  const bound = await whoMaySignIn(database, key, rows);
  const operator = bound ?? (name === undefined ? undefined : await findOperator(database, key, name));
  if (operator === undefined || (bound === undefined && operator.providerSubject !== null)) {
    await journalFailure(database, operator, 'provider');
    refuse('provider_refused');
  }
  await refuseDisabled(database, key, operator, 'provider');
  return database.transaction(async (connection) => {
    if (bound === undefined) await bindSubject(connection, key, operator.name, subject);
    return signedIn(connection, key, operator, 'provider', visitor);
  });
}

async function bindSubject(
  connection: Queryable,
  key: CredentialKey,
  name: string,
  subject: string,
): Promise<void> {
  const change = { actor: `operator:${name}`, action: 'operator.enrolled', detail: 'provider' } as const;
  await changeOperator(connection, key, name, change, ({ providerSubject, removed }) => {
    if (removed || (providerSubject !== null && providerSubject !== subject)) refuse('provider_refused');
    return { providerSubject: subject };
  });
}

export function isSubjectOf({ providerSubject }: SealedOperator, subject: string): boolean {
  return providerSubject === subject;
}

/** Of two who answer the same challenge, the database lets one through. */
export async function useChallenge(
  database: Queryable,
  key: CredentialKey,
  challenge: string,
  untilMs: number,
): Promise<void> {
  await database.query(FORGET_CHALLENGES);
  const tag = key.tagOfToken('challenge', challenge);
  if ((await database.query(USE_CHALLENGE, [tag, untilMs])).count === 0) refuse('passkey_refused');
}

/** A session, which the journal knows of. */
export async function signedIn(
  connection: Queryable,
  key: CredentialKey,
  { name, organisationId }: SealedOperator,
  method: SignInMethod,
  { address, agent, device }: Visitor,
): Promise<string> {
  const session = { operator: name, stage: 'signed_in', method, address, agent } as const;
  const token = await openSession(connection, key, session);
  const nowMs = await databaseTime(connection);
  await connection.query(STORE_SIGN_IN, [name, nowMs, sealOfSignIn(key, name, nowMs)]);
  if (device !== undefined) await rememberDevice(connection, name, device);
  await journal(connection, {
    actor: `operator:${name}`,
    action: 'operator.signed_in',
    organisationId: organisationId ?? undefined,
    detail: `${name}: ${method}`,
  });
  return token;
}

/** What was typed as a name that nobody has stands nowhere: it may be a password. */
export async function journalFailure(
  database: Queryable,
  operator: SealedOperator | undefined,
  method: SignInMethod,
  more?: string,
): Promise<void> {
  const name = operator?.name ?? 'unknown';
  await journal(database, {
    actor: `operator:${name}`,
    action: 'operator.sign_in_failed',
    organisationId: operator?.organisationId ?? undefined,
    detail: [`${name}: ${method}`, ...(more === undefined ? [] : [more])].join(', '),
  });
}

/** One who may sign in. */
async function findOperator(
  database: Queryable,
  key: CredentialKey,
  name: string,
): Promise<SealedOperator | undefined> {
  const { rows } = await database.query<OperatorRow>(FIND_OPERATOR, [name]);
  return whoMaySignIn(database, key, rows);
}

async function whoMaySignIn<Row extends OperatorRow>(
  database: Queryable,
  key: CredentialKey,
  rows: readonly Row[],
): Promise<Row | undefined> {
  for (const row of rows) if (!row.removed && (await isAsSealedLast(database, key, row))) return row;
  return undefined;
}
