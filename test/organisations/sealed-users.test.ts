// What whoever can write to the database cannot do: make a user, widen one, or use another's secret. Each was tried by SQL.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CredentialKey } from '../../src/organisations/users/credentials.js';
import {
  addUser,
  limitUser,
  listUsers,
  revokeUser,
  rotateSecret,
} from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import type { OrganisationId } from '../../src/values/ids.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type Credentials, type TestGateway, testGateway } from '../../testkit/gateway.js';

const OPERATOR = 'operator:test';
const SOON = { timeout: 300_000 };

let gateway: TestGateway;
let database: Database;
beforeAll(async () => {
  gateway = await testGateway();
  database = operatorsDatabase(gateway);
});
afterAll(async () => {
  await database.close();
  await gateway.close();
});

const refund = (credentials: Credentials) =>
  gateway.as(credentials).post('/transactions/refund', {
    merchant: { id: 1 },
    transaction: {
      reference: 'stolen',
      amount_details: { total_amount: '99999999', currency: 'AUD' },
      payment_method: { creditcard: { pan: '4111111111111111', expiry_date: '1230' } },
    },
  });

/** Every column of `gateway_user` but those named is copied from another user. */
async function copyUser(from: string, to: string, changed: Record<string, unknown> = {}): Promise<void> {
  const rows = await gateway.sql<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'gateway_user' AND column_name <> 'id'`,
  );
  const values: Record<string, unknown> = { username: to, ...changed };
  const names = rows.map(({ name }) => name);
  const selected = names.map((name) => (name in values ? `$${Object.keys(values).indexOf(name) + 2}` : name));
  await gateway.sql(
    `INSERT INTO gateway_user (${names.join()}) SELECT ${selected.join()} FROM gateway_user WHERE username = $1`,
    [from, ...Object.values(values)],
  );
}

let users = 0;
async function victim(): Promise<Credentials & { username: string }> {
  users += 1;
  return addUser(database, OPERATOR, gateway.credentialKey, `victim${users}`, {
    merchant: 2,
    allow: ['read', 'vault'],
    fromAddresses: ['127.0.0.0/8'],
    expires: new Date(Date.now() + 3_600_000),
  });
}

const lookUp = async (credentials: Credentials) => (await gateway.as(credentials).search('x', 2)).status;

describe('a user inserted by SQL', () => {
  test('without a seal → refused, and a line in the log', async () => {
    await gateway.sql(
      `INSERT INTO gateway_user (username, organisation_id, merchant_id) VALUES ('thief', 1, 1)`,
    );
    expect((await refund({ username: 'thief', password: 'hunter2' })).status).toBe(401);
    await expect
      .poll(() => gateway.logged())
      .toContain(
        '"username":"thief","how":"not sealed","count":1,"msg":"the seal of a user is broken: refused"',
      );
    const listed = await listUsers(database, gateway.credentialKey);
    expect(listed.filter(({ sealed }) => !sealed).map(({ username }) => username)).toEqual(['thief']);
  });

  test('as a copy of another user’s row, under another name → refused', async () => {
    await copyUser('owner', 'copy');
    const { password } = gateway.owner;
    expect((await refund({ username: 'copy', password })).status).toBe(401);
  });

  test('with tags and a seal of zeros, or of another user’s secret → refused', async () => {
    const [{ secret_tag: tag, seal } = {}] = await gateway.sql(
      `SELECT secret_tag, seal FROM gateway_user WHERE username = 'stranger'`,
    );
    await copyUser('owner', 'zeros', { secret_tag: Buffer.alloc(32), seal: Buffer.alloc(32) });
    await copyUser('owner', 'theirs', { secret_tag: tag, seal });
    for (const username of ['zeros', 'theirs'])
      for (const password of ['', 'hunter2', gateway.owner.password, gateway.stranger.password])
        expect((await refund({ username, password })).status).toBe(401);
  });
});

describe('a user changed by SQL', () => {
  test.each([
    [
      'permissions',
      `UPDATE gateway_user SET permissions = '{read,payments,refunds,standalone-refunds,vault}'`,
    ],
    ['addresses', `UPDATE gateway_user SET from_addresses = '{}'`],
    ['expiry', `UPDATE gateway_user SET expires_at = NULL`],
    ['merchant', `UPDATE gateway_user SET merchant_id = 1`],
    ['certificates', `UPDATE gateway_user SET client_certificates = ARRAY['\\x00'::bytea]`],
    [
      'an old secret',
      `UPDATE gateway_user SET previous_secret_tag = secret_tag, previous_until = 'infinity'`,
    ],
    ['version', `UPDATE gateway_user SET version = version + 1`],
    ['a grant', `INSERT INTO user_grant SELECT 1, username, 1 FROM gateway_user`],
  ])(
    // catches(callers: sealed with the secret before, and its end) slow
    // catches(callers: sealed with what they may do) slow
    // catches(callers: sealed with the merchants that they were given) slow
    // catches(callers: nobody who is not as it was sealed) slow
    '%s → the user is refused as a whole, known or not; the operator’s commands refuse too',
    async (_, change) => {
      const known = await victim();
      const unknown = await victim();
      expect(await lookUp(known)).toBe(200);
      await gateway.sql(`${change} WHERE username IN ($1, $2)`, [known.username, unknown.username]);
      expect(await lookUp(unknown)).toBe(401);
      await expect.poll(() => lookUp(known), SOON).toBe(401);
      const key = gateway.credentialKey;
      const limits = { fromAddresses: [] };
      await expect(limitUser(database, OPERATOR, key, known.username, limits)).rejects.toMatchObject({
        code: 'user_seal_broken',
      });
      await expect(rotateSecret(database, OPERATOR, key, known.username)).rejects.toMatchObject({
        code: 'user_seal_broken',
      });
    },
  );

  test('a grant removed by SQL → refused too; resealed by the operator → served, with a new secret', async () => {
    const user = await addUser(database, OPERATOR, gateway.credentialKey, 'shrunk', {
      merchant: 2,
      grants: [1],
    });
    await gateway.sql(`DELETE FROM user_grant WHERE username = 'shrunk'`);
    expect(await lookUp(user)).toBe(401);
    const renewed = await rotateSecret(database, OPERATOR, gateway.credentialKey, 'shrunk', { reseal: true });
    expect(await lookUp(user)).toBe(401);
    expect(await lookUp(renewed)).toBe(200);
    expect(
      await gateway.sql(`SELECT detail FROM journal WHERE action = 'user.rotated' AND detail LIKE 'shrunk%'`),
    ).toEqual([{ detail: 'shrunk: sealed anew' }]);
  });

  // catches(callers: sealed with that they are revoked)
  test('a revoked user that is restored → refused', async () => {
    const user = await victim();
    const [before] = await gateway.sql('SELECT * FROM gateway_user WHERE username = $1', [user.username]);
    await revokeUser(database, OPERATOR, gateway.credentialKey, user.username);
    await gateway.sql('UPDATE gateway_user SET revoked_at = NULL WHERE username = $1', [user.username]);
    expect(await lookUp(user)).toBe(401);
    await gateway.sql('UPDATE gateway_user SET secret_tag = $2 WHERE username = $1', [
      user.username,
      before?.secret_tag,
    ]);
    expect(await lookUp(user)).toBe(401);
  });

  // catches(callers: nobody whose earlier row was put back)
  test('restored completely to its state before a change → refused, and logged', async () => {
    const user = await victim();
    const [before] = await gateway.sql('SELECT * FROM gateway_user WHERE username = $1', [user.username]);
    const expires = new Date(Date.now() + 60_000);
    await limitUser(database, OPERATOR, gateway.credentialKey, user.username, { expires });
    expect(await lookUp(user)).toBe(200);
    await gateway.sql(
      'UPDATE gateway_user SET expires_at = $2, version = $3, seal = $4 WHERE username = $1',
      [user.username, before?.expires_at, before?.version, before?.seal],
    );
    await expect.poll(() => lookUp(user), SOON).toBe(401);
    const line = `"subject":"user/${user.username}","problem":"changed","msg":"a row is not as it was sealed: not used"`;
    expect(gateway.logged()).toContain(line);
  });
});

describe('the gateway’s own role', () => {
  test.each([
    `INSERT INTO user_grant VALUES (1, 'colleague', 1)`,
    `UPDATE gateway_user SET revoked_at = now()`,
    `DELETE FROM installation_key`,
    `UPDATE installation_key SET wrapped = ''`,
  ])('%s → not allowed', async (statement) => {
    const [role] = await gateway.sql(`SELECT FROM pg_roles WHERE rolname = 'tollgate_application'`);
    expect(role).toBeDefined();
    await expect(gateway.sqlAs('tollgate_application', statement)).rejects.toMatchObject({ code: '42501' });
  });
});

// catches(credentials: a secret is bound to the name of its user)
test('a tag depends on name, organisation and secret; a seal on the whole row', () => {
  const key = gateway.credentialKey;
  const owner = { username: 'a', organisationId: 1 as OrganisationId };
  const tag = key.tagOf(owner, 'secret').toString('hex');
  expect(key.tagOf(owner, 'secret').toString('hex')).toBe(tag);
  expect(key.tagOf({ ...owner, username: 'b' }, 'secret').toString('hex')).not.toBe(tag);
  expect(key.tagOf({ ...owner, organisationId: 2 as OrganisationId }, 'secret').toString('hex')).not.toBe(
    tag,
  );
  expect(key.tagOf(owner, 'other').toString('hex')).not.toBe(tag);
  expect(new CredentialKey(Buffer.alloc(32)).tagOf(owner, 'secret').toString('hex')).not.toBe(tag);
});
