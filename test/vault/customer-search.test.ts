// The search for customers: results, parameters, and one that takes too long.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker } from '../../testkit/locks.js';
import { type Query, type Vault, vaultOf } from '../../testkit/vault-client.js';
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

describe('results', () => {
  test('search without parameters → all customers of the merchant, by name, as list items', async () => {
    const answer = await vault.searchCustomers();
    expect(answer.status).toBe(200);
    expect(resultsOf(answer)).toEqual(inOrder(customers, 'name'));
    for (const { id, _links } of answer.body.results) {
      expect(_links).toEqual({
        self: { href: `/v1/customers/${id}?merchant_id=2` },
        tokens: { href: `/v1/customers/${id}/tokens?merchant_id=2` },
      });
    }
    expect(answer.body._links).toEqual({ first: { href: '/v1/customers?merchant_id=2' } });
  });

  test.each(['name', 'reference', 'customer_id'])(
    'search ordered by %s → that order, the same each time',
    async (ordering) => {
      const expected = inOrder(customers, ordering);
      expect(await search({ ordering })).toEqual(expected);
      expect(await search({ ordering })).toEqual(expected);
    },
  );

  test('search of a merchant without customers → an empty list, and no next', async () => {
    const answer = await vaultOf(gateway.as(gateway.stranger)).searchCustomers({ name: 'nobody' });
    expect(answer.body).toEqual({
      _links: { first: { href: '/v1/customers?name=nobody' } },
      results: [],
    });
  });

  test('search for a name → customers whose name contains that text, in any case', () =>
    expectEach(
      [
        'ada',
        'ADA',
        'aDa',
        'a',
        'race hop',
        '100%',
        '%',
        '_',
        'r_s',
        '`',
        'k`t',
        '[a-z]',
        '(',
        '+',
        ' & ',
        'nobody is called so',
        'x'.repeat(60),
      ],
      async (name) => {
        expect(await search({ name })).toEqual(inOrder(containing('name', name), 'name'));
      },
    ));

  test('search for a reference → customers whose reference contains that text, in any case', () =>
    expectEach(['r-0', 'R-0', '%', '_', '`', 'q', 'B', '1', '[r]', 'x'.repeat(50)], async (reference) => {
      const expected = inOrder(containing('reference', reference), 'reference');
      expect(await search({ reference, ordering: 'reference' })).toEqual(expected);
    }));

  test('search for a name and a reference → those that match both', async () => {
    const expected = containing('name', 'ada').filter(({ reference }) => /r-/i.test(reference));
    expect(expected).toHaveLength(2);
    expect(await search({ name: 'ada', reference: 'r-' })).toEqual(inOrder(expected, 'name'));
    expect(await search({ name: 'ada', reference: 'nothing' })).toEqual([]);
  });

  test('a renamed customer, and a deleted one → the search reflects it at once', async () => {
    const own = vaultOf(api);
    const { id } = (await own.addCustomer({ name: 'Before the change' })).body;
    await own.changeCustomer(id, { name: 'After the change' });
    expect((await own.searchCustomers({ name: 'before the' })).body.results).toEqual([]);
    expect((await own.searchCustomers({ name: 'after the' })).body.results).toHaveLength(1);
    await own.deleteCustomer(id);
    expect((await own.searchCustomers({ name: 'after the' })).body.results).toEqual([]);
  });
});

describe('parameters', () => {
  test('search with an invalid parameter → 422', () =>
    expectEach<[string, string, string]>(
      [
        ['limit', '0', 'field_out_of_range'],
        ['limit', '101', 'field_out_of_range'],
        ['limit', '-1', 'field_type'],
        ['limit', 'all', 'field_type'],
        ['limit', '', 'field_type'],
        ['limit', '1.0', 'field_type'],
        ['offset', '2147483548', 'field_out_of_range'],
        ['offset', '-1', 'field_type'],
        ['offset', 'x', 'field_type'],
        ['ordering', 'id', 'field_format'],
        ['ordering', 'NAME', 'field_format'],
        ['ordering', '', 'field_format'],
        ['name', '', 'field_too_short'],
        ['name', 'x'.repeat(61), 'field_too_long'],
        ['name', '\u00e9', 'field_charset'],
        ['name', "'", 'field_charset'],
        ['name', '4111111111111111', 'card_number_misplaced'],
        ['reference', '', 'field_too_short'],
        ['reference', 'x'.repeat(51), 'field_too_long'],
        ['reference', '\\', 'field_charset'],
        ['reference', '4111-1111-1111-1111', 'card_number_misplaced'],
      ],
      async ([name, value, code]) => {
        const answer = await vault.searchCustomers({ [name]: value });
        expect([answer.status, ...answer.errors]).toEqual([422, `${code} query/${name}`]);
      },
    ));

  test('search with parameters at their limits → 200', () =>
    expectEach(
      [
        ['limit', 1],
        ['limit', 100],
        ['offset', 0],
        ['offset', 2147483547],
      ],
      async ([name, value]) => {
        expect((await vault.searchCustomers({ [name]: value })).status).toBe(200);
      },
    ));

  test('search with everything wrong → every problem, all together', async () => {
    const answer = await api.call(
      '/customers?merchant_id=0&ordering=x&name=&reference=%22&limit=0&offset=x&after=!',
      { correlationId: 'no spaces' },
    );
    expect(answer.status).toBe(422);
    expect(answer.errors.sort()).toEqual([
      'field_charset header/X-Correlation-Id',
      'field_charset query/reference',
      'field_format query/after',
      'field_format query/ordering',
      'field_out_of_range query/limit',
      'field_out_of_range query/merchant_id',
      'field_too_short query/name',
      'field_type query/offset',
    ]);
  });

  test('search with a repeated parameter → 422', async () => {
    const answer = await api.get('/customers?name=a&name=b');
    expect([answer.status, ...answer.errors]).toEqual([422, 'field_type query/name']);
  });

  test('search with unknown parameters → ignored', async () => {
    const answer = await api.get('/customers?merchant_id=2&colour=blue&Name=x');
    expect(resultsOf(answer)).toHaveLength(customers.length);
  });

  test('a plus sign or %20 for a space in a filter → both are a space', async () => {
    for (const name of ['grace+hopper', 'grace%20hopper']) {
      expect(resultsOf(await api.get(`/customers?merchant_id=2&name=${name}`))).toHaveLength(2);
    }
  });
});

describe('references with a common prefix', () => {
  /** Of merchant 1, beside one that begins otherwise, and one that only contains what another is. */
  const references = [
    ...Array.from({ length: 2_500 }, (_, n) => `Cust-${String(n).padStart(8, '0')}`),
    'Old-Cust-00001234',
    'cust-00001234/2',
    'Cust_00001234',
  ];

  beforeAll(async () => {
    await gateway.sql(
      `INSERT INTO customer (organisation_id, merchant_id, id, name, reference)
       SELECT 1, 1, 1000000 + n, 'Many', reference FROM unnest($1::text[]) WITH ORDINALITY AS asked(reference, n)`,
      [references],
    );
  });

  test('search for a reference or a part of one → the customers that contain it, and no others', () =>
    expectEach(
      [
        ['all of one', 'Cust-00001234'],
        ['all of one in another case', 'CUST-00001234'],
        ['the first of them', 'cust-00000000'],
        ['the last of them', 'cust-00002499'],
        ['one that nobody has', 'cust-00099999'],
        ['the beginning of some', 'cust-000012'],
        ['the end of one', '00001234'],
        ['the middle of some', 't-0000123'],
        ['one with a character that means something in a pattern', 'cust_00001234'],
        ['one that is longer than the rest', 'old-cust-00001234'],
      ],
      async ([_, reference]) => {
        const expected = references.filter((one) => one.toLowerCase().includes(reference.toLowerCase()));
        const found = resultsOf(await vaultOf(api).searchCustomers({ reference, ordering: 'customer_id' }));
        expect(found.map((customer) => customer.reference)).toEqual(expected.slice(0, 100));
      },
    ));
});

test('a search that takes too long → 503 unavailable that says what to do; purchases go on meanwhile', async () => {
  const { query, rollback } = await locker(gateway);
  await query('LOCK TABLE customer IN ACCESS EXCLUSIVE MODE');
  // More than there are connections for searches.
  const searches = Array.from({ length: 12 }, () => vault.searchCustomers({ offset: 1_000_000 }));
  for (let bought = 0; bought < 5; bought += 1) expect((await api.purchase()).status).toBe(201);
  const answers = await Promise.all(searches);
  await rollback();
  expect(new Set(answers.map(({ status, code }) => `${status} ${code}`))).toEqual(
    new Set(['503 unavailable']),
  );
  const messages = answers.map(({ body }) => body.errors[0].error_message);
  expect(messages).toContainEqual(expect.stringContaining('The search took too long.'));
  for (const { headers } of answers) expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
});
