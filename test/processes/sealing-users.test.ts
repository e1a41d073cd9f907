// The upgrade that brings seals: users of an earlier release keep their secrets, and nobody can add one in its way later.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { client } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { beforeMigration } from '../../testkit/earlier-schema.js';
import { dataDirectory, startGatewayProcess } from '../../testkit/gateway-process.js';

const NO_DIGEST = Buffer.alloc(32);
const sha256 = (text: string) => createHash('sha256').update(text).digest();

/** With one process of the earlier release, which is still alive. */
const EARLIER = `
  INSERT INTO organisation (name) VALUES ('Ours');
  INSERT INTO merchant (organisation_id, name) VALUES (1, 'First'), (1, 'Second');
  INSERT INTO gateway_user (username, organisation_id, merchant_id, secret_digest) VALUES
    ('shop', 1, 1, decode('${sha256('the secret of shop').toString('hex')}', 'hex')),
    ('gone', 1, 1, decode('${sha256('the secret of gone').toString('hex')}', 'hex'));
  INSERT INTO user_grant VALUES (1, 'shop', 2);
  UPDATE gateway_user SET revoked_at = now() WHERE username = 'gone';
  INSERT INTO process (machine, pid) VALUES ('elsewhere', 1);`;

test('migrate with users of an earlier release → they log in as before; one that is added in its way later does not', () =>
  beforeMigration('0024_credentials.sql', EARLIER, async ({ url, client: database }) => {
    const dataDir = await dataDirectory();
    const environment = { DATABASE_URL: url, TOLLGATE_DATA_DIR: dataDir };
    const tollgate = async (line: string) => {
      const { code, stdout, stderr } = await runHere([...line.split(' '), '--json'], environment);
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    const migrated = await tollgate('migrate');
    expect(migrated.sealed_users).toEqual(['gone', 'shop']);

    const insert = `INSERT INTO gateway_user (username, organisation_id, merchant_id, secret_digest) VALUES ('thief', 1, 1, $1)`;
    await database.query(insert, [sha256('hunter2')]);
    expect(await tollgate('migrate')).toEqual({ applied: [] });
    const digests = async () => {
      const { rows } = await database.query('SELECT username, secret_digest AS digest FROM gateway_user');
      return Object.fromEntries(rows.map(({ username, digest }) => [username, digest]));
    };
    // The earlier release goes by it.
    expect((await digests()).shop).toEqual(sha256('the secret of shop'));
    const till = await tollgate('user add till --merchant 1');
    expect((await digests()).till).toEqual(sha256(till.password));
    await tollgate('user add limited --merchant 1 --allow read');
    expect((await digests()).limited).toEqual(NO_DIGEST);
    await database.query('DELETE FROM process');

    const gateway = await startGatewayProcess(environment);
    const pay = async (username: string, password: string, merchant = 1) =>
      (await client(gateway.baseUrl, { username, password }).purchase({ merchant })).status;
    expect(await pay('shop', 'the secret of shop')).toBe(201);
    expect(await pay('shop', 'the secret of shop', 2)).toBe(201);
    expect(await pay('till', till.password)).toBe(201);
    expect(await pay('gone', 'the secret of gone')).toBe(401);
    expect(await pay('thief', 'hunter2')).toBe(401);
    // Nobody is left who goes by them.
    await expect
      .poll(async () => Object.values(await digests()), { timeout: 60_000 })
      .toEqual(Array.from({ length: 5 }, () => NO_DIGEST));
    expect(await pay('shop', 'the secret of shop')).toBe(201);
    const users = await tollgate('user list');
    expect(users.filter(({ sealed }: { sealed: boolean }) => !sealed)).toMatchObject([{ username: 'thief' }]);
    const told = await tollgate('journal');
    const sealed = told.filter(({ action }: { action: string }) => action === 'user.sealed');
    expect(sealed.map(({ actor, detail }: Record<string, string>) => [actor, detail]).sort()).toEqual([
      ['gateway:start', 'gone'],
      ['gateway:start', 'shop'],
    ]);
  }));

test('migrate with users, where the key-encryption key is not at hand → one line, and nothing is applied', () =>
  beforeMigration('0024_credentials.sql', EARLIER, async ({ url, client: database }) => {
    const { code, stderr } = await runHere(['migrate'], {
      DATABASE_URL: url,
      TOLLGATE_KEY_PROVIDER: 'vault-transit',
      TOLLGATE_VAULT_ADDRESS: 'http://127.0.0.1:9',
      TOLLGATE_VAULT_TOKEN: 'none',
      TOLLGATE_VAULT_KEY: 'tollgate',
    });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^tollgate: HashiCorp Vault .* cannot be reached\n$/),
    ]);
    const { rows } = await database.query('SELECT max(version) AS newest FROM schema_migration');
    expect(rows).toEqual([{ newest: 23 }]);
  }));
