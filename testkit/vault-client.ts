// The vault operations as a merchant's backend server calls them, on top of a client.
import { randomUUID } from 'node:crypto';
import { OPERATIONS } from '../src/api/operations/operations.js';
import { luhnDigit } from '../src/values/card.js';
import { cardAccount, type Json } from './bodies.js';
import type { Answer, Client } from './client.js';

export { bankAccount, cardAccount } from './bodies.js';

export interface Vault {
  /** POST /customers. The reference is a new one unless given. */
  addCustomer(change?: { reference?: string; name?: string }): Promise<Answer>;
  lookUpCustomer(id: number): Promise<Answer>;
  changeCustomer(id: number, change: unknown): Promise<Answer>;
  deleteCustomer(id: number): Promise<Answer>;
  searchCustomers(query?: Query): Promise<Answer>;
  addToken(customerId: number, change?: TokenChange): Promise<Answer>;
  listTokens(customerId: number, query?: Query): Promise<Answer>;
  lookUpToken(customerId: number, id: number): Promise<Answer>;
  changeToken(customerId: number, id: number, change: unknown): Promise<Answer>;
  deleteToken(customerId: number, id: number): Promise<Answer>;
  /** A new customer's identifier. */
  newCustomer(): Promise<number>;
  /** A new token of a new customer, unless one is given. */
  newToken(change?: TokenChange, customerId?: number): Promise<NewToken>;
}

export type Query = Readonly<Record<string, string | number>>;

export interface TokenChange {
  readonly preferred_name?: string;
  readonly active?: boolean;
  readonly account?: Json;
}

export interface NewToken {
  readonly customerId: number;
  readonly id: number;
  readonly virtualPan: string;
}

export function tokenBody(change: TokenChange = {}): Json {
  return { preferred_name: randomUUID(), active: true, account: cardAccount(), ...change };
}

/** Calls for the vault of `merchantId`, or for that of the merchant that the caller is assigned to. */
export function vaultOf(api: Client, merchantId?: number): Vault {
  const send = (path: string, query: Query = {}, options: { method?: string; body?: unknown } = {}) => {
    const parameters = new URLSearchParams(
      Object.entries({ ...(merchantId !== undefined && { merchant_id: merchantId }), ...query }).map(
        ([name, value]): [string, string] => [name, String(value)],
      ),
    ).toString();
    return api.call(parameters === '' ? path : `${path}?${parameters}`, options);
  };
  const customerPath = (id: number) => `/customers/${id}`;
  const tokenPath = (customerId: number, id: number) => `/customers/${customerId}/tokens/${id}`;
  const vault: Vault = {
    addCustomer: ({ reference = randomUUID(), name = 'Ada Lovelace' } = {}) =>
      send('/customers', {}, { body: { reference, name } }),
    lookUpCustomer: (id) => send(customerPath(id)),
    changeCustomer: (id, body) => send(customerPath(id), {}, { method: 'PATCH', body }),
    deleteCustomer: (id) => send(customerPath(id), {}, { method: 'DELETE' }),
    searchCustomers: (query) => send('/customers', query),
    addToken: (customerId, change) =>
      send(`${customerPath(customerId)}/tokens`, {}, { body: tokenBody(change) }),
    listTokens: (customerId, query) => send(`${customerPath(customerId)}/tokens`, query),
    lookUpToken: (customerId, id) => send(tokenPath(customerId, id)),
    changeToken: (customerId, id, body) => send(tokenPath(customerId, id), {}, { method: 'PATCH', body }),
    deleteToken: (customerId, id) => send(tokenPath(customerId, id), {}, { method: 'DELETE' }),
    newCustomer: async () => created(await vault.addCustomer()).id,
    newToken: async (change, customerId) => {
      const owner = customerId ?? (await vault.newCustomer());
      const { id, virtual_pan: virtualPan } = created(await vault.addToken(owner, change));
      return { customerId: owner, id, virtualPan };
    },
  };
  return vault;
}

function created({ status, text, body }: Answer): Json {
  if (status !== 201) throw new Error(`not created: ${status} ${text}`);
  return body;
}

/** Every operation of the vault, from the server's own list, so that new ones are included. */
export const VAULT_OPERATIONS = OPERATIONS.filter(({ tag }) => tag === 'Customers' || tag === 'Tokens').map(
  ({ id, method, route, body, example }) => ({
    id,
    method,
    route,
    changes: method !== 'GET',
    /** A valid request for a customer and a token. A new body each time: names and references are unique. */
    request(customerId: number | string, tokenId: number | string) {
      const path = route.replace('{customer_id}', String(customerId)).replace('{token_id}', String(tokenId));
      const names = { ...(body && has(body, 'preferred_name') && { preferred_name: randomUUID() }) };
      const references = { ...(body && has(body, 'reference') && { reference: randomUUID() }) };
      return { path, method, body: body && { ...(example as object), ...names, ...references } };
    },
  }),
);

function has(schema: object, property: string): boolean {
  return property in (schema as { properties: object }).properties;
}

/** Follows `next` to the end; every page's answer. */
export async function pagesFrom(api: Client, first: Answer): Promise<Answer[]> {
  const pages = [first];
  for (let next = nextOf(first); next !== undefined; next = nextOf(pages.at(-1) as Answer)) {
    pages.push(await api.get(next));
  }
  return pages;
}

/** The path of the next page below the base address. */
export function nextOf({ body }: Answer): string | undefined {
  return body._links.next?.href.replace(/^\/v1/, '');
}

/** Sixteen digits that begin with these and pass the Luhn check. */
export function cardBeginning(digits: string, serial: number): string {
  const fifteen = digits + String(serial).padStart(15 - digits.length, '0');
  return fifteen + luhnDigit(fifteen);
}

/** The card of `cardAccount` as answers show it. */
export const shownCard = (change: Json = {}) => ({
  general_creditcard: {
    'CARD.PAN': '411111******1111',
    'CARD.EXPIRY': '****',
    'CARD.NAME': 'Ada Lovelace',
    'CARD.TYPE': 'visa',
    ...change,
  },
});
