// Users, as whom merchants' servers call: added, granted merchants, limited, given secrets and revoked by the operator. Whatever is
// changed of one, its seal is made anew. This room owns their table and that of their grants.
import { type JournalAction, journal } from '../../journal/journal.js';
import { checkSeal, fitNow } from '../../journal/seals.js';
import { isUniqueViolation, type Queryable } from '../../postgres/database.js';
import { containsCardNumber } from '../../values/card.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import { Networks } from '../../values/network.js';
import { Refusal, refuse } from '../../values/refusal.js';
import { shownFingerprint } from './client-certificate.js';
import { type CredentialKey, journalledUser, makeSecret, type SealedUser, sameBytes } from './credentials.js';
import { inOrder, type Permission } from './permissions.js';
import {
  ADD_USER,
  FIND_USER_BY_NAME,
  FIND_USER_TO_CHANGE,
  GRANT_MERCHANT,
  LIST_USERS,
  STORE_USER,
  UNGRANT_MERCHANT,
} from './users.sql.js';

/** The secret is in here once, and nowhere else. */
export interface UserWithSecret extends UserView {
  readonly password: string;
}

export interface NewUser extends UserLimits {
  /** The merchant that it is assigned to. */
  readonly merchant: number;
  /** Further merchants of the same organisation. */
  readonly grants?: readonly number[] | undefined;
  /** Made here where absent. */
  readonly password?: string | undefined;
}

export async function addUser(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  username: string,
  { merchant, grants = [], password = makeSecret(), ...limits }: NewUser,
): Promise<UserWithSecret> {
  if (!/^[A-Za-z0-9._@-]{1,64}$/.test(username) || containsCardNumber(username)) {
    refuse('username_not_allowed');
  }
  const checked = checkedLimits(limits);
  return database.transaction(async (connection) => {
    const added = await connection
      .query<{ organisation: number }>(ADD_USER, [username, merchant])
      .catch((error: unknown) => {
        throw isUniqueViolation(error) ? new Refusal('user_exists', { username }) : error;
      });
    const { organisation } = added.rows[0] ?? refuse('merchant_not_found', { merchant });
    const user = await changeUser(connection, operator, key, username, {
      action: 'user.added',
      detail: limitsInWords(checked),
      evenBroken: true,
      work: async (_, row) => {
        for (const granted of new Set(grants)) await grant(connection, username, granted, organisation);
        return { ...checked, secretTag: key.tagOf(row, password) };
      },
    });
    return { ...user, password };
  });
}

/** All of them, or those of one organisation. */
export async function listUsers(
  database: Queryable,
  key: CredentialKey,
  organisation?: number,
): Promise<UserView[]> {
  const { rows } = await database.query<UserRow>(LIST_USERS, [organisation ?? null]);
  return Promise.all(rows.map(async (row) => viewOf(row, await isAsSealedLast(database, key, row))));
}

async function isAsSealedLast(database: Queryable, key: CredentialKey, row: UserRow): Promise<boolean> {
  if (!key.isSealed(row, row.seal)) return false;
  return (await fitNow(database, { ...journalledUser(row), newest: row.newest })).kind === 'fits';
}

/** Whether this is the secret with which the user can log in. */
export async function isSecretOf(
  database: Queryable,
  key: CredentialKey,
  username: string,
  secret: string,
): Promise<boolean> {
  const { rows } = await database.query<UserRow>(FIND_USER_BY_NAME, [username]);
  const [row] = rows;
  if (row === undefined || row.revoked || row.secretTag === null) return false;
  if (!(await isAsSealedLast(database, key, row))) return false;
  return sameBytes((await key.of(row.secretFrom)).tagOf(row, secret), row.secretTag);
}

/** Idempotent. */
export function grantMerchant(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  username: string,
  merchant: number,
): Promise<UserView> {
  return changeUser(database, operator, key, username, {
    action: 'user.granted',
    merchant,
    work: async (connection, { organisationId }) => {
      await grant(connection, username, merchant, organisationId);
      return {};
    },
  });
}

/** Takes a grant back, within two seconds. */
export function ungrantMerchant(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  username: string,
  merchant: number,
): Promise<UserView> {
  return changeUser(database, operator, key, username, {
    action: 'user.ungranted',
    merchant,
    work: async (connection, { assignedMerchantId, grants }) => {
      if (merchant === assignedMerchantId) refuse('merchant_assigned', { username, merchant });
      if (!grants.includes(merchant)) refuse('merchant_not_granted', { username, merchant });
      await connection.query(UNGRANT_MERCHANT, [username, merchant]);
      return {};
    },
  });
}

interface RotationOfSecret {
  /** For how long the old one works, too; without it the old one is refused within two seconds. */
  readonly overlapMs?: number | undefined;
  /** What the database says of the user is sealed anew, whoever has written it. */
  readonly reseal?: boolean | undefined;
}

/** A new secret. */
export async function rotateSecret(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  username: string,
  { overlapMs = 0, reseal = false }: RotationOfSecret = {},
): Promise<UserWithSecret> {
  const password = makeSecret();
  const previousUntilMs = overlapMs > 0 && !reseal ? Date.now() + overlapMs : null;
  const user = await changeUser(database, operator, key, username, {
    action: 'user.rotated',
    detail: [
      ...(reseal ? ['sealed anew'] : []),
      ...(previousUntilMs === null
        ? []
        : [`the secret before works until ${new Date(previousUntilMs).toISOString()}`]),
    ].join('; '),
    evenBroken: reseal,
    work: async (_, row) => {
      if (row.revoked) refuse('user_revoked', { username });
      return {
        secretTag: key.tagOf(row, password),
        secretFrom: null,
        previousSecretTag: previousUntilMs === null ? null : row.secretTag,
        previousSecretFrom: previousUntilMs === null ? null : row.secretFrom,
        previousUntilMs,
      };
    },
  });
  return { ...user, password };
}

/** Known to every process within two seconds. */
export async function limitUser(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  username: string,
  limits: UserLimits,
): Promise<UserView> {
  const checked = checkedLimits(limits);
  const onlyCertificates = Object.keys(checked).join() === 'clientCertificates';
  return changeUser(database, operator, key, username, {
    action: onlyCertificates ? 'user.certificates_bound' : 'user.limited',
    detail: limitsInWords(checked),
    work: async (_, { revoked }) => {
      if (revoked) refuse('user_revoked', { username });
      return checked;
    },
  });
}

/** Refused for good, within two seconds. Idempotent. */
export function revokeUser(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  username: string,
): Promise<UserView> {
  return changeUser(database, operator, key, username, {
    action: 'user.revoked',
    evenBroken: true,
    // guard(users: revoking takes the secrets away): ) => ({ ⏎ revoked: true, ⏎ secretTag: null, ⇒ _, { secretTag }) => ({ revoked: false, secretTag,
    work: async () => ({
      revoked: true,
      secretTag: null,
      secretFrom: null,
      previousSecretTag: null,
      previousSecretFrom: null,
      previousUntilMs: null,
    }),
  });
}

async function grant(
  connection: Queryable,
  username: string,
  merchant: number,
  organisation: number,
): Promise<void> {
  const { count } = await connection.query(GRANT_MERCHANT, [username, merchant]);
  if (count === 0) refuse('merchant_of_another_organisation', { merchant, organisation });
}

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
  /** The last day on which it called. */
  readonly last_used: string | null;
  readonly revoked: boolean;
  /** Whether it is as it was sealed. One that is not can do nothing. */
  readonly sealed: boolean;
}

/** As it is stored. */
export type UserRow = SealedUser & {
  readonly seal: Buffer | null;
  readonly newest: Buffer | null;
  readonly usedOn: string | null;
};

interface UserChange {
  readonly action: JournalAction;
  /** What the journal says beside the user's name. */
  readonly detail?: string | undefined;
  /** For the journal: another than the one that the user is assigned to. */
  readonly merchant?: number | undefined;
  /** A row that is not as it was sealed is changed all the same. */
  readonly evenBroken?: boolean;
  readonly work: (connection: Queryable, user: SealedUser) => Promise<Partial<SealedUser>>;
}

/** In one transaction, sealed anew, and written into the journal. It is shown as it was sealed. */
function changeUser(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  username: string,
  { action, detail, merchant, evenBroken = false, work }: UserChange,
): Promise<UserView> {
  return database.transaction(async (connection) => {
    const before = await find(connection, username);
    if (!evenBroken) {
      if (!key.isSealed(before, before.seal)) refuse('user_seal_broken', { username });
      await checkSeal(connection, journalledUser(before));
    }
    const changed = await work(connection, before);
    // Its grants are rows of their own.
    const { grants } = await find(connection, username);
    const user = { ...before, ...changed, grants, version: before.version + 1 };
    const seal = key.sealOf(user);
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
      seal,
      user.revoked,
      user.secretFrom,
      user.previousSecretFrom,
    ]);
    await journalUser(connection, operator, action, { ...user, seal }, detail, merchant);
    return viewOf(user, true);
  });
}

async function find(connection: Queryable, username: string): Promise<UserRow> {
  const { rows } = await connection.query<UserRow>(FIND_USER_TO_CHANGE, [username]);
  return rows[0] ?? refuse('user_not_found', { username });
}

function viewOf(user: UserRow, sealed: boolean): UserView {
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
    last_used: user.usedOn,
    revoked: user.revoked,
    sealed,
  };
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

function journalUser(
  connection: Queryable,
  actor: string,
  action: JournalAction,
  user: SealedUser & { readonly seal: Buffer },
  said = '',
  merchant: number = user.assignedMerchantId,
): Promise<void> {
  const { username, organisationId } = user;
  const detail = said === '' ? username : `${username}: ${said}`;
  const entry = { actor, action, organisationId, merchantId: merchant as MerchantId, detail };
  return journal(connection, entry, journalledUser(user));
}

/** What is absent stays as it is. */
interface UserLimits {
  readonly allow?: readonly Permission[] | undefined;
  /** Null: from everywhere. */
  readonly fromAddresses?: readonly string[] | null | undefined;
  /** Null: never. */
  readonly expires?: Date | null | undefined;
  /** Fingerprints of the certificates of which it must show one. Null: the secret is enough. */
  readonly clientCertificates?: readonly Buffer[] | null | undefined;
}

/** Two are enough to replace one; a few more do for several servers. */
const MOST_CERTIFICATES = 5;
const MOST_NETWORKS = 50;

type CheckedLimits = Partial<
  Pick<SealedUser, 'permissions' | 'fromAddresses' | 'expiresMs' | 'clientCertificates'>
>;

function checkedLimits({ allow, fromAddresses, expires, clientCertificates }: UserLimits): CheckedLimits {
  if (allow?.length === 0) refuse('permissions_empty');
  if (expires && expires.getTime() <= Date.now()) refuse('expiry_in_the_past');
  return {
    ...(allow !== undefined && { permissions: inOrder(allow) }),
    ...(fromAddresses !== undefined && { fromAddresses: checkedNetworks(fromAddresses ?? []) }),
    ...(expires !== undefined && { expiresMs: expires?.getTime() ?? null }),
    ...(clientCertificates !== undefined && {
      clientCertificates: boundCertificates(clientCertificates ?? []),
    }),
  };
}

/** Each once. */
function checkedNetworks(networks: readonly string[]): string[] {
  const once = [...new Set(networks)];
  for (const network of once)
    if (Networks.read(network) === undefined) refuse('network_unreadable', { network });
  if (once.length > MOST_NETWORKS) refuse('too_many_networks', { most: MOST_NETWORKS });
  return once;
}

/** Each once. */
function boundCertificates(certificates: readonly Buffer[]): Buffer[] {
  const once = new Map(certificates.map((fingerprint) => [fingerprint.toString('hex'), fingerprint]));
  if (once.size > MOST_CERTIFICATES) refuse('too_many_client_certificates', { most: MOST_CERTIFICATES });
  return [...once.values()];
}

function limitsInWords({ permissions, fromAddresses, expiresMs, clientCertificates }: CheckedLimits): string {
  const bound = clientCertificates?.map(shownFingerprint);
  return [
    ...(permissions === undefined ? [] : [`may ${permissions.join(', ')}`]),
    ...(fromAddresses === undefined ? [] : [`from ${fromAddresses.join(', ') || 'everywhere'}`]),
    ...(expiresMs === undefined
      ? []
      : [expiresMs === null ? 'never expires' : `expires ${new Date(expiresMs).toISOString()}`]),
    ...(bound === undefined ? [] : [`certificates ${bound.join(', ') || 'none'}`]),
  ].join('; ');
}
