// Changes by the operator: users, secrets and merchants that are changed while the gateway runs.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addUser, grantMerchant, revokeUser, rotateSecret } from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type Answer, client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    settings: { ACQUIRER_DEADLINE_MS: '20000', FAILED_LOG_INS_PER_SECOND: '10' },
  });
});
afterAll(() => gateway.close());

/** All that a client sees of an answer, but for what is new in every response. */
function seen({ status, headers, text }: Answer): string {
  const lasting = [...headers].filter(([name]) => !['date', 'x-correlation-id'].includes(name));
  return JSON.stringify({ status, headers: lasting, text });
}

describe('changes by the operator take effect while the gateway runs', () => {
  let database: Database;
  beforeAll(() => {
    database = operatorsDatabase(gateway);
  });
  afterAll(() => database.close());

  test('a user that is added → accepted at once', async () => {
    expect((await gateway.as({ username: 'early', password: 'guess' }).lookUp(1)).status).toBe(401);
    const user = await addUser(database, 'operator:test', gateway.credentialKey, 'early', { merchant: 1 });
    expect((await gateway.as(user).purchase()).status).toBe(201);
  });

  // catches(users: revoking takes the secrets away) slow
  test('a user that is revoked → refused soon, and for good', async () => {
    const user = await addUser(database, 'operator:test', gateway.credentialKey, 'leaving', { merchant: 1 });
    const api = gateway.as(user);
    expect((await api.purchase()).status).toBe(201);
    await revokeUser(database, 'operator:test', gateway.credentialKey, 'leaving');
    await expect.poll(async () => (await api.search('x')).status).toBe(401);
    expect((await api.purchase()).status).toBe(401);
    const none = await client(gateway.baseUrl).lookUp(1);
    expect(seen(await api.lookUp(1))).toBe(seen(none));
  });

  test('a rotated secret → the new one works at once, and from then on the old one does not', async () => {
    const user = await addUser(database, 'operator:test', gateway.credentialKey, 'careful', { merchant: 1 });
    expect((await gateway.as(user).purchase()).status).toBe(201);
    const rotated = await rotateSecret(database, 'operator:test', gateway.credentialKey, 'careful');
    expect(rotated.password).not.toBe(user.password);
    expect((await gateway.as(rotated).purchase()).status).toBe(201);
    expect((await gateway.as(user).purchase()).status).toBe(401);
    expect((await gateway.as(rotated).purchase()).status).toBe(201);
  });

  test('a rotated secret that is not used yet → the old one is refused soon', async () => {
    const user = await addUser(database, 'operator:test', gateway.credentialKey, 'hasty', { merchant: 1 });
    expect((await gateway.as(user).search('x')).status).toBe(200);
    await rotateSecret(database, 'operator:test', gateway.credentialKey, 'hasty');
    await expect.poll(async () => (await gateway.as(user).search('x')).status).toBe(401);
  });

  test('a merchant that is granted → permitted soon, its earlier transactions included', async () => {
    const user = await addUser(database, 'operator:test', gateway.credentialKey, 'growing', { merchant: 2 });
    const api = gateway.as(user);
    const { body } = await gateway.api.purchase({ merchant: 1 });
    expect((await api.purchase({ merchant: 1 })).status).toBe(403);
    expect((await api.lookUp(body.audit)).status).toBe(404);
    await grantMerchant(database, 'operator:test', gateway.credentialKey, 'growing', 1);
    await expect.poll(async () => (await api.purchase({ merchant: 1 })).status).toBe(201);
    expect((await api.lookUp(body.audit)).status).toBe(200);
    expect((await api.refund(body.audit, 1)).status).toBe(201);
  });

  test('a merchant of another organisation → cannot be granted', async () => {
    await addUser(database, 'operator:test', gateway.credentialKey, 'curious', { merchant: 1 });
    await expect(
      grantMerchant(database, 'operator:test', gateway.credentialKey, 'curious', 4),
    ).rejects.toThrow('there is no merchant 4');
    await expect(
      addUser(database, 'operator:test', gateway.credentialKey, 'curious2', { merchant: 1, grants: [4] }),
    ).rejects.toThrow('there is no merchant 4');
  });
});
