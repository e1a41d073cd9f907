// What the schema of the vault refuses, whoever writes it: each forbidden change is sent to PostgreSQL as it is.
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

test.each([
  ['a virtual PAN that is none', `virtual_pan = '4111111111111111'`, CHECKED],
  ['a token without its card', 'sealed = NULL', CHECKED],
])('%s: %s → refused', async (_, change, code) => {
  const changing = gateway.sql(`UPDATE token SET ${change} WHERE id = $1`, [token.id]);
  await expect(changing).rejects.toMatchObject({ code });
});

test.each([
  ['a deleted token that still holds its card', `sealed = '\\x00'`],
  ['a deleted token that is still active', 'active = true'],
])('%s: %s → refused', async (_, change) => {
  const changing = gateway.sql(`UPDATE token SET ${change} WHERE id = $1`, [deleted.id]);
  await expect(changing).rejects.toMatchObject({ code: CHECKED });
});

test('a virtual PAN is handed out once → a second token with it is refused, even if the first was deleted', async () => {
  const repeating = gateway.sql('UPDATE token SET virtual_pan = $1 WHERE id = $2', [
    deleted.virtualPan,
    token.id,
  ]);
  await expect(repeating).rejects.toMatchObject({ code: '23505' });
});

test('a data key that a token still needs → cannot be removed', async () => {
  await expect(gateway.sql('DELETE FROM data_key')).rejects.toMatchObject({ code: '23503' });
});

test('the journal changed by the gateway, were there no triggers → refused all the same', async () => {
  for (const statement of [`UPDATE journal SET actor = 'nobody'`, 'DELETE FROM journal']) {
    const { query, rollback } = await locker(gateway);
    await query('ALTER TABLE journal DISABLE TRIGGER USER');
    await query('SET ROLE tollgate_application');
    await expect(query(statement)).rejects.toMatchObject({ code: '42501' });
    await rollback();
  }
});
