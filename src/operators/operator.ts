// An operator as its row has it, and as it was sealed, under the key that users are sealed under: the console lets nobody in who is not
// as it was sealed. Each change is sealed anew, and journalled with it.
import { type JournalAction, journal } from '../journal/journal.js';
import { checkSeal, fitNow, reportMisfit, type SealedRow } from '../journal/seals.js';
import { type CredentialKey, hex, sameBytes } from '../organisations/users/credentials.js';
import type { Queryable } from '../postgres/database.js';
import type { OperatorRole } from '../tasks/task.js';
import type { OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { LOCK_OPERATOR, STORE_OPERATOR } from './operators.sql.js';
import { NOW_MS } from './sessions.sql.js';

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

/** That somebody else added, linked, changed or removed this operator. */
export interface Handling {
  /** As the journal names them. */
  readonly by: string;
  readonly action: JournalAction;
  readonly atMs: number;
  /** The role and the organisation before that, of an operator who could sign in. */
  readonly was: readonly [role: OperatorRole, organisation: OrganisationId | null] | null;
}

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
  /** Who added this operator, and who else changed them lately: the oldest first. */
  readonly history: readonly Handling[];
  /** The last passwords, the newest first, as they were stored. They are not allowed again. */
  readonly formerPasswords: readonly string[];
  /** When the operator was added, or enabled again. Null: before this was recorded. */
  readonly enabledMs: number | null;
}

export function sealOfOperator(key: CredentialKey, operator: SealedOperator): Buffer {
  const { name, role, organisationId, linkTag, linkUntilMs, version, removed } = operator;
  const parts = [name, role, organisationId, hex(linkTag), linkUntilMs, version, removed];
  const history = operator.history.map(({ by, action, atMs, was }) => [by, action, atMs, was]);
  return key.macOf([
    'tollgate operator',
    ...parts,
    ...meansOf(operator),
    ...furtherOf(operator),
    // Rows of a time before the history are sealed without one.
    // guard(second person: sealed with who added them): ...(history.length > 0 ? [history] : []), ⇒
    ...(history.length > 0 ? [history] : []),
  ]);
}

export function isSealedOperator(key: CredentialKey, operator: SealedOperator, seal: Buffer | null): boolean {
  return seal !== null && sameBytes(sealOfOperator(key, operator), seal);
}

/** Nothing for an operator that was sealed before there was any of it: such a seal still holds. */
function furtherOf({ formerPasswords, enabledMs }: SealedOperator): unknown[] {
  return formerPasswords.length === 0 && enabledMs === null ? [] : [{ formerPasswords, enabledMs }];
}

export function canSignIn({ password, totp, passkeys, providerSubject }: SignInMeans): boolean {
  return password !== null || totp !== null || passkeys.length > 0 || providerSubject !== null;
}

/** Nothing for one that cannot sign in yet. */
function meansOf(operator: SealedOperator): unknown[] {
  const { password, totp, passkeys, providerSubject, isDemo } = operator;
  // In an order of its own: the database keeps members of JSON in another.
  const keys = passkeys.map(({ id, publicKey, label, transports, addedMs }) => [
    id,
    publicKey,
    label,
    transports,
    addedMs,
  ]);
  return canSignIn(operator) || isDemo ? [password, hex(totp), keys, providerSubject, isDemo] : [];
}

export type OperatorRow = SealedOperator & {
  readonly seal: Buffer | null;
  /** Of the journal, behind its version. */
  readonly newest: Buffer | null;
  readonly createdMs: number;
  /** The last sign-in has a seal of its own: it changes nothing of what the operator may do. */
  readonly signedInMs: number | null;
  readonly signedInSeal: Buffer | null;
};

/** Whether they may add and enable others, everywhere. */
export function administersAll({ role, organisationId }: SealedOperator): boolean {
  return role === 'administrator' && organisationId === null;
}

/** For the journal: an earlier row of an operator is as it was sealed, but its seal is not the last. */
export function journalledOperator({ name, seal }: Pick<OperatorRow, 'name' | 'seal'>): SealedRow {
  return { subject: `operator/${name}`, state: [hex(seal)] };
}

/** Whether the row is as it was sealed last: nobody has made it up, given it a role, or put an earlier one back. */
export async function isAsSealedLast(
  database: Queryable,
  key: CredentialKey,
  row: OperatorRow,
): Promise<boolean> {
  if (!isSealedOperator(key, row, row.seal)) {
    await reportMisfit(database, journalledOperator(row).subject, 'changed');
    return false;
  }
  const fit = await fitNow(database, { ...journalledOperator(row), newest: row.newest });
  // guard(operators: nobody whose earlier row was put back): fit.kind === 'fits' ⇒ fit.version >= 0
  return fit.kind === 'fits';
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
    if (!isNew && !evenBroken) {
      if (!isSealedOperator(key, before, before.seal)) refuse('operator_seal_broken', { name });
      await checkSeal(connection, journalledOperator(before));
    }
    const wanted = await work(before, connection);
    const history = await historyAfter(connection, before, actor, action);
    const changed = { ...before, ...wanted, history, version: before.version + 1 };
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
      JSON.stringify(operator.history),
      JSON.stringify(operator.formerPasswords),
      operator.enabledMs,
    ]);
    const entry = {
      actor,
      action,
      ...(operator.organisationId !== null && { organisationId: operator.organisationId }),
      detail: detail === undefined ? name : `${name}: ${detail}`,
    };
    await journal(connection, entry, journalledOperator(operator));
    return operator;
  });
}

/** For so long whoever added, linked or changed somebody is not told apart from them. */
export const NOT_INDEPENDENT_MS = 7 * 86_400_000;

/** Who added somebody stays; what is too old to count goes. */
async function historyAfter(
  connection: Queryable,
  { name, history, role, organisationId, removed, ...means }: SealedOperator,
  actor: string,
  action: JournalAction,
): Promise<readonly Handling[]> {
  if (actor === `operator:${name}`) return history;
  const { rows } = await connection.query<{ nowMs: number }>(NOW_MS);
  const { nowMs: atMs } = rows[0] as { nowMs: number };
  const kept = history.filter(
    (each) => each.action === 'operator.added' || each.atMs > atMs - NOT_INDEPENDENT_MS,
  );
  const was = !removed && canSignIn(means) ? ([role, organisationId] as const) : null;
  return [...kept, { by: actor, action, atMs, was }];
}
