// The vault of a gateway: its data keys, tokens and customers, and how many sessions each organisation may take up.
import { FairConnections } from '../postgres/fair-connections.js';
import { destroyCardsOfCustomer } from '../transactions/card-destruction.js';
import { Customers } from '../vault/customers.js';
import type { KeyProvider } from '../vault/key-provider.js';
import { DataKeys } from '../vault/keys.js';
import { Tokens } from '../vault/tokens.js';
import { type Databases, VAULT_SESSIONS } from './databases.js';
import { openKeyProvider } from './key-encryption.js';
import type { Settings } from './settings.js';

const OPERATIONS = {
  connections: VAULT_SESSIONS,
  perOrganisation: 3,
  maxWaiting: 500,
  maxWaitMs: 10_000,
};

export interface Vault {
  readonly provider: KeyProvider;
  readonly keys: DataKeys;
  readonly tokens: Tokens;
  readonly customers: Customers;
}

export async function openVault(settings: Settings, databases: Databases): Promise<Vault> {
  const { vital: leases, newTokens: additions, lookUps, searches } = databases;
  const provider = await openKeyProvider(settings, databases.others);
  const keys = new DataKeys(databases.others, provider);
  const vault = new FairConnections(databases.vault, OPERATIONS);
  return {
    provider,
    keys,
    tokens: new Tokens({ leases, vault, additions, lookUps }, keys),
    customers: new Customers({ leases, vault, searches }, destroyCardsOfCustomer),
  };
}
