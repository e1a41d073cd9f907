// Assembles the vault of a gateway: its data keys, tokens and customers, and each organisation's share of sessions.
import type { Logger } from 'pino';
import { destroyCardsOfCustomer } from '../payments/cards/card-destruction.js';
import { FairConnections } from '../postgres/fair-connections.js';
import { Customers } from '../vault/customers.js';
import { BrokenSeals } from '../vault/keys/broken-seals.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { DataKeys } from '../vault/keys/keys.js';
import { OneTimeCards } from '../vault/one-time-cards.js';
import { Tokens } from '../vault/tokens.js';
import { Wallets } from '../wallets/wallets.js';
import { type Databases, VAULT_SESSIONS } from './database/databases.js';
import { openKeyProvider } from './settings/key-encryption.js';
import type { Settings } from './settings/settings.js';

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
  readonly oneTimeCards: OneTimeCards;
  readonly wallets: Wallets;
  readonly customers: Customers;
  readonly brokenSeals: BrokenSeals;
}

export async function openVault(settings: Settings, databases: Databases, log: Logger): Promise<Vault> {
  const { vital: leases, newTokens: additions, lookUps, searches } = databases;
  const provider = await openKeyProvider(settings, databases.others);
  const brokenSeals = new BrokenSeals({
    database: databases.background,
    actor: 'gateway:vault',
    onBroken: ({ table, organisationId: organisation, merchantId: merchant, row }) =>
      log.error({ table, organisation, merchant, row }, 'a seal does not open'),
    onUnjournalled: () => log.error('a broken seal could not be journalled'),
  });
  const keys = new DataKeys(databases.others, provider, brokenSeals.report);
  const vault = new FairConnections(databases.vault, OPERATIONS);
  return {
    provider,
    keys,
    tokens: new Tokens({ leases, vault, additions, lookUps }, keys),
    oneTimeCards: new OneTimeCards(databases.vault, keys),
    wallets: new Wallets(databases.others, keys),
    customers: new Customers({ leases, vault, searches }, destroyCardsOfCustomer),
    brokenSeals,
  };
}
