// Locks while card data is removed or resealed, so that nothing is left behind or brought back.
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { KeyProvider } from '../../src/vault/keys/key-provider.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker, waitingForLocks } from '../../testkit/locks.js';
import { operatorOf, rotationOf } from '../../testkit/sealed-rows.js';
import { cardAccount, type Vault, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let vault: Vault;
beforeAll(async () => {
  gateway = await testGateway();
  vault = vaultOf(gateway.api);
});
afterAll(() => gateway.close());

/** Waits until the request waits for a lock, or was answered without waiting. */
async function underWay(request: Promise<unknown>): Promise<void> {
  const answered = request.then(() => true);
  await vi.waitUntil(
    async () => (await waitingForLocks(gateway)).length > 0 || Promise.race([answered, false]),
    { timeout: 300_000 },
  );
}

// catches(new token: its customer is locked against deletion)
test('a token created while its customer is being deleted → 404 after the deletion, and no card is left behind', async () => {
  const customerId = await vault.newCustomer();
  const { query, commit } = await locker(gateway);
  await query('DELETE FROM customer WHERE id = $1', [customerId]);
  const adding = vault.addToken(customerId);
  await underWay(adding);
  await commit();
  const { status, code } = await adding;
  expect([status, code]).toEqual([404, 'customer_not_found']);
  expect(await gateway.sql('SELECT id FROM token WHERE customer_id = $1', [customerId])).toEqual([]);
});

// catches(rotation: tokens are locked while they are sealed anew) slow
test('a card replaced while its token is being resealed → the new card is charged, not the old one', async () => {
  const { customerId, id, virtualPan } = await vault.newToken();
  const operator = await operatorOf(gateway);
  onTestFinished(() => operator.close());
  const { provider } = operator;
  let goOn = () => {};
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let openingOld = () => {};
  const opens = new Promise<void>((resolve) => {
    openingOld = resolve;
  });
  // The rotation stops between reading and writing the token's row.
  const halting: KeyProvider = {
    name: provider.name,
    wrap: (key, context) => provider.wrap(key, context),
    unwrap: async (wrapped, context) => {
      if (context.endsWith('/1/bound')) {
        openingOld();
        await mayGoOn;
      }
      return provider.unwrap(wrapped, context);
    },
  };
  const rotating = rotationOf(operator.database, halting).rotate(1, () => {});
  await opens;
  const changing = vault.changeToken(customerId, id, {
    account: cardAccount({ 'CARD.PAN': '5555555555554444' }),
  });
  await underWay(changing);
  goOn();
  expect((await changing).status).toBe(200);
  await rotating;
  const { body } = await gateway.api.purchase({ pan: virtualPan });
  const { payment_method } = (await gateway.api.lookUp(body.audit)).body.transaction;
  expect(payment_method.creditcard.pan).toBe('555555******4444');
});
