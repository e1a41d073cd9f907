// The seals of operators and of their sessions, under the key that users are sealed under.
import { type CredentialKey, hex, sameBytes } from '../organisations/users/credentials.js';
import type { SealedOperator, SealedSession } from './operator.js';

export function sealOfOperator(key: CredentialKey, operator: SealedOperator): Buffer {
  const { name, role, organisationId, linkTag, linkUntilMs, version, removed } = operator;
  const parts = [name, role, organisationId, hex(linkTag), linkUntilMs, version, removed];
  return key.macOf(['tollgate operator', ...parts, ...meansOf(operator)]);
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
