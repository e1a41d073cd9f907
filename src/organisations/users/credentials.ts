// Secrets of users, and the seals of users: made here, under a key that is not in the database. Whoever can only write to the database
// can make neither, nor move one to another user, nor widen what a user may do.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SealedOperator, SealedSession } from '../../operators/operator.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { Permission } from './permissions.js';

/** Everything that a seal covers. */
export interface SealedUser {
  readonly username: string;
  readonly userId: number;
  readonly organisationId: OrganisationId;
  readonly assignedMerchantId: MerchantId;
  /** In the order of their numbers. */
  readonly grants: readonly number[];
  readonly permissions: readonly Permission[];
  /** Networks; none: from everywhere. */
  readonly fromAddresses: readonly string[];
  readonly expiresMs: number | null;
  /** Of which one has to be shown, if there are any. */
  readonly clientCertificates: readonly Buffer[];
  readonly revoked: boolean;
  readonly version: number;
  readonly secretTag: Buffer | null;
  /** Of the secret before this one, and up to when it works, too. */
  readonly previousSecretTag: Buffer | null;
  readonly previousUntilMs: number | null;
}

type SecretOwner = Pick<SealedUser, 'username' | 'organisationId'>;

/** 192 random bits: nobody guesses it, so a fast digest is enough. */
export function makeSecret(): string {
  return randomBytes(24).toString('base64url');
}

function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}

export class CredentialKey {
  constructor(private readonly key: Buffer) {}

  tagOf({ username, organisationId }: SecretOwner, secret: string): Buffer {
    // guard(credentials: a secret is bound to the name of its user): username, ⇒ username.length > 0,
    return this.#mac(['tollgate secret of a user', organisationId, username, digestOf(secret)]);
  }

  sealOf(user: SealedUser): Buffer {
    return this.#mac([
      'tollgate user',
      user.username,
      user.userId,
      user.organisationId,
      user.assignedMerchantId,
      // guard(callers: sealed with the merchants that they were given): , ⇒ .length >= 0,
      user.grants,
      // guard(callers: sealed with what they may do): , ⇒ .length >= 0,
      user.permissions,
      user.fromAddresses,
      user.expiresMs,
      user.clientCertificates.map(hex),
      // guard(callers: sealed with that they are revoked): revoked, ⏎ user.version, ⏎ hex(user.secretTag) ⇒ version >= 0
      user.revoked,
      user.version,
      hex(user.secretTag),
      // guard(callers: sealed with the secret before, and its end): hex(user.previousSecretTag), ⏎ user.previousUntilMs, ⇒
      hex(user.previousSecretTag),
      user.previousUntilMs,
    ]);
  }

  tagOfLink(name: string, token: string): Buffer {
    return this.#mac(['tollgate sign-in link of an operator', name, digestOf(token)]);
  }

  sealOfOperator(operator: SealedOperator): Buffer {
    const { name, role, organisationId, linkTag, linkUntilMs, version, removed } = operator;
    const parts = [name, role, organisationId, hex(linkTag), linkUntilMs, version, removed];
    return this.#mac(['tollgate operator', ...parts, ...meansOf(operator)]);
  }

  isSealedOperator(operator: SealedOperator, seal: Buffer | null): boolean {
    return seal !== null && sameBytes(this.sealOfOperator(operator), seal);
  }

  /** By which a session is found, and a challenge known again. */
  tagOfToken(purpose: 'session' | 'challenge' | 'device', token: string): Buffer {
    return this.#mac([`tollgate ${purpose} of an operator`, digestOf(token)]);
  }

  sealOfSession({ tag, operator, stage, method, endsMs }: SealedSession): Buffer {
    return this.#mac(['tollgate session', hex(tag), operator, stage, method, endsMs]);
  }

  isSealedSession(session: SealedSession, seal: Buffer): boolean {
    return sameBytes(this.sealOfSession(session), seal);
  }

  /** A key for one purpose, which tells nothing of this one. */
  keyFor(purpose: string): Buffer {
    return this.#mac(['tollgate key for', purpose]);
  }

  isSealed(user: SealedUser, seal: Buffer | null): boolean {
    return seal !== null && sameBytes(this.sealOf(user), seal);
  }

  #mac(parts: readonly unknown[]): Buffer {
    return createHmac('sha256', this.key).update(JSON.stringify(parts)).digest();
  }
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

/** In a time that does not tell where they differ. */
export function sameBytes(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function hex(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString('hex');
}
