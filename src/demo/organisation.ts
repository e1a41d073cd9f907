// The organisation of the demo's history. Newcomers get another one, so that theirs begins with audit 1.
import { addMerchant, listMerchants } from '../organisations/merchants.js';
import { addOrganisation } from '../organisations/organisations.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { addUser } from '../organisations/users/users.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { DEMO_AT_ALL, HISTORY_USER, LOCK_HISTORY } from './history.sql.js';
import { SHOPS, type Shop, type ShopKind } from './shops.js';

/** The user and the organisation that newcomers get. */
export const DEMO_USERNAME = 'demo';
export const DEMO_ORGANISATION = 'Demo';

/** Nobody knows its secret: `user rotate` creates one. */
export const HISTORY_USERNAME = 'harbour';
const HISTORY_ORGANISATION = 'Harbour Group';

export interface HistoryOwner {
  readonly organisationId: OrganisationId;
  readonly userId: number;
  readonly merchants: ReadonlyMap<ShopKind, MerchantId>;
}

/** Only in a demo without any live merchant. */
export async function checkDemo(database: Queryable): Promise<void> {
  const { rows } = await database.query<{ made: boolean; live: boolean }>(DEMO_AT_ALL, [
    DEMO_USERNAME,
    DEMO_ORGANISATION,
  ]);
  if (!rows[0]?.made) refuse('demo_absent');
  if (rows[0].live) refuse('demo_has_live_merchants');
}

/** Created unless it exists. */
export async function historyOwner(
  database: Database,
  operator: string,
  key: CredentialKey,
): Promise<HistoryOwner> {
  return database.transaction(async (connection) => {
    await connection.query(LOCK_HISTORY);
    if ((await find(connection)) === undefined) {
      const { id } = await addOrganisation(connection, operator, HISTORY_ORGANISATION);
      const merchants: MerchantId[] = [];
      for (const { name, vault } of SHOPS)
        merchants.push((await addMerchant(connection, operator, id, name, { vault })).id);
      const [merchant, ...grants] = merchants as [MerchantId, ...MerchantId[]];
      await addUser(connection, operator, key, HISTORY_USERNAME, { merchant, grants });
    }
    const user = (await find(connection)) as User;
    return {
      userId: user.id,
      organisationId: user.organisationId,
      merchants: await shopsOf(connection, user),
    };
  });
}

interface User {
  readonly id: number;
  readonly organisationId: OrganisationId;
}

async function find(connection: Queryable): Promise<User | undefined> {
  return (await connection.query<User>(HISTORY_USER, [HISTORY_USERNAME])).rows[0];
}

/** Shops that are unchanged. A shop that was renamed, suspended or given another link stops trading. */
async function shopsOf(connection: Queryable, { organisationId }: User): Promise<Map<ShopKind, MerchantId>> {
  const merchants = await listMerchants(connection, organisationId);
  const idOf = (shop: Shop) =>
    merchants.find(
      ({ name, mode, acquirer, vault, suspendedAt }) =>
        name === shop.name &&
        mode === 'test' &&
        acquirer === 'simulator' &&
        vault === shop.vault &&
        !suspendedAt,
    )?.id;
  return new Map(
    SHOPS.flatMap((shop): [ShopKind, MerchantId][] => {
      const id = idOf(shop);
      return id === undefined ? [] : [[shop.kind, id]];
    }),
  );
}
