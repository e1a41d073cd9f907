// `tollgate customer` and `tollgate token`: an operator's change in the vault takes effect on payments and in the API at once.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const { json, refusal } = commands((line) =>
  runHere(wordsOf(line), { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir }),
);
const pay = async (virtualPan: string): Promise<[number, string | undefined]> => {
  const { status, code } = await gateway.api.purchase({ pan: virtualPan });
  return [status, code];
};
const journalled = (action: string, token: number) =>
  gateway.sql(
    `SELECT actor, address, mark IS NOT NULL AS marked FROM journal WHERE action = $1 AND token_id = $2`,
    [action, token],
  );
const BY_OPERATOR = {
  actor: expect.stringMatching(/^operator:account:/),
  address: expect.stringMatching(/./),
  marked: true,
};

test('token deactivate → payments refused; activate → payments work again; delete → gone for good', async () => {
  const { id, virtualPan, customerId } = await vaultOf(gateway.api).newToken();
  const token = { organisation: 1, merchant: 1, customer: customerId, token: id };
  expect(await pay(virtualPan)).toEqual([201, undefined]);
  expect(await json(`token deactivate ${id} --organisation 1`)).toEqual({
    ...token,
    active: false,
    deleted: false,
  });
  expect(await pay(virtualPan)).toEqual([422, 'token_not_usable']);
  expect(await journalled('token.updated', id)).toEqual([BY_OPERATOR]);
  expect(await json(`token activate ${id} --organisation 1`)).toMatchObject({ active: true });
  expect(await pay(virtualPan)).toEqual([201, undefined]);
  expect(await json(`token delete ${id} --organisation 1`)).toEqual({
    ...token,
    active: false,
    deleted: true,
  });
  expect(await pay(virtualPan)).toEqual([422, 'token_not_usable']);
  expect(await journalled('token.deleted', id)).toEqual([BY_OPERATOR]);
  const told = `there is no token ${id}, or it was deleted`;
  expect(await refusal(`token activate ${id} --organisation 1`)).toBe(told);
});

test('customer delete → the customer and its tokens are gone, and their events name the operator', async () => {
  const { id, virtualPan, customerId } = await vaultOf(gateway.api).newToken();
  expect(await json(`customer delete ${customerId} --organisation 1`)).toEqual({
    organisation: 1,
    customer: customerId,
    deleted: true,
  });
  expect((await vaultOf(gateway.api).lookUpCustomer(customerId)).status).toBe(404);
  expect(await pay(virtualPan)).toEqual([422, 'token_not_usable']);
  expect(await journalled('token.deleted', id)).toEqual([BY_OPERATOR]);
  expect(await refusal(`customer delete ${customerId} --organisation 1`)).toBe(
    `there is no customer ${customerId}`,
  );
  const [{ sealed } = { sealed: 1 }] = await gateway.sql(
    `SELECT sealed FROM token WHERE organisation_id = 1 AND id = $1`,
    [id],
  );
  expect(sealed).toBeNull();
});

test('customer list and show → the customer, its tokens masked, and its history', async () => {
  const { id, customerId } = await vaultOf(gateway.api).newToken();
  const listed: Json[] = await json('customer list --organisation 1');
  expect(listed.map((row) => row.id)).toContain(customerId);
  const shown = await json(`customer show ${customerId} --organisation 1`);
  expect(shown).toMatchObject({ id: customerId, tokens: [{ id, account: expect.stringContaining('*') }] });
  expect(shown.journal.length).toBeGreaterThan(0);
  expect(await refusal(`customer show ${customerId} --organisation 2`)).toMatch(/^there is no customer/);
});

test('of another organisation → not found', async () => {
  const { id, customerId } = await vaultOf(gateway.api).newToken();
  expect(await refusal(`token delete ${id} --organisation 2`)).toMatch(/^there is no token/);
  expect(await refusal(`customer delete ${customerId} --organisation 2`)).toMatch(/^there is no customer/);
  expect((await vaultOf(gateway.api).lookUpToken(customerId, id)).status).toBe(200);
});
