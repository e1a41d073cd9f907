// Secrets of users, and the seals of users: made here, under a key that is not in the database. Whoever can only write to the database
// can make neither, nor move one to another user, nor widen what a user may do.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SealedRow } from '../../journal/seals.js';
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
  /** The installation under whose key the secrets are tagged, if they were made in another cell. */
  readonly secretFrom: string | null;
  readonly previousSecretFrom: string | null;
}

/** For the journal: an earlier row of a user is as it was sealed, but its seal is not the last. */
export function journalledUser({
  username,
  seal,
}: Pick<SealedUser, 'username'> & { readonly seal: Buffer | null }): SealedRow {
  return { subject: `user/${username}`, state: [hex(seal)] };
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
  readonly #others = new Map<string, Promise<CredentialKey>>();

  constructor(
    private readonly key: Buffer,
    /** Opens the key of another installation, from whose cell users have come. */
    private readonly open?: (installation: string) => Promise<Buffer>,
  ) {}

  /** The key under which that installation has tagged secrets; this one for none. */
  async of(installation: string | null): Promise<CredentialKey> {
    if (installation === null) return this;
    let other = this.#others.get(installation);
    if (other === undefined) {
      if (this.open === undefined)
        throw new Error(`the key of installation ${installation} cannot be opened here`);
      other = this.open(installation).then((key) => new CredentialKey(key));
      this.#others.set(installation, other);
      other.catch(() => this.#others.delete(installation));
    }
    return other;
  }

  tagOf({ username, organisationId }: SecretOwner, secret: string): Buffer {
    // guard(credentials: a secret is bound to the name of its user): username, ⇒ username.length > 0,
    return this.macOf(['tollgate secret of a user', organisationId, username, digestOf(secret)]);
  }

  sealOf(user: SealedUser): Buffer {
    return this.macOf([
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
      ...sendersOf(user),
    ]);
  }

  tagOfLink(name: string, token: string): Buffer {
    return this.macOf(['tollgate sign-in link of an operator', name, digestOf(token)]);
  }

  /** By which a session is found, and a challenge, a device or a name that was typed known again. */
  tagOfToken(purpose: 'session' | 'challenge' | 'device' | 'name', token: string): Buffer {
    return this.macOf([`tollgate ${purpose} of an operator`, digestOf(token)]);
  }

  /** A key for one purpose, which tells nothing of this one. */
  keyFor(purpose: string): Buffer {
    return this.macOf(['tollgate key for', purpose]);
  }

  isSealed(user: SealedUser, seal: Buffer | null): boolean {
    return seal !== null && sameBytes(this.sealOf(user), seal);
  }

  /** Of anything else that is sealed under this key. The first part says what it is. */
  macOf(parts: readonly unknown[]): Buffer {
    return createHmac('sha256', this.key).update(JSON.stringify(parts)).digest();
  }
}

/** Nothing for users whose secrets were made here: their seals are as they were before there were cells. */
function sendersOf({ secretFrom, previousSecretFrom }: SealedUser): (string | null)[] {
  return secretFrom === null && previousSecretFrom === null ? [] : [secretFrom, previousSecretFrom];
}

/** In a time that does not tell where they differ. */
export function sameBytes(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

export function hex(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString('hex');
}
