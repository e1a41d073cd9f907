// Pages of customers: by offset and by cursor, in every order, while customers come and go.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { nextOf, pagesFrom, type Query, type Vault, vaultOf } from '../../testkit/vault-client.js';
import { addSearchedCustomers, type Customer, inOrder, resultsOf } from './searched-customers.js';

let gateway: TestGateway;
let api: Client;
/** Merchant 2's: the filters and the links are tried with `merchant_id` on the way. */
let vault: Vault;

let customers: Customer[];

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  vault = vaultOf(api, 2);
  customers = await addSearchedCustomers(gateway);
});
afterAll(() => gateway.close());

const search = async (query: Query) => resultsOf(await vault.searchCustomers(query));

const containing = (field: 'name' | 'reference', text: string) =>
  customers.filter((customer) => customer[field].toLowerCase().includes(text.toLowerCase()));

describe('pages', () => {
  test.each(['name', 'reference', 'customer_id'])(
    'search ordered by %s, pages of any size, following next → each customer exactly once, in order, and it ends',
    async (ordering) => {
      for (const limit of [1, 3, 7, customers.length - 1, customers.length]) {
        const pages = await pagesFrom(api, await vault.searchCustomers({ ordering, limit }));
        expect(pages.flatMap(resultsOf)).toEqual(inOrder(customers, ordering));
        expect(pages).toHaveLength(Math.ceil(customers.length / limit));
        for (const page of pages.slice(0, -1)) expect(page.body.results).toHaveLength(limit);
        expect(pages.at(-1)?.body._links.next).toBeUndefined();
      }
    },
  );

  test('search with filters, following next → the filters stay', async () => {
    const query = { name: 'a', reference: '-', ordering: 'reference', limit: 2 };
    const expected = inOrder(
      containing('name', 'a').filter(({ reference }) => reference.includes('-')),
      'reference',
    );
    expect(expected.length).toBeGreaterThan(4);
    const pages = await pagesFrom(api, await vault.searchCustomers(query));
    expect(pages.flatMap(resultsOf)).toEqual(expected);
  });

  test('first and next keep filters and merchant_id; first leads back to the first page', async () => {
    const first = await vault.searchCustomers({ name: 'a', limit: 2 });
    const second = await api.get(nextOf(first) as string);
    const parametersOf = ({ href }: { href: string }) => {
      const [path, parameters] = href.split('?');
      expect(path).toBe('/v1/customers');
      return Object.fromEntries(new URLSearchParams(parameters));
    };
    for (const { body } of [first, second]) {
      expect(parametersOf(body._links.first)).toEqual({ merchant_id: '2', name: 'a', limit: '2' });
      expect(parametersOf(body._links.next)).toMatchObject({ merchant_id: '2', name: 'a', limit: '2' });
    }
    const again = await api.get(second.body._links.first.href.replace(/^\/v1/, ''));
    expect(again.text).toBe(first.text);
  });

  test('filters with characters that are special in a URL → the links still work', async () => {
    const own = vaultOf(api);
    for (let index = 0; index < 3; index += 1) {
      await own.addCustomer({ name: `50% & more = a+b #${index} ?` });
    }
    const first = await own.searchCustomers({ name: '% & more = a+b #', limit: 1 });
    const pages = await pagesFrom(api, first);
    expect(pages.flatMap(resultsOf).map(({ name }) => name)).toEqual(
      [0, 1, 2].map((index) => `50% & more = a+b #${index} ?`),
    );
  });

  test('offset → that many are skipped, and next continues from there', async () => {
    const expected = inOrder(customers, 'name');
    for (const offset of [0, 1, 5, customers.length - 1, customers.length, customers.length + 1]) {
      expect(await search({ offset })).toEqual(expected.slice(offset));
      const pages = await pagesFrom(api, await vault.searchCustomers({ offset, limit: 4 }));
      expect(pages.flatMap(resultsOf)).toEqual(expected.slice(offset));
    }
    expect(await search({ offset: 2147483547, limit: 100 })).toEqual([]);
  });

  test('more than a hundred customers and no limit → a hundred and a next page', async () => {
    const stranger = gateway.as(gateway.stranger);
    const own = vaultOf(stranger);
    const names = Array.from({ length: 103 }, (_, index) => `Many ${index}`);
    await Promise.all(names.map((name) => own.addCustomer({ name })));
    const first = await own.searchCustomers({ name: 'many' });
    expect(first.body.results).toHaveLength(100);
    const pages = await pagesFrom(stranger, first);
    expect(
      pages
        .flatMap(resultsOf)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names.sort());
  });

  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  test.each([
    ['', 'nothing'],
    ['AAAA', 'no JSON'],
    ['not+base64', 'other characters'],
    ['a'.repeat(401), 'too long'],
    [encoded(null), 'null'],
    [encoded({}), 'an object'],
    [encoded([]), 'an empty list'],
    [encoded(['ada']), 'no identifier'],
    [encoded([7, 7]), 'a number for a text'],
    [encoded(['ada', '7']), 'a text for a number'],
    [encoded(['ada', 1.5]), 'a fraction'],
    [encoded(['ada', -1]), 'a negative number'],
    [encoded(['ada', 2147483648]), 'too large a number'],
    [encoded(['\u00e9', 1]), 'a character that no name has'],
    [encoded(['\u0000', 1]), 'a character that the database cannot take'],
  ])('a page whose `after` was tampered with (%s: %s) → 422, for customers and for tokens', async (after) => {
    const customerId = customers[0]?.id as number;
    for (const answer of [
      await vault.searchCustomers({ after }),
      await vault.listTokens(customerId, { after }),
    ]) {
      expect(answer.status).toBe(422);
      expect(answer.errors.every((error) => error.endsWith(' query/after'))).toBe(true);
    }
  });

  test('following next while others are added and removed → never fails, ends, and each unchanged one comes exactly once', async () => {
    const stranger = gateway.as(gateway.stranger);
    const own = vaultOf(stranger);
    const staying = new Set<number>();
    for (let index = 0; index < 30; index += 1) {
      const name = `Steady ${String((index * 7) % 30).padStart(2, '0')}`;
      staying.add((await own.addCustomer({ name, reference: `s-${index}` })).body.id);
    }
    let over = false;
    const coming = (async () => {
      for (let turn = 0; !over; turn += 1) {
        const { body } = await own.addCustomer({ name: `Steady ${turn % 30} for a moment` });
        await own.deleteCustomer(body.id);
      }
    })();
    try {
      for (const ordering of ['name', 'reference', 'customer_id']) {
        const pages = await pagesFrom(
          stranger,
          await own.searchCustomers({ name: 'steady', ordering, limit: 2 }),
        );
        expect(pages.every(({ status }) => status === 200)).toBe(true);
        const seen = pages
          .flatMap(resultsOf)
          .map(({ id }) => id)
          .filter((id) => staying.has(id));
        expect(seen).toHaveLength(staying.size);
        expect(new Set(seen)).toEqual(staying);
      }
    } finally {
      over = true;
      await coming;
    }
  });
});
