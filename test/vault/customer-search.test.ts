// The search for customers: results, parameters and pages.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Client, Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker } from '../../testkit/locks.js';
import { nextOf, pagesFrom, type Query, type Vault, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;
/** Merchant 2's: the filters and the links are tried with `merchant_id` on the way. */
let vault: Vault;

interface Customer {
  readonly id: number;
  readonly name: string;
  readonly reference: string;
}

/** With ties in every key, mixed case, and the characters that mean something in a pattern. */
const NAMES: readonly (readonly [name: string, reference: string])[] = [
  ['Zoe', 'r-07'],
  ['ada', 'R-01'],
  ['Ada', 'r-02'],
  ['ADA', 'Z-99'],
  ['ada', 'a-1'],
  ['Grace Hopper', 'r-05'],
  ['grace hopper', 'R-06'],
  ['Barbara', 'b_1'],
  ['barbara', 'B-1'],
  ['100% Fun', 'p%q'],
  ['100 Fun', 'pxq'],
  ['under_score', 'u_s'],
  ['underXscore', 'uxs'],
  ['back`tick', 'b`t'],
  ['backtick', 'bt'],
  ['_', '_'],
  ['%', '%'],
  ['[a-z]', '[r]'],
  ['~tilde', '~t'],
  ['!first', '!f'],
  ['(brackets)', '(b)'],
  ['a+b & c', 'a+b'],
  ['x', 'x'],
];

let customers: Customer[];

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  vault = vaultOf(api, 2);
  customers = [];
  for (const [name, reference] of NAMES) {
    const { body } = await vault.addCustomer({ name, reference });
    customers.push({ id: body.id, name, reference });
  }
  // Somebody else's, who must never turn up.
  await vaultOf(api).addCustomer({ name: 'Ada of merchant 1', reference: 'r-1' });
  await vaultOf(gateway.as(gateway.stranger)).addCustomer({ name: 'Ada the stranger', reference: 'r-1' });
});
afterAll(() => gateway.close());

const resultsOf = ({ body }: Answer): Customer[] =>
  body.results.map(({ id, name, reference }: Json) => ({ id, name, reference }));
const search = async (query: Query) => resultsOf(await vault.searchCustomers(query));

/** In the order that the ordering means: in any case, ties in the order of the identifiers. */
function inOrder(list: readonly Customer[], ordering: string): Customer[] {
  const key = (customer: Customer) =>
    ordering === 'customer_id' ? '' : customer[ordering as 'name' | 'reference'].toLowerCase();
  return [...list].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.id - b.id));
}

const containing = (field: 'name' | 'reference', text: string) =>
  customers.filter((customer) => customer[field].toLowerCase().includes(text.toLowerCase()));

describe('results', () => {
  test('search without anything → all customers of the merchant, by name, as list items', async () => {
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

  test.each([
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
  ])('search for the name %j → those whose name holds it, in any case and to the letter', async (name) => {
    expect(await search({ name })).toEqual(inOrder(containing('name', name), 'name'));
  });

  test.each(['r-0', 'R-0', '%', '_', '`', 'q', 'B', '1', '[r]', 'x'.repeat(50)])(
    'search for the reference %j → those whose reference holds it, in any case and to the letter',
    async (reference) => {
      const expected = inOrder(containing('reference', reference), 'reference');
      expect(await search({ reference, ordering: 'reference' })).toEqual(expected);
    },
  );

  test('search for a name and a reference → those with both', async () => {
    const expected = containing('name', 'ada').filter(({ reference }) => /r-/i.test(reference));
    expect(expected).toHaveLength(2);
    expect(await search({ name: 'ada', reference: 'r-' })).toEqual(inOrder(expected, 'name'));
    expect(await search({ name: 'ada', reference: 'nothing' })).toEqual([]);
  });

  test('a customer that is renamed, and one that is deleted → the search knows at once', async () => {
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
  test.each<[string, string, string]>([
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
  ])('search with %s=%j → 422 %s', async (name, value, code) => {
    const answer = await vault.searchCustomers({ [name]: value });
    expect([answer.status, ...answer.errors]).toEqual([422, `${code} query/${name}`]);
  });

  test.each([
    ['limit', 1],
    ['limit', 100],
    ['offset', 0],
    ['offset', 2147483547],
  ])('search with %s=%i → 200', async (name, value) => {
    expect((await vault.searchCustomers({ [name]: value })).status).toBe(200);
  });

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

  test('search with a parameter given twice → 422, it is not guessed which one counts', async () => {
    const answer = await api.get('/customers?name=a&name=b');
    expect([answer.status, ...answer.errors]).toEqual([422, 'field_type query/name']);
  });

  test('search with parameters that nobody knows → they are ignored', async () => {
    const answer = await api.get('/customers?merchant_id=2&colour=blue&Name=x');
    expect(resultsOf(answer)).toHaveLength(customers.length);
  });

  test('a plus sign or %20 for a space in a filter → both are a space', async () => {
    for (const name of ['grace+hopper', 'grace%20hopper']) {
      expect(resultsOf(await api.get(`/customers?merchant_id=2&name=${name}`))).toHaveLength(2);
    }
  });
});

describe('pages', () => {
  test.each(['name', 'reference', 'customer_id'])(
    'search ordered by %s, pages of any size, following next → everybody exactly once, in order, and it ends',
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

  test('filters of characters that mean something in an address → the links still lead on', async () => {
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

  test('offset → that many are left out, and next goes on from there', async () => {
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

  test('following next while others are added and removed → never fails, ends, and the rest comes exactly once', async () => {
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
