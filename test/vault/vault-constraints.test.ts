// Changes that the vault's schema refuses, whatever writes them: each is sent straight to PostgreSQL.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker } from '../../testkit/locks.js';
import { type NewToken, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let token: NewToken;
let deleted: NewToken;
beforeAll(async () => {
  gateway = await testGateway();
  const vault = vaultOf(gateway.api);
  token = await vault.newToken();
  deleted = await vault.newToken();
  await vault.deleteToken(deleted.customerId, deleted.id);
});
afterAll(() => gateway.close());

const CHECKED = '23514';

// catches(schema: a token without its card)
test.each([['a token without its card', 'sealed = NULL', CHECKED]])(
  '%s: %s → refused',
  async (_, change, code) => {
    const changing = gateway.sql(`UPDATE token SET ${change} WHERE id = $1`, [token.id]);
    await expect(changing).rejects.toMatchObject({ code });
  },
);

// catches(schema: a virtual PAN that is none)
test('an invalid virtual PAN → refused', async () => {
  const { query, rollback } = await locker(gateway);
  await query('ALTER TABLE token DISABLE TRIGGER USER');
  const changing = query(`UPDATE token SET virtual_pan = '4111111111111111' WHERE id = ${token.id}`);
  await expect(changing).rejects.toMatchObject({ code: CHECKED, constraint: 'token_virtual_pan_check' });
  await rollback();
});

test.each([
  // catches(schema: a deleted token that still holds its card)
  ['a deleted token that still holds its card', `sealed = '\\x00'`],
  // catches(schema: a deleted token that is still active)
  ['a deleted token that is still active', 'active = true'],
])('%s: %s → refused', async (_, change) => {
  const changing = gateway.sql(`UPDATE token SET ${change} WHERE id = $1`, [deleted.id]);
  await expect(changing).rejects.toMatchObject({ code: CHECKED });
});

// catches(schema: a virtual PAN is handed out once)
test('a virtual PAN is assigned once → a second token with it is refused, even if the first was deleted', async () => {
  const { query, rollback } = await locker(gateway);
  await query('ALTER TABLE token DISABLE TRIGGER USER');
  const repeating = query(`UPDATE token SET virtual_pan = '${deleted.virtualPan}' WHERE id = ${token.id}`);
  await expect(repeating).rejects.toMatchObject({ code: '23505' });
  await rollback();
});

test.each([
  ['its virtual PAN is changed', `virtual_pan = '9000000000000009'`],
  ['it is given to another customer', 'customer_id = customer_id + 1'],
  ['its seal is set back', 'seal_version = seal_version - 1'],
  ['its version is set back', 'version = version - 1'],
  // catches(schema: the seal of a token is not set back): a token
  // catches(schema: a token keeps its customer): a token
  // catches(schema: a token keeps its virtual PAN): a token
])('a token: %s → refused', async (_, change) => {
  const changing = gateway.sql(`UPDATE token SET ${change} WHERE id = $1`, [token.id]);
  await expect(changing).rejects.toMatchObject({ code: '23514', constraint: 'token_is_kept' });
});

// catches(schema: a token is not removed)
// catches(schema: a deleted token stays deleted)
test('a deleted token is restored, or any is removed → refused', async () => {
  const revived = `deleted_at = NULL, active = true, sealed = '', key_version = 1, shown = '{}', preferred_name = 'x'`;
  for (const statement of [
    `UPDATE token SET ${revived} WHERE id = ${deleted.id}`,
    `DELETE FROM token WHERE id = ${deleted.id}`,
    'TRUNCATE token CASCADE',
  ]) {
    await expect(gateway.sql(statement)).rejects.toMatchObject({ constraint: 'token_is_kept' });
  }
});

// catches(schema: a data key keeps its version)
// catches(schema: a data key that was destroyed is not put back)
test('a destroyed version of a data key is restored, or a key is given another version → refused', async () => {
  const columns = 'organisation_id, merchant_id, version, key_encryption_key, wrapped';
  for (const statement of [
    `INSERT INTO data_key (${columns}) VALUES (1, 1, 0, '', '')`,
    'UPDATE data_key SET version = version + 1',
  ]) {
    await expect(gateway.sql(statement)).rejects.toMatchObject({ constraint: 'data_key_is_kept' });
  }
});

test.each([
  ['it is led to another account', 'UPDATE directdebit_item SET account_audit = account_audit + 1'],
  ['it goes back', `UPDATE directdebit_item SET state = 'waiting'`],
  ['it is removed', 'DELETE FROM directdebit_item'],
  // catches(schema: an item for a bank does not go back)
  // catches(schema: an item for a bank keeps its account)
])('an item for a bank: %s → refused', async (_, statement) => {
  await gateway.api.purchase({ bankAccount: {} });
  const { query, rollback } = await locker(gateway);
  await query(`UPDATE directdebit_item SET state = 'voided', next_at = NULL`);
  await expect(query(statement)).rejects.toMatchObject({ constraint: 'directdebit_item_is_kept' });
  await rollback();
});

// catches(schema: a data key that a token still needs)
test('a data key that a token still needs is removed → refused', async () => {
  await expect(gateway.sql('DELETE FROM data_key')).rejects.toMatchObject({ code: '23503' });
});

// catches(schema: the gateway may not change the journal)
test('the gateway’s role changes the journal, with its triggers removed → still refused', async () => {
  for (const statement of [`UPDATE journal SET actor = 'nobody'`, 'DELETE FROM journal']) {
    const { query, rollback } = await locker(gateway);
    await query('ALTER TABLE journal DISABLE TRIGGER USER');
    await query('SET ROLE tollgate_application');
    await expect(query(statement)).rejects.toMatchObject({ code: '42501' });
    await rollback();
  }
});
