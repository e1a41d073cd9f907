// The customers of the demo's history, each with a card and, in the gym, a bank account in the vault.
import type { Database } from '../postgres/database.js';
import { FairConnections } from '../postgres/fair-connections.js';
import type { MerchantId, TokenId } from '../values/ids.js';
import type { Account } from '../vault/account.js';
import { Customers } from '../vault/customers.js';
import type { DataKeys } from '../vault/keys/keys.js';
import { Tokens } from '../vault/tokens.js';
import { Chance } from './chance.js';
import { TOKENS_OF_MEMBERS } from './history.sql.js';
import type { HistoryOwner } from './organisation.js';
import { HISTORY_USERNAME } from './organisation.js';
import { type Person, personOf } from './people.js';
import { SHOPS, type Shop } from './shops.js';

/** A member's token, by shop, number and kind of account. */
export type MemberTokens = (shop: Shop, member: number, kind: 'card' | 'bank_account') => TokenId | undefined;

export function demoVault(database: Database, keys: DataKeys): { customers: Customers; tokens: Tokens } {
  const shares = { connections: 1, perOrganisation: 1, maxWaiting: 1_000, maxWaitMs: 60_000 };
  const vault = new FairConnections(database, shares);
  return {
    customers: new Customers({ leases: database, vault, searches: vault }, async () => 0),
    tokens: new Tokens({ leases: database, vault, additions: database, lookUps: database }, keys),
  };
}

/** Adds missing members, and returns how many. */
export async function members(
  database: Database,
  keys: DataKeys,
  owner: HistoryOwner,
): Promise<{ readonly added: number; readonly tokenOf: MemberTokens }> {
  const { customers, tokens } = demoVault(database, keys);
  let added = 0;
  for (const shop of SHOPS) {
    const merchantId = owner.merchants.get(shop.kind);
    if (merchantId === undefined || shop.customers === 0) continue;
    const known = new Set((await tokensOf(database, owner, merchantId)).map(({ reference }) => reference));
    for (let number = 1; number <= shop.customers; number += 1) {
      const person = personOf(shop.kind, number);
      if (known.has(person.reference)) continue;
      const chance = new Chance(`${shop.kind}/member/${number}`);
      const access = {
        organisationId: owner.organisationId,
        merchantId,
        username: HISTORY_USERNAME,
        userId: owner.userId,
        address: '127.0.0.1',
        correlationId: chance.uuid(),
      };
      const { customer } = await customers.findOrCreate(access, person.reference, person.name);
      for (const { preferredName, account } of accountsOf(shop, person))
        await tokens.create(access, customer.id, { preferredName, active: true, account });
      added += 1;
    }
  }
  return { added, tokenOf: await tokenFinder(database, owner) };
}

function accountsOf(
  shop: Shop,
  { name, card, account }: Person,
): { preferredName: string; account: Account }[] {
  return [
    { preferredName: 'Everyday card', account: { type: 'general_creditcard', ...card, name } },
    ...(shop.kind === 'gym'
      ? [{ preferredName: 'Fees', account: { type: 'general_bankaccount', bankAccount: account } as const }]
      : []),
  ];
}

interface MemberToken {
  readonly reference: string;
  readonly accountType: string;
  readonly id: TokenId;
}

async function tokensOf(
  database: Database,
  { organisationId }: HistoryOwner,
  merchantId: MerchantId,
): Promise<MemberToken[]> {
  return (await database.query<MemberToken>(TOKENS_OF_MEMBERS, [organisationId, merchantId])).rows;
}

async function tokenFinder(database: Database, owner: HistoryOwner): Promise<MemberTokens> {
  const found = new Map<string, TokenId>();
  for (const [kind, merchantId] of owner.merchants)
    for (const { reference, accountType, id } of await tokensOf(database, owner, merchantId))
      found.set(`${kind}/${reference}/${accountType}`, id);
  return (shop, member, kind) =>
    found.get(
      `${shop.kind}/${personOf(shop.kind, member).reference}/${kind === 'card' ? 'general_creditcard' : 'general_bankaccount'}`,
    );
}
