// Gives an existing token a new account, sealed under a seal version that the token never had.
import type { Queryable } from '../postgres/database.js';
import type { CustomerId, TokenId } from '../values/ids.js';
import { type Account, secretsOf } from './account.js';
import { type DataKey, seal } from './keys/keys.js';
import { type SealOwner, tokenPlace } from './keys/sealed-rows.js';
import { LOCK_TOKEN } from './tokens.sql.js';

interface TokenBefore {
  readonly virtualPan: string;
  readonly version: number;
  readonly sealVersion: number;
}

export interface Resealing {
  readonly customerId: CustomerId;
  readonly id: TokenId;
  readonly account: Account;
  readonly key: DataKey;
}

/** Locks the token; undefined if there is none. */
export async function reseal(
  connection: Queryable,
  owner: SealOwner,
  { customerId, id, account, key }: Resealing,
): Promise<{ sealed: Buffer; sealVersion: number } | undefined> {
  const values = [owner.organisationId, owner.merchantId, customerId, id];
  const { rows } = await connection.query<TokenBefore>(LOCK_TOKEN, values);
  const [before] = rows;
  if (before === undefined) return undefined;
  const { virtualPan, version } = before;
  // A token changed before seals had versions has a higher version than seal version.
  const sealVersion = Math.max(before.sealVersion, version) + 1;
  const place = tokenPlace(owner, { id, customerId, virtualPan, accountType: account.type, sealVersion });
  return { sealed: seal(key, place, secretsOf(account)), sealVersion };
}
