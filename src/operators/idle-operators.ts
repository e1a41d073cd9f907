// Operators who have not signed in for a long time. They are disabled: they cannot sign in until another administrator enables them.
import { type CredentialKey, sameBytes } from '../organisations/users/credentials.js';
import { administersAll, isSealedOperator, type OperatorRow } from './operator.js';

/** PCI DSS 8.2.6. */
export const IDLE_DAYS = 90;
const IDLE_MS = IDLE_DAYS * 86_400_000;

/** Of a sign-in. Somebody who can only write to the database cannot make an operator look active. */
export function sealOfSignIn(key: CredentialKey, name: string, signedInMs: number): Buffer {
  return key.macOf(['tollgate sign-in of an operator', name, signedInMs]);
}

/** Null: never, as far as it is recorded. */
export function lastSignInMs(
  { name, enabledMs, signedInMs, signedInSeal }: OperatorRow,
  key: CredentialKey,
): number | null {
  if (signedInMs === null) return null;
  // An operator who was added by an earlier release has neither seal until they sign in.
  const isFromBefore = enabledMs === null && signedInSeal === null;
  const isSealed = signedInSeal !== null && sameBytes(sealOfSignIn(key, name, signedInMs), signedInSeal);
  // guard(operators: a sign-in that was made up keeps nobody active): isFromBefore || isSealed ⇒ isFromBefore || isSealed || true
  return isFromBefore || isSealed ? signedInMs : null;
}

/**
 * The names of those who are disabled. As long as no other administrator of the whole installation can sign in, an idle one still can:
 * nobody could enable them.
 */
export function disabledOperators(
  rows: readonly OperatorRow[],
  key: CredentialKey,
  nowMs: number,
): ReadonlySet<string> {
  const there = rows.filter(({ removed, isDemo }) => !removed && !isDemo);
  const idle = new Set(there.filter((row) => isIdle(row, key, nowMs)));
  const isAdministered = there.some(
    (row) =>
      !idle.has(row) && administersAll(row) && canSignIn(row, nowMs) && isSealedOperator(key, row, row.seal),
  );
  const disabled = [...idle].filter((row) => isAdministered || !administersAll(row));
  return new Set(disabled.map(({ name }) => name));
}

function isIdle(row: OperatorRow, key: CredentialKey, nowMs: number): boolean {
  const lastMs = Math.max(row.enabledMs ?? row.createdMs, lastSignInMs(row, key) ?? 0);
  // guard(operators: disabled after 90 days without a sign-in): nowMs - lastMs > IDLE_MS ⇒ nowMs - lastMs > 1_000 * IDLE_MS
  return nowMs - lastMs > IDLE_MS;
}

function canSignIn(
  { password, passkeys, providerSubject, linkUntilMs }: OperatorRow,
  nowMs: number,
): boolean {
  const hasMeans = password !== null || passkeys.length > 0 || providerSubject !== null;
  return hasMeans || (linkUntilMs !== null && linkUntilMs > nowMs);
}
