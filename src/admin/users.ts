// Users, as whom merchants' servers call: added, granted merchants, given secrets and revoked by the operator. This room
// owns their table and that of their grants.
import { type JournalAction, journal } from '../journal/journal.js';
import { digestSecret, makeSecret } from '../merchants/credentials.js';
import { isUniqueViolation, type Queryable } from '../postgres/database.js';
import { containsCardNumber } from '../values/card-in-text.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { Refusal, refuse } from '../values/refusal.js';
import { ADD_USER, GRANT_MERCHANT, LIST_USERS, REVOKE_USER, ROTATE_SECRET } from './users.sql.js';

export interface UserView {
  readonly username: string;
  readonly organisation: OrganisationId;
  readonly merchant: MerchantId;
  readonly grants: readonly number[];
  readonly revoked: boolean;
}

/** The secret is in here once, and nowhere else. */
export interface UserWithSecret extends UserView {
  readonly password: string;
}

type Assigned = Pick<UserView, 'organisation' | 'merchant'>;

export interface NewUser {
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
  username: string,
  { merchant, grants = [], password = makeSecret() }: NewUser,
): Promise<UserWithSecret> {
  if (!/^[A-Za-z0-9._@-]{1,64}$/.test(username) || containsCardNumber(username)) {
    refuse('username_not_allowed');
  }
  const further = [...new Set(grants)].sort((one, other) => one - other);
  return database.transaction(async (connection) => {
    const added = await connection
      .query<Assigned>(ADD_USER, [username, merchant, digestSecret(password)])
      .catch((error: unknown) => {
        throw isUniqueViolation(error) ? new Refusal('user_exists', { username }) : error;
      });
    const assigned = added.rows[0] ?? refuse('merchant_not_found', { merchant });
    for (const granted of further) await grant(connection, username, granted, assigned.organisation);
    const user = { username, password, ...assigned, grants: further, revoked: false };
    await journalUser(connection, operator, 'user.added', user);
    return user;
  });
}

export async function listUsers(database: Queryable): Promise<UserView[]> {
  return (await database.query<UserView>(LIST_USERS, [null])).rows;
}

/** Idempotent. */
export function grantMerchant(
  database: Queryable,
  operator: string,
  username: string,
  merchant: number,
): Promise<UserView> {
  return change(database, operator, 'user.granted', username, (connection, { organisation }) =>
    grant(connection, username, merchant, organisation),
  );
}

/** A new secret; the old one is refused within two seconds. */
export async function rotateSecret(
  database: Queryable,
  operator: string,
  username: string,
): Promise<UserWithSecret> {
  const password = makeSecret();
  const user = await change(database, operator, 'user.rotated', username, async (connection) => {
    const { count } = await connection.query(ROTATE_SECRET, [username, digestSecret(password)]);
    if (count === 0) refuse('user_revoked', { username });
  });
  return { ...user, password };
}

/** Refused for good, within two seconds. Idempotent. */
export function revokeUser(database: Queryable, operator: string, username: string): Promise<UserView> {
  return change(database, operator, 'user.revoked', username, async (connection) => {
    await connection.query(REVOKE_USER, [username]);
  });
}

function change(
  database: Queryable,
  operator: string,
  action: JournalAction,
  username: string,
  work: (connection: Queryable, user: UserView) => Promise<void>,
): Promise<UserView> {
  return database.transaction(async (connection) => {
    await work(connection, await findUser(connection, username));
    const user = await findUser(connection, username);
    await journalUser(connection, operator, action, user);
    return user;
  });
}

async function findUser(connection: Queryable, username: string): Promise<UserView> {
  const { rows } = await connection.query<UserView>(LIST_USERS, [username]);
  return rows[0] ?? refuse('user_not_found', { username });
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

function journalUser(
  connection: Queryable,
  actor: string,
  action: JournalAction,
  { username, organisation, merchant }: UserView,
): Promise<void> {
  const about = { organisationId: organisation, merchantId: merchant, detail: username };
  return journal(connection, { actor, action, ...about });
}
