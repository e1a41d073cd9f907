// Users, as whom merchants' servers call: added, granted merchants, limited, given secrets and revoked by the operator. Whatever is
// changed of one, its seal is made anew. This room owns their table and that of their grants.
import { isUniqueViolation, type Queryable } from '../../postgres/database.js';
import { containsCardNumber } from '../../values/card.js';
import { Refusal, refuse } from '../../values/refusal.js';
import { type CredentialKey, makeSecret, sameBytes } from './credentials.js';
import { changeUser, type UserRow, type UserView, viewOf } from './user-change.js';
import { checkedLimits, limitsInWords, type UserLimits } from './user-limits.js';
import { ADD_USER, FIND_USER_BY_NAME, GRANT_MERCHANT, LIST_USERS, UNGRANT_MERCHANT } from './users.sql.js';

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

const DAY_MS = 86_400_000;
export const MOST_OVERLAP_MS = 30 * DAY_MS;

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
  return rows.map((row) => viewOf(row, key.isSealed(row, row.seal)));
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
  return key.isSealed(row, row.seal) && sameBytes(key.tagOf(row, secret), row.secretTag);
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

export interface RotationOfSecret {
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
        previousSecretTag: previousUntilMs === null ? null : row.secretTag,
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
    // guard(users: revoking takes the secrets away): ) => ({ revoked: true, secretTag: null ⇒ _, { secretTag }) => ({ revoked: false, secretTag
    work: async () => ({ revoked: true, secretTag: null, previousSecretTag: null, previousUntilMs: null }),
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
