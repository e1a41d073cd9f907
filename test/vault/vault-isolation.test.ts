// Another organisation's data looks like missing data, byte for byte.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Client } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type NewToken, VAULT_OPERATIONS, type Vault, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let vault: Vault;
let token: NewToken;

const NOBODY = 2147483647;

beforeAll(async () => {
  gateway = await testGateway();
  vault = vaultOf(gateway.api);
  // A few customers first, so that no other organisation has the same ID by chance.
  for (let index = 0; index < 5; index += 1) await vault.newCustomer();
  token = await vault.newToken({ preferred_name: 'Mine' });
});
afterAll(() => gateway.close());

const callers: readonly [string, () => Client, number][] = [
  ['a colleague without a grant', () => gateway.as(gateway.colleague), 2],
  ['a stranger of another organisation', () => gateway.as(gateway.stranger), 4],
  ['the same user for another of its merchants', () => gateway.api, 2],
];

/** Everything by which a caller can distinguish two answers. */
function seen({ status, text, headers }: Answer) {
  const told = [...headers].filter(([name]) => !['date', 'x-correlation-id'].includes(name));
  return { status, text, headers: told.sort() };
}

const state = async () => [
  (await vault.searchCustomers()).text,
  (await vault.listTokens(token.customerId)).text,
  (await vault.lookUpToken(token.customerId, token.id)).text,
];

const ofOneCustomer = VAULT_OPERATIONS.filter(({ route }) => route.includes('{customer_id}'));
const ofOneToken = VAULT_OPERATIONS.filter(({ route }) => route.includes('{token_id}'));

describe.each(callers)('%s', (_who, as, merchantId) => {
  // catches(customer: deleted, cards and all, only by its merchant)
  // catches(token: changed only by its merchant)
  // catches(token: looked up only by its merchant)
  // catches(new token: only for a customer of this merchant)
  test('any operation on a customer of merchant 1 → as for an unknown customer, and nothing changes', () =>
    expectEach(ofOneCustomer, async (operation) => {
      const before = await state();
      const query = `?merchant_id=${merchantId}`;
      const body = operation.request(1, 1).body;
      const call = (customerId: number, tokenId: number) => {
        const { path, method } = operation.request(customerId, tokenId);
        return as().call(path + query, { method, body });
      };
      const [theirs, nobodys] = [await call(token.customerId, token.id), await call(NOBODY, token.id)];
      expect([nobodys.status, nobodys.code]).toEqual([404, 'customer_not_found']);
      expect(seen(theirs)).toEqual(seen(nobodys));
      expect(await state()).toEqual(before);
    }));

  test('any operation on a token of merchant 1 under one’s own customer → as for an unknown token', () =>
    expectEach(ofOneToken, async (operation) => {
      const before = await state();
      const own = await vaultOf(as(), merchantId).newCustomer();
      const body = operation.request(1, 1).body;
      const call = (tokenId: number) => {
        const { path, method } = operation.request(own, tokenId);
        return as().call(`${path}?merchant_id=${merchantId}`, { method, body });
      };
      const [theirs, nobodys] = [await call(token.id), await call(NOBODY)];
      expect([nobodys.status, nobodys.code]).toEqual([404, 'token_not_found']);
      expect(seen(theirs)).toEqual(seen(nobodys));
      expect(await state()).toEqual(before);
    }));

  test('search and find-or-create → never see or change a customer of merchant 1', async () => {
    const before = await state();
    const mine = (await vault.lookUpCustomer(token.customerId)).body;
    const theirs = vaultOf(as(), merchantId);
    expect((await theirs.searchCustomers({ reference: mine.reference })).body.results).toEqual([]);
    const made = await theirs.addCustomer({ reference: mine.reference, name: 'Theirs' });
    expect([made.status, made.body.name]).toEqual([201, 'Theirs']);
    expect((await theirs.searchCustomers({ reference: mine.reference })).body.results).toHaveLength(1);
    await theirs.deleteCustomer(made.body.id);
    expect(await state()).toEqual(before);
  });
});

describe.each([
  ['a colleague without a grant', () => gateway.as(gateway.colleague), [1, 3, 4]],
  ['a stranger of another organisation', () => gateway.as(gateway.stranger), [1, 2, 3]],
] as const)('%s', (_who, as, others) => {
  test('any operation for a foreign merchant → the same 403 whether that merchant, customer and token exist or not', () =>
    expectEach(VAULT_OPERATIONS, async (operation) => {
      const before = await state();
      const answers: Answer[] = [];
      const body = operation.request(1, 1).body;
      for (const merchantId of [...others, NOBODY]) {
        for (const [customerId, tokenId] of [
          [token.customerId, token.id],
          [NOBODY, NOBODY],
        ] as const) {
          const { path, method } = operation.request(customerId, tokenId);
          answers.push(await as().call(`${path}?merchant_id=${merchantId}`, { method, body }));
        }
      }
      expect([answers[0]?.status, answers[0]?.errors]).toEqual([
        403,
        ['merchant_not_permitted query/merchant_id'],
      ]);
      for (const answer of answers) expect(seen(answer)).toEqual(seen(answers[0] as Answer));
      expect(await state()).toEqual(before);
    }));
});

test('any operation for a merchant without the vault → 403, whether the customer exists or not', () =>
  expectEach(VAULT_OPERATIONS, async (operation) => {
    const body = operation.request(1, 1).body;
    const answers: Answer[] = [];
    for (const [customerId, tokenId] of [
      [token.customerId, token.id],
      [NOBODY, NOBODY],
    ] as const) {
      const { path, method } = operation.request(customerId, tokenId);
      answers.push(await gateway.api.call(`${path}?merchant_id=3`, { method, body }));
    }
    for (const answer of answers) {
      expect([answer.status, ...answer.errors]).toEqual([403, 'vault_not_enabled query/merchant_id']);
      expect(seen(answer)).toEqual(seen(answers[0] as Answer));
    }
  }));
