// What operators do in the vault: switch tokens off and on, and delete tokens and customers. Never a card number.
import { randomUUID } from 'node:crypto';
import { signerOf } from '../journal/entry-signer.js';
import type { Database } from '../postgres/database.js';
import { FairConnections } from '../postgres/fair-connections.js';
import { Fault } from '../values/faults.js';
import type { CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { Customers, type DestroyCards, type VaultAccess } from './customers.js';
import type { KeyProvider } from './keys/key-provider.js';
import { DataKeys } from './keys/keys.js';
import { TOKENS_BY_FORMER_ID } from './moving/former-ids.sql.js';
import { Tokens } from './tokens.js';
import {
  MERCHANT_OF_CUSTOMER,
  NUMBER_OF_OPERATOR,
  OWNER_OF_TOKEN,
  VAULT_OF_MERCHANT,
} from './vault-tasks.sql.js';

export interface DeletedCustomer {
  readonly organisation: number;
  readonly customer: number;
  readonly deleted: true;
}

export interface ChangedToken {
  readonly organisation: number;
  readonly merchant: number;
  readonly customer: number;
  readonly token: number;
  readonly active: boolean;
  readonly deleted: boolean;
}

interface Owner {
  readonly merchant: MerchantId;
  readonly customer: CustomerId;
}

const ALONE = { connections: 1, perOrganisation: 1, maxWaiting: 10, maxWaitMs: 10_000 };

/** Its tokens go too, and the cards of both; so do the cards in its finished transactions. */
export async function deleteCustomer(
  database: Database,
  operator: string,
  { organisation, customer }: { readonly organisation: number; readonly customer: number },
  destroyCards: DestroyCards,
): Promise<DeletedCustomer> {
  const values = [organisation, customer];
  const { rows } = await database.query<Owner>(MERCHANT_OF_CUSTOMER, values);
  const { merchant } = rows[0] ?? refuse('customer_not_found', { customer });
  const access = await accessOf(database, operator, organisation, merchant);
  const vault = new FairConnections(database, ALONE);
  const customers = new Customers({ leases: database, vault, searches: vault }, destroyCards);
  await customers.delete(access, customer as CustomerId).catch((error: unknown) => {
    // Somebody else has just deleted it.
    if (error instanceof Fault) refuse('customer_not_found', { customer });
    throw error;
  });
  return { organisation, customer, deleted: true };
}

/** A token that is not active is not paid with. */
export function switchToken(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { organisation, token, active }: { organisation: number; token: number; active: boolean },
): Promise<ChangedToken> {
  return onToken(
    database,
    operator,
    provider,
    { organisation, token },
    async (tokens, access, { customer }) => {
      await tokens.update(access, customer, token as TokenId, { active });
      return { active, deleted: false };
    },
  );
}

/** Its card data is destroyed, and its virtual PAN never given out again. */
export function deleteToken(
  database: Database,
  operator: string,
  provider: KeyProvider,
  wish: { readonly organisation: number; readonly token: number },
): Promise<ChangedToken> {
  return onToken(database, operator, provider, wish, async (tokens, access, { customer }) => {
    await tokens.delete(access, customer, wish.token as TokenId);
    return { active: false, deleted: true };
  });
}

/** A token by what it was called in the vault that it was imported from. */
export interface TokenOfBefore {
  readonly source: string;
  readonly formerId: string;
  readonly customer: number;
  readonly token: number;
  readonly virtualPan: string;
  readonly active: boolean;
  readonly deleted: boolean;
}

/** One for each source; a source gives an ID out once. */
export async function tokensByFormerId(
  database: Database,
  merchant: number,
  formerId: string,
): Promise<TokenOfBefore[]> {
  const owner = (await database.query<{ organisationId: number }>(VAULT_OF_MERCHANT, [merchant])).rows[0];
  if (owner === undefined) return refuse('merchant_not_found', { merchant });
  const values = [owner.organisationId, merchant, formerId];
  const { rows } = await database.query<TokenOfBefore>(TOKENS_BY_FORMER_ID, values);
  return rows.length > 0 ? rows : refuse('former_id_not_found', { formerId, merchant });
}

async function onToken(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { organisation, token }: { readonly organisation: number; readonly token: number },
  work: (
    tokens: Tokens,
    access: VaultAccess,
    owner: Owner,
  ) => Promise<Pick<ChangedToken, 'active' | 'deleted'>>,
): Promise<ChangedToken> {
  const { rows } = await database.query<Owner>(OWNER_OF_TOKEN, [organisation, token]);
  const owner = rows[0] ?? refuse('token_not_found', { token });
  const { merchant, customer } = owner;
  const vault = new FairConnections(database, ALONE);
  const connections = { leases: database, vault, additions: database, lookUps: database };
  const tokens = new Tokens(connections, new DataKeys(database, provider));
  const access = await accessOf(database, operator, organisation, merchant);
  const changed = await work(tokens, access, owner).catch((error: unknown) => {
    if (error instanceof Fault) refuse('token_not_found', { token });
    throw error;
  });
  return { organisation, merchant, customer, token, ...changed };
}

/** As which an operator works in a vault. */
export async function accessOf(
  database: Database,
  operator: string,
  organisation: number,
  merchantId: MerchantId,
): Promise<VaultAccess> {
  const username = operator.replace(/^operator:/, '');
  const { rows } = await database.query<{ id: number }>(NUMBER_OF_OPERATOR, [username]);
  return {
    organisationId: organisation as OrganisationId,
    merchantId,
    username,
    userId: -(rows[0]?.id ?? 0),
    address: (await signerOf(database))?.address ?? '',
    correlationId: `operator-${randomUUID()}`,
    actor: operator,
  };
}
