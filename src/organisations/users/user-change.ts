// How a user is changed: in one transaction, sealed anew, and written into the journal. It is shown as it was sealed.
import { type JournalAction, journal } from '../../journal/journal.js';
import type { Queryable } from '../../postgres/database.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import { refuse } from '../../values/refusal.js';
import { shownFingerprint } from './client-certificate.js';
import type { CredentialKey, SealedUser } from './credentials.js';
import type { Permission } from './permissions.js';
import { FIND_USER_TO_CHANGE, STORE_USER } from './users.sql.js';

export interface UserView {
  readonly username: string;
  readonly organisation: OrganisationId;
  readonly merchant: MerchantId;
  readonly grants: readonly number[];
  /** What it may do. */
  readonly allow: readonly Permission[];
  /** Networks that it may call from; none: from everywhere. */
  readonly from_addresses: readonly string[];
  readonly expires: Date | null;
  /** Up to when the secret before the last rotation works, too. */
  readonly previous_secret_until: Date | null;
  /** Fingerprints of the certificates of which it must show one, as `AA:BB:…`; none where the secret is enough. */
  readonly client_certificates: readonly string[];
  readonly revoked: boolean;
  /** Whether it is as it was sealed. One that is not can do nothing. */
  readonly sealed: boolean;
}

export type UserRow = SealedUser & { readonly seal: Buffer | null };

export interface UserChange {
  readonly action: JournalAction;
  /** What the journal says beside the user's name. */
  readonly detail?: string | undefined;
  /** For the journal: another than the one that the user is assigned to. */
  readonly merchant?: number | undefined;
  /** A row that is not as it was sealed is changed all the same. */
  readonly evenBroken?: boolean;
  readonly work: (connection: Queryable, user: SealedUser) => Promise<Partial<SealedUser>>;
}

export function changeUser(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  username: string,
  { action, detail, merchant, evenBroken = false, work }: UserChange,
): Promise<UserView> {
  return database.transaction(async (connection) => {
    const before = await find(connection, username);
    if (!evenBroken && !key.isSealed(before, before.seal)) refuse('user_seal_broken', { username });
    const changed = await work(connection, before);
    // Its grants are rows of their own.
    const { grants } = await find(connection, username);
    const user = { ...before, ...changed, grants, version: before.version + 1 };
    await connection.query(STORE_USER, [
      username,
      user.permissions,
      user.fromAddresses,
      user.expiresMs,
      user.clientCertificates,
      user.secretTag,
      user.previousSecretTag,
      user.previousUntilMs,
      user.version,
      key.sealOf(user),
      user.revoked,
    ]);
    await journalUser(connection, operator, action, user, detail, merchant);
    return viewOf(user, true);
  });
}

async function find(connection: Queryable, username: string): Promise<UserRow> {
  const { rows } = await connection.query<UserRow>(FIND_USER_TO_CHANGE, [username]);
  return rows[0] ?? refuse('user_not_found', { username });
}

export function viewOf(user: SealedUser, sealed: boolean): UserView {
  return {
    username: user.username,
    organisation: user.organisationId,
    merchant: user.assignedMerchantId,
    grants: user.grants,
    allow: user.permissions,
    from_addresses: user.fromAddresses,
    expires: dateOf(user.expiresMs),
    previous_secret_until: dateOf(user.previousUntilMs),
    client_certificates: user.clientCertificates.map(shownFingerprint),
    revoked: user.revoked,
    sealed,
  };
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

export function journalUser(
  connection: Queryable,
  actor: string,
  action: JournalAction,
  { username, organisationId, assignedMerchantId }: SealedUser,
  said = '',
  merchant: number = assignedMerchantId,
): Promise<void> {
  const detail = said === '' ? username : `${username}: ${said}`;
  return journal(connection, { actor, action, organisationId, merchantId: merchant as MerchantId, detail });
}
