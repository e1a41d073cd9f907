// The vault: customers and their tokens. A correlation ID does not make these operations happen once; each recovers in the way that
// suits it.
import type { Asking, CallOptions } from './asking.js';
import { cursorIn, Pages } from './pages.js';
import type {
  Customer,
  CustomerChange,
  CustomerList,
  CustomerQuery,
  MaskedAccount,
  NewCustomer,
  NewToken,
  Token,
  TokenChange,
  TokenList,
  TokenQuery,
} from './wire.js';

export interface VaultOptions extends CallOptions {
  /** Whose vault it is. Default: that of the merchant that the user is assigned to. */
  readonly merchantId?: number | undefined;
}

const inVault = ({ merchantId }: VaultOptions) => ({ merchant_id: merchantId });

export class Customers {
  readonly #asking: Asking;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  list(query: CustomerQuery = {}, options: CallOptions = {}): Pages<Customer> {
    return new Pages(async (after) => {
      const question = { operation: 'customers.list', path: '/customers', query: onwards(query, after) };
      const { results, _links } = await this.#asking.ask<CustomerList>(question, options);
      return { results, next: cursorIn(_links.next) };
    });
  }

  /** Where a customer has this reference already, that one. */
  create(body: NewCustomer, options: VaultOptions = {}): Promise<Customer> {
    const query = inVault(options);
    return this.#asking.change(
      { operation: 'customers.create', method: 'POST', path: '/customers', query, body },
      options,
    );
  }

  get(id: number, options: VaultOptions = {}): Promise<Customer> {
    return this.#asking.ask(
      { operation: 'customers.get', path: `/customers/${id}`, query: inVault(options) },
      options,
    );
  }

  update(id: number, body: CustomerChange, options: VaultOptions = {}): Promise<Customer> {
    const query = inVault(options);
    return this.#asking.change(
      { operation: 'customers.update', method: 'PATCH', path: `/customers/${id}`, query, body },
      options,
    );
  }

  /** With its tokens. */
  async delete(id: number, options: VaultOptions = {}): Promise<void> {
    await this.#asking.change(
      {
        operation: 'customers.delete',
        method: 'DELETE',
        path: `/customers/${id}`,
        query: inVault(options),
        settled: async (refusal) => (refusal.has('customer_not_found') ? { result: undefined } : undefined),
      },
      options,
    );
  }
}

export class Tokens {
  readonly #asking: Asking;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  list(customerId: number, query: TokenQuery = {}, options: CallOptions = {}): Pages<Token> {
    return new Pages(async (after) => {
      const path = `/customers/${customerId}/tokens`;
      const question = { operation: 'tokens.list', path, query: onwards(query, after) };
      const { results, _links } = await this.#asking.ask<TokenList>(question, options);
      return { results, next: cursorIn(_links.next) };
    });
  }

  /** After a lost answer it is looked for by its name, which no other token of the customer can have. */
  create(customerId: number, body: NewToken, options: VaultOptions = {}): Promise<Token> {
    const find = async () => {
      for await (const token of this.list(customerId, { ...merchantOf(options) }, options)) {
        if (token.preferred_name === body.preferred_name && isOf(token, body)) return token;
      }
      return undefined;
    };
    return this.#asking.change(
      {
        operation: 'tokens.create',
        method: 'POST',
        path: `/customers/${customerId}/tokens`,
        query: inVault(options),
        body,
        find,
        settled: async (refusal) => {
          const result = refusal.has('preferred_name_in_use') ? await find() : undefined;
          return result && { result };
        },
      },
      options,
    );
  }

  get(customerId: number, id: number, options: VaultOptions = {}): Promise<Token> {
    const path = `/customers/${customerId}/tokens/${id}`;
    return this.#asking.ask({ operation: 'tokens.get', path, query: inVault(options) }, options);
  }

  update(customerId: number, id: number, body: TokenChange, options: VaultOptions = {}): Promise<Token> {
    const path = `/customers/${customerId}/tokens/${id}`;
    const query = inVault(options);
    return this.#asking.change({ operation: 'tokens.update', method: 'PATCH', path, query, body }, options);
  }

  async delete(customerId: number, id: number, options: VaultOptions = {}): Promise<void> {
    await this.#asking.change(
      {
        operation: 'tokens.delete',
        method: 'DELETE',
        path: `/customers/${customerId}/tokens/${id}`,
        query: inVault(options),
        settled: async (refusal) =>
          refusal.has('token_not_found') || refusal.has('customer_not_found')
            ? { result: undefined }
            : undefined,
      },
      options,
    );
  }
}

/** A page of a list: with its cursor an offset means nothing. */
function onwards<Query extends { readonly offset?: number }>(
  query: Query,
  after: string | undefined,
): object {
  if (after === undefined) return query;
  const { offset: _offset, ...rest } = query;
  return { ...rest, after };
}

function merchantOf({ merchantId }: VaultOptions): TokenQuery {
  return merchantId === undefined ? {} : { merchant_id: merchantId };
}

/** As far as a masked account shows it, this is the one that was sent, and not an older one of the same name. */
function isOf({ active, account }: Token, wished: NewToken): boolean {
  return active === wished.active && marksOf(account) === marksOf(wished.account);
}

function marksOf(account: NewToken['account'] | MaskedAccount): string {
  if ('general_creditcard' in account) {
    const { 'CARD.PAN': pan, 'CARD.NAME': name } = account.general_creditcard;
    return [pan.length, pan.slice(0, 6), pan.slice(-4), name].join('|');
  }
  const {
    'BANK.BSB': bsb,
    'BANK.ACCOUNT_NUMBER': number,
    'BANK.ACCOUNT_NAME': name,
  } = account.general_bankaccount;
  return [bsb.replaceAll(/\D/g, ''), number.slice(-3), name].join('|');
}
