// Tokens that are updated: what changes, what stays, and what is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client, Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bankAccount, cardAccount, shownCard, type Vault, vaultOf } from '../../testkit/vault-client.js';

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

describe('updating', () => {
  test.each<[string, Json, Json]>([
    ['preferred_name', { preferred_name: 'A new name' }, { preferred_name: 'A new name' }],
    ['active', { active: false }, { active: false }],
    [
      'account',
      { account: cardAccount({ 'CARD.PAN': '5555555555554444', 'CARD.NAME': 'Grace' }) },
      {
        account: shownCard({
          'CARD.PAN': '555555******4444',
          'CARD.NAME': 'Grace',
          'CARD.TYPE': 'mastercard',
        }),
      },
    ],
    [
      'everything',
      { preferred_name: 'All new', active: false, account: cardAccount({ 'CARD.PAN': '378282246310005' }) },
      {
        preferred_name: 'All new',
        active: false,
        account: shownCard({ 'CARD.PAN': '378282*****0005', 'CARD.TYPE': 'amex' }),
      },
    ],
    [
      'account, from card to bank account',
      { account: bankAccount() },
      {
        account: {
          general_bankaccount: {
            'BANK.BSB': '062-000',
            'BANK.ACCOUNT_NUMBER': '******789',
            'BANK.ACCOUNT_NAME': 'A Customer',
          },
        },
      },
    ],
    ['nothing', {}, {}],
    ['members that nobody knows', { virtual_pan: '9000000000000001', id: 1 }, {}],
  ])('update %s → 200, ID, virtual PAN and all other fields unchanged', async (_what, change, expected) => {
    const owner = await vault.newCustomer();
    const before = (await vault.addToken(owner)).body;
    const answer = await vault.changeToken(owner, before.id, change);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ ...before, ...expected });
    expect((await vault.lookUpToken(owner, before.id)).text).toBe(answer.text);
  });

  test('update from bank account to card → payments by card work', async () => {
    const { id, virtualPan } = await vault.newToken({ account: bankAccount() }, customerId);
    const answer = await vault.changeToken(customerId, id, { account: cardAccount() });
    expect(answer.body.account).toEqual(shownCard());
    expect((await api.purchase({ pan: virtualPan })).body.status.transaction_status_code).toBe('approved');
  });

  test('a token under another customer’s address → 404 token_not_found', async () => {
    const { id } = await vault.newToken({}, customerId);
    const other = await vault.newCustomer();
    for (const answer of [
      await vault.lookUpToken(other, id),
      await vault.changeToken(other, id, { active: false }),
      await vault.deleteToken(other, id),
      await vault.lookUpToken(customerId, 2147483647),
      await vault.changeToken(customerId, 2147483647, { active: false }),
      await vault.deleteToken(customerId, 2147483647),
    ]) {
      expect([answer.status, ...answer.errors]).toEqual([404, 'token_not_found path/token_id']);
    }
    expect((await vault.lookUpToken(customerId, id)).body.active).toBe(true);
  });

  test('delete a token → 204 without a body, and it is gone', async () => {
    const { id } = await vault.newToken({}, customerId);
    const answer = await vault.deleteToken(customerId, id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    for (const after of [
      await vault.lookUpToken(customerId, id),
      await vault.changeToken(customerId, id, { active: true }),
      await vault.deleteToken(customerId, id),
    ]) {
      expect([after.status, after.code]).toEqual([404, 'token_not_found']);
    }
    const listed = await vault.listTokens(customerId);
    expect(listed.body.results.map((token: Json) => token.id)).not.toContain(id);
  });
});
