// What it takes to be a user, what somebody says who it is, and whether the one meets the other.
import type { OrganisationId } from '../../values/ids.js';
import { isAdmitted, type ShownCertificate } from './client-certificate.js';
import { type CredentialKey, type SealedUser, sameBytes } from './credentials.js';

/** What it takes to be a user. */
export type Required = Pick<
  SealedUser,
  | 'organisationId'
  | 'username'
  | 'secretTag'
  | 'previousSecretTag'
  | 'previousUntilMs'
  | 'expiresMs'
  | 'clientCertificates'
>;

/** What somebody says who it is. */
export interface LogIn {
  readonly username: string;
  readonly secret: string;
  readonly certificate: ShownCertificate | undefined;
}

/** Who tries to log in has none yet. */
export const NO_ORGANISATION = 0;
const NO_TAG = Buffer.alloc(32);

/** What an unknown user is held against. */
export const NOBODY: Required = {
  organisationId: NO_ORGANISATION as OrganisationId,
  username: '',
  secretTag: null,
  previousSecretTag: null,
  previousUntilMs: null,
  expiresMs: null,
  clientCertificates: [],
};

/** Until when what was said is right, if it is now. Everything is always looked at. */
export function metUntil(
  key: CredentialKey,
  required: Required,
  { secret, certificate }: LogIn,
): number | undefined {
  const nowMs = Date.now();
  const { clientCertificates, previousUntilMs, expiresMs } = required;
  const tag = key.tagOf(required, secret);
  const isCurrent = sameBytes(tag, required.secretTag ?? NO_TAG);
  const isPrevious = sameBytes(tag, required.previousSecretTag ?? NO_TAG);
  const isCertified = isAdmitted(certificate, clientCertificates, nowMs);
  // guard(client certificates: a user that is bound to one must show it): !isCertified ⇒ (!isCertified && certificate !== undefined)
  if (!isCertified || !(isCurrent || isPrevious)) return undefined;
  const untilMs = Math.min(
    // guard(credentials: a user ends when it was said to): expiresMs ?? Number.POSITIVE_INFINITY, ⇒
    expiresMs ?? Number.POSITIVE_INFINITY,
    // guard(credentials: the secret before ends when it was said to): ? Number.POSITIVE_INFINITY : (previousUntilMs ?? 0) ⇒ || previousUntilMs !== null ? Number.POSITIVE_INFINITY : 0
    isCurrent ? Number.POSITIVE_INFINITY : (previousUntilMs ?? 0),
    (clientCertificates.length > 0 ? certificate?.expiresAtMs : undefined) ?? Number.POSITIVE_INFINITY,
  );
  return nowMs < untilMs ? untilMs : undefined;
}

export function requiredOf(user: SealedUser): Required {
  const { organisationId, username, secretTag, previousSecretTag, previousUntilMs, expiresMs } = user;
  const { clientCertificates } = user;
  return {
    organisationId,
    username,
    secretTag,
    previousSecretTag,
    previousUntilMs,
    expiresMs,
    clientCertificates,
  };
}

export function isSame(one: Required, other: Required): boolean {
  const [ours, theirs] = [one.clientCertificates, other.clientCertificates];
  return (
    isSameTag(one.secretTag, other.secretTag) &&
    isSameTag(one.previousSecretTag, other.previousSecretTag) &&
    one.previousUntilMs === other.previousUntilMs &&
    one.expiresMs === other.expiresMs &&
    // guard(client certificates: a user that is bound later is asked at once): ours.length === theirs.length && ⇒
    ours.length === theirs.length &&
    ours.every((fingerprint, index) => fingerprint.equals(theirs[index] as Buffer))
  );
}

function isSameTag(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}
