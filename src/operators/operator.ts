// An operator as its row has it, and as it was sealed, under the key that users are sealed under: the console lets nobody in who is not
// as it was sealed. Each change is sealed anew, and journalled with it.
import { type JournalAction, journal } from '../journal/journal.js';
import { type CredentialKey, hex, sameBytes } from '../organisations/users/credentials.js';
import type { Queryable } from '../postgres/database.js';
import type { OperatorRole } from '../tasks/task.js';
import type { OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { LOCK_OPERATOR, STORE_OPERATOR } from './operators.sql.js';

/** A passkey: the public half of a key pair that never leaves its device. */
export interface Passkey {
  /** As the device calls it, in base64url. */
  readonly id: string;
  readonly publicKey: string;
  /** What the operator calls it. */
  readonly label: string;
  readonly transports: readonly string[];
  readonly addedMs: number;
}

/** How an operator signs in. */
export interface SignInMeans {
  /** As `src/operators/sign-in/password.ts` writes it. */
  readonly password: string | null;
  /** The secret of their codes, sealed. */
  readonly totp: Buffer | null;
  readonly passkeys: readonly Passkey[];
  readonly providerSubject: string | null;
}

export const NO_MEANS: SignInMeans = { password: null, totp: null, passkeys: [], providerSubject: null };

/** Everything that the seal covers. */
export interface SealedOperator extends SignInMeans {
  readonly name: string;
  readonly role: OperatorRole;
  /** Empty: of the whole installation. */
  readonly organisationId: OrganisationId | null;
  /** Of the sign-in link, and until when it works. */
  readonly linkTag: Buffer | null;
  readonly linkUntilMs: number | null;
  readonly version: number;
  readonly removed: boolean;
  readonly isDemo: boolean;
  /** The last passwords, the newest first, as they were stored. They are not allowed again. */
  readonly formerPasswords: readonly string[];
  /** When the operator was added, or enabled again. Null: before this was recorded. */
  readonly enabledMs: number | null;
}

/** What the seal of a session covers. */
export interface SealedSession {
  readonly tag: Buffer;
  readonly operator: string;
  readonly stage: SessionStage;
  readonly method: SignInMethod;
  readonly endsMs: number;
}

/** A link lets somebody in only as far as to say how they will sign in from then on. */
export type SessionStage = 'enrolling' | 'signed_in';

export type SignInMethod = 'link' | 'demo' | 'passkey' | 'password' | 'provider';

export function sealOfOperator(key: CredentialKey, operator: SealedOperator): Buffer {
  const { name, role, organisationId, linkTag, linkUntilMs, version, removed } = operator;
  const parts = [name, role, organisationId, hex(linkTag), linkUntilMs, version, removed];
  return key.macOf(['tollgate operator', ...parts, ...meansOf(operator), ...furtherOf(operator)]);
}

export function isSealedOperator(key: CredentialKey, operator: SealedOperator, seal: Buffer | null): boolean {
  return seal !== null && sameBytes(sealOfOperator(key, operator), seal);
}

export function sealOfSession(key: CredentialKey, session: SealedSession): Buffer {
  const { tag, operator, stage, method, endsMs } = session;
  return key.macOf(['tollgate session', hex(tag), operator, stage, method, endsMs]);
}

export function isSealedSession(key: CredentialKey, session: SealedSession, seal: Buffer): boolean {
  return sameBytes(sealOfSession(key, session), seal);
}

/** Nothing for an operator that was sealed before there was any of it: such a seal still holds. */
function furtherOf({ formerPasswords, enabledMs }: SealedOperator): unknown[] {
  return formerPasswords.length === 0 && enabledMs === null ? [] : [{ formerPasswords, enabledMs }];
}

/** Nothing for one that cannot sign in yet. */
function meansOf({ password, totp, passkeys, providerSubject, isDemo }: SealedOperator): unknown[] {
  const has = password !== null || totp !== null || passkeys.length > 0 || providerSubject !== null || isDemo;
  // In an order of its own: the database keeps members of JSON in another.
  const keys = passkeys.map(({ id, publicKey, label, transports, addedMs }) => [
    id,
    publicKey,
    label,
    transports,
    addedMs,
  ]);
  return has ? [password, hex(totp), keys, providerSubject, isDemo] : [];
}

export type OperatorRow = SealedOperator & {
  readonly seal: Buffer | null;
  readonly createdMs: number;
  /** The last sign-in has a seal of its own: it changes nothing of what the operator may do. */
  readonly signedInMs: number | null;
  readonly signedInSeal: Buffer | null;
};

/** Whether they may add and enable others, everywhere. */
export function administersAll({ role, organisationId }: SealedOperator): boolean {
  return role === 'administrator' && organisationId === null;
}

export interface OperatorChange {
  readonly actor: string;
  readonly action: JournalAction;
  readonly detail?: string | undefined;
  /** One that was added just now has no seal yet. */
  readonly isNew?: boolean;
  /** Also one that is not as it was sealed. */
  readonly evenBroken?: boolean;
}

/** `work` says what becomes of the operator, and may refuse. Two changes at the same time come one after the other. */
export function changeOperator(
  database: Queryable,
  key: CredentialKey,
  name: string,
  { actor, action, detail, isNew = false, evenBroken = false }: OperatorChange,
  work: (
    operator: SealedOperator,
    connection: Queryable,
  ) => Partial<SealedOperator> | Promise<Partial<SealedOperator>>,
): Promise<OperatorRow> {
  return database.transaction(async (connection) => {
    const { rows } = await connection.query<OperatorRow>(LOCK_OPERATOR, [name]);
    const before = rows[0] ?? refuse('operator_not_found', { name });
    if (!isNew && !evenBroken && !isSealedOperator(key, before, before.seal))
      refuse('operator_seal_broken', { name });
    const changed = { ...before, ...(await work(before, connection)), version: before.version + 1 };
    const operator = { ...changed, seal: sealOfOperator(key, changed) };
    await connection.query(STORE_OPERATOR, [
      name,
      operator.linkTag,
      operator.linkUntilMs,
      operator.version,
      operator.seal,
      operator.removed,
      operator.role,
      operator.organisationId,
      operator.password,
      operator.totp,
      JSON.stringify(operator.passkeys),
      operator.providerSubject,
      JSON.stringify(operator.formerPasswords),
      operator.enabledMs,
    ]);
    await journal(connection, {
      actor,
      action,
      ...(operator.organisationId !== null && { organisationId: operator.organisationId }),
      detail: detail === undefined ? name : `${name}: ${detail}`,
    });
    return operator;
  });
}
