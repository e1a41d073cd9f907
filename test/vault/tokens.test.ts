// Tokens: created, named and listed.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { luhnValid } from '../../src/values/card.js';
import type { Answer, Client, Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import {
  bankAccount,
  cardAccount,
  pagesFrom,
  shownCard,
  tokenBody,
  type Vault,
  vaultOf,
} from '../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;
let vault: Vault;
let customerId: number;

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  vault = vaultOf(api);
  customerId = await vault.newCustomer();
});
afterAll(() => gateway.close());

describe('creating', () => {
  test('create a card token → 201, its address in Location, masked, and a lookup shows the same', async () => {
    const answer = await vault.addToken(customerId, { preferred_name: 'My card', active: true });
    expect(answer.status).toBe(201);
    const { id, virtual_pan } = answer.body;
    expect(answer.body).toEqual({
      id: expect.any(Number),
      virtual_pan: expect.stringMatching(/^9[0-9]{15}$/),
      preferred_name: 'My card',
      active: true,
      account: shownCard(),
      _links: {
        self: { href: `/v1/customers/${customerId}/tokens/${id}` },
        customer: { href: `/v1/customers/${customerId}` },
      },
    });
    expect(luhnValid(virtual_pan)).toBe(true);
    expect(answer.headers.get('location')).toBe(`/v1/customers/${customerId}/tokens/${id}`);
    const found = await vault.lookUpToken(customerId, id);
    expect([found.status, found.text]).toEqual([200, answer.text]);
  });

  test('many tokens with one name at once, among others → one of them is created, 422 for the rest; the others are all created', async () => {
    const wished = Array.from({ length: 40 }, (_, at) => (at % 4 === 0 ? `other ${at}` : 'wanted by many'));
    const answers = await Promise.all(
      wished.map((preferred_name) => vault.addToken(customerId, { preferred_name })),
    );
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(29);
    for (const { status, errors } of refused)
      expect([status, ...errors]).toEqual([422, 'preferred_name_in_use body/preferred_name']);
    const stored = await gateway.sql(
      `SELECT count(*)::integer FROM journal JOIN token ON token.id = token_id
      WHERE action = 'token.created' AND token.customer_id = $1 AND preferred_name = 'wanted by many'`,
      [customerId],
    );
    expect(stored).toEqual([{ count: 1 }]);
    // Nothing that a client sent made a statement fail.
    expect(gateway.logged()).not.toContain('internal error');
  });

  test('create a bank account token → 201, BSB in clear, all but three digits of the account number masked', async () => {
    const answer = await vault.addToken(customerId, { account: bankAccount() });
    expect(answer.status).toBe(201);
    expect(answer.body.account).toEqual({
      general_bankaccount: {
        'BANK.BSB': '062-000',
        'BANK.ACCOUNT_NUMBER': '******789',
        'BANK.ACCOUNT_NAME': 'A Customer',
      },
    });
    expect((await vault.lookUpToken(customerId, answer.body.id)).text).toBe(answer.text);
  });

  test('create an inactive token → 201, inactive', async () => {
    const { status, body } = await vault.addToken(customerId, { active: false });
    expect([status, body.active]).toEqual([201, false]);
  });

  test.each([
    ['4111111111111111', '411111******1111', 'visa'],
    ['5555555555554444', '555555******4444', 'mastercard'],
    ['378282246310005', '378282*****0005', 'amex'],
    ['30569309025904', '305693****5904', 'diners'],
    ['6011111111111117', '601111******1117', 'discover'],
    ['3530111333300000', '353011******0000', 'jcb'],
    ['6200000000000005', '620000******0005', 'unionpay'],
    ['5602000000000001', '560200******0001', 'eftpos'],
    ['123456789015', '123456**9015', ''],
    ['6304000000000000000', '630400*********0000', ''],
  ])('create with the card %s → shown as %s, type "%s"', async (pan, mask, type) => {
    expect(luhnValid(pan), 'the test needs a proper number').toBe(true);
    const { body, status } = await vault.addToken(customerId, { account: cardAccount({ 'CARD.PAN': pan }) });
    expect(status).toBe(201);
    expect(body.account).toEqual(shownCard({ 'CARD.PAN': mask, 'CARD.TYPE': type }));
  });

  test.each(['0130', '1299', '3001', '1312', '2912'])(
    'create with the expiry %s → accepted',
    async (expiry) => {
      const { status, body } = await vault.addToken(customerId, {
        account: cardAccount({ 'CARD.EXPIRY': expiry }),
      });
      expect([status, body.account.general_creditcard['CARD.EXPIRY']]).toEqual([201, '****']);
    },
  );

  test.each([
    ['062000', '062-000', '12', '**'],
    ['062-000', '062-000', '123', '***'],
    ['999-999', '999-999', '1234', '*234'],
    ['000000', '000-000', '12-34 56', '***456'],
    ['062-000', '062-000', ' 123 456 789 ', '******789'],
  ])(
    'create with BSB %s (shown as %s) and account number %j → shown as %s',
    async (bsb, shownBsb, number, shown) => {
      const account = bankAccount({ 'BANK.BSB': bsb, 'BANK.ACCOUNT_NUMBER': number });
      const { status, body } = await vault.addToken(customerId, { account });
      expect(status).toBe(201);
      expect(body.account.general_bankaccount).toMatchObject({
        'BANK.BSB': shownBsb,
        'BANK.ACCOUNT_NUMBER': shown,
      });
    },
  );

  test('create with unknown members → ignored, and a CVV is not stored', async () => {
    const answer = await vault.addToken(customerId, {
      account: { ...cardAccount({ 'CARD.CVV': '9731', 'CARD.TYPE': 'amex' }), nickname: 'x' },
      ...({ id: 1, virtual_pan: '9000000000000001', colour: 'blue' } as object),
    });
    expect(answer.status).toBe(201);
    expect(answer.body.account).toEqual(shownCard());
    // A virtual PAN may contain it by chance.
    expect(answer.text.replaceAll(answer.body.virtual_pan, '')).not.toContain('9731');
  });

  test('two creations under one correlation ID → both happen', async () => {
    const correlationId = randomUUID();
    const path = `/customers/${customerId}/tokens`;
    const answers = [
      await api.post(path, tokenBody(), correlationId),
      await api.post(path, tokenBody(), correlationId),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(new Set(answers.map(({ body }) => body.virtual_pan)).size).toBe(2);
  });

  test('create for an unknown customer → 404', async () => {
    const answer = await vault.addToken(2147483647);
    expect([answer.status, ...answer.errors]).toEqual([404, 'customer_not_found path/customer_id']);
  });
});

describe('names', () => {
  test('create with a name already used for the customer → 422; another customer may use it', async () => {
    const { preferred_name } = (await vault.addToken(customerId)).body;
    const answer = await vault.addToken(customerId, { preferred_name });
    expect([answer.status, ...answer.errors]).toEqual([422, 'preferred_name_in_use body/preferred_name']);
    expect((await vault.addToken(await vault.newCustomer(), { preferred_name })).status).toBe(201);
    expect((await vault.addToken(customerId, { preferred_name: preferred_name.toUpperCase() })).status).toBe(
      201,
    );
  });

  test('twenty creations at once with one name → one 201', async () => {
    for (let round = 0; round < 3; round += 1) {
      const preferred_name = randomUUID();
      // Others in between, so that their batches are affected, too.
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          vault.addToken(customerId, index % 2 ? {} : { preferred_name }),
        ),
      );
      const statuses = (parity: number) =>
        answers
          .filter((_, index) => index % 2 === parity)
          .map(({ status }) => status)
          .sort();
      expect(statuses(0)).toEqual([201, ...Array(19).fill(422)]);
      expect(statuses(1)).toEqual(Array(20).fill(201));
    }
  });

  test('a name is free again after its token was deleted or renamed', async () => {
    const [deleted, renamed] = [await vault.addToken(customerId), await vault.addToken(customerId)];
    await vault.deleteToken(customerId, deleted.body.id);
    await vault.changeToken(customerId, renamed.body.id, { preferred_name: randomUUID() });
    for (const { body } of [deleted, renamed]) {
      const { preferred_name } = body;
      const again = await vault.addToken(customerId, { preferred_name });
      expect(again.status).toBe(201);
      expect([again.body.id, again.body.virtual_pan]).not.toContain(body.id);
      expect(again.body.virtual_pan).not.toBe(body.virtual_pan);
    }
  });

  test('update to a name already used for the customer → 422, nothing changed; to its own → 200', async () => {
    const [taken, mine] = [(await vault.addToken(customerId)).body, (await vault.addToken(customerId)).body];
    const answer = await vault.changeToken(customerId, mine.id, {
      preferred_name: taken.preferred_name,
      active: false,
    });
    expect([answer.status, ...answer.errors]).toEqual([422, 'preferred_name_in_use body/preferred_name']);
    expect((await vault.lookUpToken(customerId, mine.id)).body).toEqual(mine);
    const { status } = await vault.changeToken(customerId, mine.id, { preferred_name: mine.preferred_name });
    expect(status).toBe(200);
  });
});

describe('lists', () => {
  test('list tokens, pages of any size, following next → each exactly once, and it ends', async () => {
    const owner = await vault.newCustomer();
    const created: Json[] = [];
    for (let index = 0; index < 7; index += 1) created.push((await vault.addToken(owner)).body);
    for (const limit of [1, 2, 3, 6, 7, 8]) {
      const pages = await pagesFrom(api, await vault.listTokens(owner, { limit }));
      expect(pages.flatMap(({ body }: Answer) => body.results)).toEqual(created);
      expect(pages).toHaveLength(Math.ceil(7 / limit));
    }
    const all = await vault.listTokens(owner);
    expect(all.body).toEqual({
      _links: { first: { href: `/v1/customers/${owner}/tokens` } },
      results: created,
    });
    expect((await vault.listTokens(owner, { offset: 5 })).body.results).toEqual(created.slice(5));
    expect((await vault.listTokens(owner, { offset: 2147483547 })).body.results).toEqual([]);
    const rest = await pagesFrom(api, await vault.listTokens(owner, { offset: 2, limit: 2 }));
    expect(rest.flatMap(({ body }: Answer) => body.results)).toEqual(created.slice(2));
  });

  test('list the tokens of a granted merchant’s customer → the links keep merchant_id', async () => {
    const granted = vaultOf(api, 2);
    const owner = await granted.newCustomer();
    for (let index = 0; index < 3; index += 1) await granted.addToken(owner);
    const pages = await pagesFrom(api, await granted.listTokens(owner, { limit: 1 }));
    expect(pages).toHaveLength(3);
    const [{ self, customer }] = pages.map(({ body }) => body.results[0]._links) as [Json];
    expect((await api.get(self.href.replace(/^\/v1/, ''))).body).toEqual(pages[0]?.body.results[0]);
    expect((await api.get(customer.href.replace(/^\/v1/, ''))).body.id).toBe(owner);
  });

  test.each([
    ['limit', '0', 'field_out_of_range'],
    ['limit', '101', 'field_out_of_range'],
    ['offset', '2147483548', 'field_out_of_range'],
    ['offset', '-1', 'field_type'],
  ])('list tokens with %s=%s → 422 %s', async (name, value, code) => {
    const answer = await vault.listTokens(customerId, { [name]: value });
    expect([answer.status, ...answer.errors]).toEqual([422, `${code} query/${name}`]);
  });

  test('list the tokens of an unknown customer → 404', async () => {
    const answer = await vault.listTokens(2147483647);
    expect([answer.status, ...answer.errors]).toEqual([404, 'customer_not_found path/customer_id']);
  });

  test('list tokens while others are added and deleted → never fails, ends, and each unchanged one comes exactly once', async () => {
    const owner = await vault.newCustomer();
    const staying: number[] = [];
    for (let index = 0; index < 12; index += 1) staying.push((await vault.newToken({}, owner)).id);
    let over = false;
    const coming = (async () => {
      while (!over) {
        const { id } = await vault.newToken({}, owner);
        await vault.deleteToken(owner, id);
      }
    })();
    try {
      const pages = await pagesFrom(api, await vault.listTokens(owner, { limit: 2 }));
      const seen = pages.flatMap(({ body }: Answer) => body.results.map((token: Json) => token.id));
      expect(seen.filter((id) => staying.includes(id))).toEqual(staying);
    } finally {
      over = true;
      await coming;
    }
  });
});
