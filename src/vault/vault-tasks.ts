// What operators do in the vault: find customers and tokens, switch tokens off and on, delete both. Never a card number.
import { randomUUID } from 'node:crypto';
import { signerOf } from '../journal/entry-signer.js';
import type { Database } from '../postgres/database.js';
import { FairConnections } from '../postgres/fair-connections.js';
import { count, ID, TEXT } from '../tasks/kinds.js';
import { type Doing, needed, optional, task } from '../tasks/task.js';
import { Fault } from '../values/faults.js';
import type { CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import { lines, table } from '../values/text-table.js';
import { findCustomers, showCustomer } from './customer-search.js';
import { Customers, type DestroyCards, type VaultAccess } from './customers.js';
import type { DoingWithKey } from './keys/key-provider.js';
import { DataKeys } from './keys/keys.js';
import { TOKENS_BY_FORMER_ID } from './moving/former-ids.sql.js';
import { Tokens } from './tokens.js';
import {
  MERCHANT_OF_CUSTOMER,
  NUMBER_OF_OPERATOR,
  OWNER_OF_TOKEN,
  VAULT_OF_MERCHANT,
} from './vault-tasks.sql.js';

interface Owner {
  readonly merchant: MerchantId;
  readonly customer: CustomerId;
}

/** A token by what it was called in the vault that it was imported from. */
interface TokenOfBefore {
  readonly source: string;
  readonly formerId: string;
  readonly customer: number;
  readonly token: number;
  readonly virtualPan: string;
  readonly active: boolean;
  readonly deleted: boolean;
}

export interface VaultOwner {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly suspended: boolean;
}

interface Named {
  readonly organisation: number;
  readonly id: number;
}

const ALONE = { connections: 1, perOrganisation: 1, maxWaiting: 10, maxWaitMs: 10_000 };

const ORGANISATION = needed(
  ID,
  '--organisation <id>',
  'whose it is: numbers are given within an organisation',
  { names: 'organisations' },
);
const CUSTOMER = { id: needed(ID, '<id>', 'the customer'), organisation: ORGANISATION };
const TOKEN = { id: needed(ID, '<id>', 'the token'), organisation: ORGANISATION };

export const CUSTOMERS = {
  name: 'customer',
  help: 'customers in the vault',
  tasks: [
    task({
      name: 'customer list',
      help: 'list customers by name',
      role: 'viewer',
      scope: 'organisation',
      input: {
        organisation: optional(ID, '--organisation <id>', 'only of this organisation', {
          names: 'organisations',
        }),
        merchant: optional(ID, '--merchant <id>', 'only of this merchant', { names: 'merchants' }),
        text: optional(TEXT, '--text <text>', 'with this in their name or reference'),
        limit: optional(count(), '--limit <count>', 'how many at most', { default: 50 }),
      },
      run: async ({ database }, wish) => (await findCustomers(database, wish, wish.text, wish)).results,
    }),
    task({
      name: 'customer show',
      help: 'show a customer, its tokens, and what was done to them',
      role: 'viewer',
      scope: 'organisation',
      input: CUSTOMER,
      run: ({ database }, { organisation, id }) => showCustomer(database, organisation, id),
      says: ({ tokens, journal, ...about }) => [lines(about), table(tokens), table(journal)].join('\n\n'),
    }),
    task({
      name: 'customer delete',
      help: 'delete a customer with its tokens; their cards are destroyed, and those of its finished transactions',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /customers/:organisation/:id/delete',
      fresh: true,
      input: CUSTOMER,
      run: async (
        { database, actor, means }: Doing<{ readonly destroyCards: DestroyCards }>,
        { organisation, id: customer },
      ) => {
        const values = [organisation, customer];
        const { rows } = await database.query<Owner>(MERCHANT_OF_CUSTOMER, values);
        const { merchant } = rows[0] ?? refuse('customer_not_found', { customer });
        const access = await accessOf(database, actor, organisation, merchant);
        const vault = new FairConnections(database, ALONE);
        const customers = new Customers({ leases: database, vault, searches: vault }, means.destroyCards);
        await customers.delete(access, customer as CustomerId).catch((error: unknown) => {
          // Somebody else has just deleted it.
          if (error instanceof Fault) refuse('customer_not_found', { customer });
          throw error;
        });
        return { organisation, customer, deleted: true };
      },
      says: ({ customer }) => `Customer ${customer} is deleted.`,
    }),
  ],
} as const;

export const TOKENS = {
  name: 'token',
  help: 'tokens in the vault',
  tasks: [
    task({
      name: 'token find',
      help: 'find an imported token by its old ID',
      role: 'viewer',
      scope: 'organisation',
      input: {
        formerId: needed(TEXT, '<old-id>', 'what it was called in the vault that it was imported from'),
        merchant: needed(ID, '--merchant <id>', 'whose vault', { names: 'merchants' }),
      },
      // One for each source; a source gives an ID out once.
      run: async ({ database }, { merchant, formerId }) => {
        const owner = (await database.query<{ organisationId: number }>(VAULT_OF_MERCHANT, [merchant]))
          .rows[0];
        if (owner === undefined) return refuse('merchant_not_found', { merchant });
        const values = [owner.organisationId, merchant, formerId];
        const { rows } = await database.query<TokenOfBefore>(TOKENS_BY_FORMER_ID, values);
        return rows.length > 0 ? rows : refuse('former_id_not_found', { formerId, merchant });
      },
    }),
    task({
      name: 'token deactivate',
      help: 'let nobody pay with a token, until it is activated',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /tokens/:organisation/:id/deactivate',
      input: TOKEN,
      run: (doing: DoingWithKey, token) => switchToken(doing, token, false),
      says: nowIs,
    }),
    task({
      name: 'token activate',
      help: 'let a token be paid with again',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /tokens/:organisation/:id/activate',
      input: TOKEN,
      run: (doing: DoingWithKey, token) => switchToken(doing, token, true),
      says: nowIs,
    }),
    task({
      name: 'token delete',
      help: 'delete a token; its card data is destroyed',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /tokens/:organisation/:id/delete',
      fresh: true,
      input: TOKEN,
      // Its virtual PAN is never given out again.
      run: (doing: DoingWithKey, { organisation, id }) =>
        onToken(doing, { organisation, id }, { active: false, deleted: true }, (tokens, access, customer) =>
          tokens.delete(access, customer, id as TokenId),
        ),
      says: nowIs,
    }),
  ],
} as const;

function nowIs({ token, active, deleted }: Awaited<ReturnType<typeof onToken>>): string {
  return `Token ${token} is ${deleted ? 'deleted' : active ? 'active' : 'not active'}.`;
}

function switchToken(doing: DoingWithKey, named: Named, active: boolean) {
  return onToken(doing, named, { active, deleted: false }, (tokens, access, customer) =>
    tokens.update(access, customer, named.id as TokenId, { active }),
  );
}

async function onToken(
  { database, actor, means }: DoingWithKey,
  { organisation, id: token }: Named,
  changed: { readonly active: boolean; readonly deleted: boolean },
  work: (tokens: Tokens, access: VaultAccess, customer: CustomerId) => Promise<unknown>,
) {
  const { rows } = await database.query<Owner>(OWNER_OF_TOKEN, [organisation, token]);
  const { merchant, customer } = rows[0] ?? refuse('token_not_found', { token });
  const vault = new FairConnections(database, ALONE);
  const connections = { leases: database, vault, additions: database, lookUps: database };
  const tokens = new Tokens(connections, new DataKeys(database, await means.provider()));
  const access = await accessOf(database, actor, organisation, merchant);
  await work(tokens, access, customer).catch((error: unknown) => {
    if (error instanceof Fault) refuse('token_not_found', { token });
    throw error;
  });
  return { organisation, merchant, customer, token, ...changed };
}

/** Of a merchant that has the vault product. */
export async function vaultOf(database: Database, merchant: number): Promise<VaultOwner> {
  const { rows } = await database.query<VaultOwner & { vault: boolean }>(VAULT_OF_MERCHANT, [merchant]);
  const [owner] = rows;
  if (owner === undefined) return refuse('merchant_not_found', { merchant });
  if (!owner.vault) refuse('vault_not_enabled', { merchant });
  return owner;
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
