// The commands for users, as whom merchants' servers call: what they print, and what they refuse.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import type { CredentialKey } from '../../src/organisations/users/credentials.js';
import { addUser, listUsers } from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { credentialKeyOf, type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';

let database: TestDatabase;
let connection: Database;
let dataDir: string;
let key: CredentialKey;
beforeAll(async () => {
  database = await testDatabase();
  dataDir = await dataDirectory();
  connection = operatorsDatabase({ databaseUrl: database.url, dataDir }, 2);
  key = await credentialKeyOf(connection, readSettings({ TOLLGATE_DATA_DIR: dataDir }));
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

const { json, text, refusal } = commands((line) =>
  runHere(wordsOf(line), { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: dataDir }),
);

/** Made without commands, which take their time: an organisation with so many merchants. */
async function organisationWith(merchants: number): Promise<{ organisation: number; ids: number[] }> {
  const { id: organisation } = await addOrganisation(connection, 'operator:test', 'Ours');
  const ids: number[] = [];
  for (let number = 1; number <= merchants; number += 1) {
    ids.push((await addMerchant(connection, 'operator:test', organisation, `Shop ${number}`)).id);
  }
  return { organisation, ids };
}

test('user add → prints its name, its secret and its permissions; list → the same without the secret', async () => {
  const { organisation, ids } = await organisationWith(3);
  const [merchant, ...grants] = ids;
  const granting = [grants[1], grants[0], grants[1]].map((id) => `--grant ${id}`).join(' ');
  const { password, ...added } = await json(`user add till-1 --merchant ${merchant} ${granting}`);
  expect(password).toMatch(/^[\w-]{22,}$/);
  const plain = {
    allow: ['read', 'payments', 'refunds', 'standalone-refunds', 'vault'],
    from_addresses: [],
    expires: null,
    previous_secret_until: null,
    client_certificates: [],
    last_used: null,
    revoked: false,
    sealed: true,
  };
  expect(added).toEqual({ username: 'till-1', organisation, merchant, grants, ...plain });
  const second = text(`user add till-2 --merchant ${merchant}`);
  expect(await second).toMatch(/^User till-2 added\. The secret is shown only now: [\w-]{22,}$/);
  expect(await json('user list')).toContainEqual(added);
  const table = await text('user list');
  expect(table).toMatch(
    /^username +organisation +merchant +grants +allow +from_addresses +expires +previous_secret_until +client_certificates +last_used +revoked +sealed\n/,
  );
  expect(table).toMatch(
    new RegExp(
      `^till-1 +${organisation} +${merchant} +${grants.join()} +read,payments,refunds,standalone-refunds,vault +no +yes$`,
      'm',
    ),
  );
  expect(table).not.toContain(password);
});

test('user grant → another merchant; repeating it changes nothing', async () => {
  const [merchant = 0, other] = (await organisationWith(2)).ids;
  await addUser(connection, 'operator:test', key, 'granted', { merchant });
  expect((await json(`user grant granted ${other}`)).grants).toEqual([other]);
  expect(await text(`user grant granted ${other}`)).toBe(`User granted may act for merchant ${other}.`);
});

test('user rotate → another secret; revoke → no more secrets; repeating it changes nothing', async () => {
  const [merchant = 0] = (await organisationWith(1)).ids;
  const { password } = await addUser(connection, 'operator:test', key, 'leaver', { merchant });
  const rotated = await json('user rotate leaver');
  expect(rotated).toMatchObject({ username: 'leaver', merchant, revoked: false });
  expect(rotated.password).toMatch(/^[\w-]{22,}$/);
  expect(rotated.password).not.toBe(password);
  expect(await text('user rotate leaver')).toMatch(/^The secret of leaver is shown only now: [\w-]{22,}$/);
  const revoked = await json('user revoke leaver');
  expect(revoked).toMatchObject({ username: 'leaver', revoked: true });
  expect(revoked).not.toHaveProperty('password');
  expect(await text('user revoke leaver')).toBe('User leaver is revoked.');
  expect(await refusal('user rotate leaver')).toBe('the user leaver is revoked');
});

test('user add and set with limits → restricts it; ungrant and rotate --overlap → fewer merchants, and both secrets', async () => {
  const [merchant = 0, other] = (await organisationWith(2)).ids;
  const limits = '--allow payments --from-address 203.0.113.0/24,2001:db8::/32 --expires 2999-12-31';
  expect(await text(`user add limited --merchant ${merchant} --grant ${other} ${limits}`)).toMatch(
    /It may not read: after a lost answer it cannot find out what became of a payment\.$/,
  );
  const changed = await json('user set limited --allow read,refunds --no-from-address');
  expect(changed).toMatchObject({
    allow: ['read', 'refunds'],
    from_addresses: [],
    expires: '2999-12-31T13:00:00.000Z',
  });
  expect((await json(`user ungrant limited ${other}`)).grants).toEqual([]);
  expect(await refusal(`user ungrant limited ${other}`)).toBe(
    `the user limited was not granted merchant ${other}`,
  );
  const rotated = await json('user rotate limited --overlap');
  const hours = (Date.parse(rotated.previous_secret_until) - Date.now()) / 3_600_000;
  expect(Math.round(hours)).toBe(24);
  expect(await text(`merchant suspend ${merchant}`)).toMatch(/ is suspended\.$/);
  expect((await json(`merchant resume ${merchant}`)).suspended_at).toBeUndefined();
});

test('user add, a name that is taken → one line, exit code 1', async () => {
  const [merchant = 0] = (await organisationWith(1)).ids;
  await addUser(connection, 'operator:test', key, 'taken', { merchant });
  expect(await refusal(`user add taken --merchant ${merchant}`)).toBe('the user taken exists already');
});

test('user add or grant across organisations → one line, and nothing is added', async () => {
  const { organisation, ids } = await organisationWith(1);
  const [foreign] = (await organisationWith(1)).ids;
  const expected = `there is no merchant ${foreign} in organisation ${organisation}`;
  expect(await refusal(`user add crossing --merchant ${ids[0]} --grant ${foreign}`)).toBe(expected);
  await addUser(connection, 'operator:test', key, 'staying', { merchant: ids[0] ?? 0 });
  expect(await refusal(`user grant staying ${foreign}`)).toBe(expected);
  const users = await listUsers(connection, key);
  expect(users.map(({ username }) => username)).not.toContain('crossing');
  expect(users.find(({ username }) => username === 'staying')?.grants).toEqual([]);
});

test.each([
  ['user add someone --merchant 2147483647', /^there is no merchant 2147483647$/],
  ["user add 'two words' --merchant 1", /^a user name takes 1 to 64 letters/],
  ['user add someone --merchant 1 --grant x', /'x' is invalid/],
  ['user grant nobody', /^missing required argument 'merchant' /],
  ['user revoke nobody', /^there is no user nobody$/],
  [
    'user add someone --merchant 1 --allow everything',
    /It takes read, payments, refunds, standalone-refunds, vault\./,
  ],
  ['user add someone --merchant 1 --from-address nowhere', /^nowhere is neither an address nor a network/],
  ['user add someone --merchant 1 --expires 2001-01-01', /^a user cannot expire in the past$/],
  ['user rotate someone --overlap 31d', /It must be 30d at most\./],
  ['user set someone', /^Name an --allow, /],
  ['merchant suspend 2147483647', /^there is no merchant 2147483647$/],
])('%s → one line, exit code 1', async (line, expected) => {
  expect(await refusal(line)).toMatch(expected);
});
