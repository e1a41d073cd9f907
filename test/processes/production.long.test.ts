// Settings that production refuses to start with: each in one line that says what to do.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDemo } from '../../src/demo/demo.js';
import { connect, DatabaseAway, problemsOfEncryption } from '../../src/gateway/database/connection.js';
import { checkProduction } from '../../src/gateway/settings/production.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { revokeUser } from '../../src/organisations/users/users.js';
import { Database } from '../../src/postgres/database.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { administer } from '../../testkit/database-server.js';
import { credentialKeyOf, type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory, type Environment, run } from '../../testkit/gateway-process.js';

const KEY = Buffer.alloc(32, 7).toString('base64');
const login = `tollgate_plain_${process.pid}`;
let database: TestDatabase;
let folder: string;
let plain: string;

beforeAll(async () => {
  database = await testDatabase();
  await administer(database.url, `CREATE ROLE ${login} LOGIN NOSUPERUSER PASSWORD 'plain'`);
  await administer(database.url, `GRANT pg_read_all_data TO ${login}`);
  folder = await dataDirectory();
  const url = new URL(database.url);
  [url.username, url.password] = [login, 'plain'];
  plain = url.href;
});
afterAll(async () => {
  await administer(database.url, `DROP ROLE ${login}`);
  await database.drop();
});

/** The reasons for the refusal, as an ordinary user unless another is given. */
async function refused(change: Environment, userId = 1_000): Promise<string[]> {
  const settings = readSettings({
    TOLLGATE_ENVIRONMENT: 'production',
    TOLLGATE_JOURNAL_ANCHOR: 'syslog',
    DATABASE_URL: plain,
    TOLLGATE_KEY_ENCRYPTION_KEY: KEY,
    ...change,
  });
  return checkProduction(settings, userId).then(
    () => [],
    (error: Error) => error.message.split('\n'),
  );
}

test.each(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])(
  'a correct installation, on %s → starts',
  async (host) => {
    expect(await refused({ TOLLGATE_HOST: host })).toEqual([]);
  },
);

test.each<[string, Environment, RegExp]>([
  ['the demo', { TOLLGATE_DEMO: 'true' }, /^TOLLGATE_DEMO: .*; set it to false$/],
  [
    'the key file',
    { TOLLGATE_KEY_ENCRYPTION_KEY: '' },
    /^TOLLGATE_KEY_PROVIDER: .*; set it to environment or vault-transit$/,
  ],
  ['a point to crash at', { TOLLGATE_CRASH_AT: 'claimed' }, /^TOLLGATE_CRASH_AT is for tests; unset it$/],
  [
    'every address',
    { TOLLGATE_HOST: '0.0.0.0' },
    /^TOLLGATE_HOST: .* 0\.0\.0\.0 without TLS; set TOLLGATE_TLS_CERTIFICATE_FILE and TOLLGATE_TLS_KEY_FILE, or listen on 127\.0\.0\.1 and put a proxy that speaks TLS in front$/,
  ],
  ['every address of IPv6', { TOLLGATE_HOST: '::' }, /^TOLLGATE_HOST: /],
  ['a name', { TOLLGATE_HOST: 'pay.example' }, /^TOLLGATE_HOST: /],
  [
    'no DATABASE_URL',
    { DATABASE_URL: '', TOLLGATE_DEMO: 'false' },
    /^DATABASE_URL: .*; set it to a server of your own$/,
  ],
  [
    'a database that is away',
    { DATABASE_URL: 'postgres://gateway:secret@127.0.0.1:1/gateway' },
    /^DATABASE_URL: the database cannot be used \(connect ECONNREFUSED 127\.0\.0\.1:1\)$/,
  ],
  [
    'sessions of operators that last half an hour without activity',
    { TOLLGATE_CONSOLE_IDLE_MINUTES: '30' },
    /^TOLLGATE_CONSOLE_IDLE_MINUTES: .*; set it to 15 or less$/,
  ],
  // catches(production: no listener outside loopback without TLS)
  // catches(production: no session of an operator goes on for long without activity)
])('%s → one line that says what to do', async (_, change, line) => {
  expect(await refused(change)).toEqual([expect.stringMatching(line)]);
});

test('a database that is away, nothing else wrong → serve may wait for it; something wrong → it does not', async () => {
  const away = {
    TOLLGATE_ENVIRONMENT: 'production',
    TOLLGATE_JOURNAL_ANCHOR: 'syslog',
    DATABASE_URL: 'postgres://gateway:secret@127.0.0.1:1/gateway',
    TOLLGATE_KEY_ENCRYPTION_KEY: KEY,
  };
  await expect(checkProduction(readSettings(away), 1_000)).rejects.toThrow(DatabaseAway);
  const wrong = readSettings({ ...away, TOLLGATE_DEMO: 'true' });
  await expect(checkProduction(wrong, 1_000)).rejects.not.toThrow(DatabaseAway);
});

test('listening on every address, with TLS → starts', async () => {
  const { certificate, key } = makeCertificate();
  const tls = { TOLLGATE_TLS_CERTIFICATE: certificate, TOLLGATE_TLS_KEY: key };
  expect(await refused({ TOLLGATE_HOST: '0.0.0.0', ...tls })).toEqual([]);
});

test.each([
  ['', true],
  ['?sslmode=disable', true],
  ['?sslmode=no-verify', true],
  ['?sslmode=require&uselibpqcompat=true', true],
  ['?sslmode=verify-full', false],
  ['?ssl=true', false],
])(
  // catches(production: no database elsewhere without verified TLS)
  'a database elsewhere, with %s → refused: %s, for serving and for every command',
  async (query, isRefused) => {
    const line = /^DATABASE_URL: 192\.0\.2\.7:5432 would be reached without TLS.*; add sslmode=verify-full/;
    const url = `postgres://gateway:secret@127.0.0.1:1,192.0.2.7:5432/gateway${query}`;
    const settings = readSettings({ TOLLGATE_ENVIRONMENT: 'production', DATABASE_URL: url });
    expect(problemsOfEncryption(settings)).toEqual(isRefused ? [expect.stringMatching(line)] : []);
    if (!isRefused) return;
    expect(await refused({ DATABASE_URL: url })).toEqual([expect.stringMatching(line)]);
    await expect(connect(settings)).rejects.toThrow(line);
  },
);

test('a database whose host is in another part of its address → judged by the real host', () => {
  const unsafe = (url: string) =>
    problemsOfEncryption(readSettings({ TOLLGATE_ENVIRONMENT: 'production', DATABASE_URL: url })).length > 0;
  expect(unsafe('postgres://gateway@127.0.0.1/gateway?host=db.example')).toBe(true);
  expect(unsafe('postgres://gateway@db.example/gateway?host=/run/postgresql')).toBe(false);
  expect(unsafe('postgres://gateway@[::1]:5432/gateway')).toBe(false);
});

// catches(production: no listener outside loopback without TLS)
test('running as root → one line that says what to do', async () => {
  expect(await refused({}, 0)).toEqual([
    'the gateway runs as root; start it as a user that owns nothing else',
  ]);
});

// catches(production: no listener outside loopback without TLS)
test('a superuser’s login → one line that says what to do', async () => {
  await administer(database.url, `ALTER ROLE ${login} SUPERUSER`);
  const lines = await refused({});
  await administer(database.url, `ALTER ROLE ${login} NOSUPERUSER`);
  expect(lines).toEqual([expect.stringMatching(`^DATABASE_URL: ${login} is a superuser; make a role `)]);
});

// catches(production: no login that serves or operates owns the tables)
test('a login that owns the tables → refused for serving and for operating, allowed for migrating', async () => {
  const own = await testDatabase();
  const asPlain = Object.assign(new URL(plain), { pathname: new URL(own.url).pathname }).href;
  const serving = `${login}_serving`;
  await administer(own.url, `CREATE ROLE ${serving} LOGIN PASSWORD 'plain'`);
  await administer(own.url, `GRANT pg_read_all_data TO ${serving}`);
  const asServing = Object.assign(new URL(asPlain), { username: serving }).href;
  const inDatabase = new Database(own.url, { maxConnections: 1 });
  await inDatabase.query({ name: '', text: `ALTER TABLE merchant OWNER TO ${login}` });

  const owns = (setting: string, role: string) =>
    expect.stringMatching(
      new RegExp(
        `^${setting}: ${login} owns the tables, .* whose only role is ${role}, and TOLLGATE_MIGRATING_`,
      ),
    );
  expect(await refused({ DATABASE_URL: asPlain })).toEqual([owns('DATABASE_URL', 'tollgate_application')]);
  const separate = { DATABASE_URL: asServing, TOLLGATE_MIGRATING_DATABASE_URL: asPlain };
  // Without a login of their own, operators work as the owner.
  expect(await refused(separate)).toEqual([owns('TOLLGATE_OPERATING_DATABASE_URL', 'tollgate_operator')]);
  expect(await refused({ ...separate, TOLLGATE_OPERATING_DATABASE_URL: asServing })).toEqual([]);

  await inDatabase.query({ name: '', text: `ALTER TABLE merchant OWNER TO CURRENT_USER` });
  await inDatabase.close();
  await own.drop();
  await administer(database.url, `DROP ROLE ${serving}`);
});

test('a database with the demo’s user → refused until the user is revoked', async () => {
  const own = await testDatabase();
  const ours = new Database(own.url, { maxConnections: 1 });
  const dataDir = await dataDirectory();
  const key = await credentialKeyOf(ours, readSettings({ TOLLGATE_DATA_DIR: dataDir }));
  await makeDemo(ours, key, dataDir);
  const change = {
    DATABASE_URL: Object.assign(new URL(plain), { pathname: new URL(own.url).pathname }).href,
  };
  expect(await refused(change)).toEqual([expect.stringMatching(/; run `tollgate user revoke demo`$/)]);
  await revokeUser(ours, 'operator:test', key, 'demo');
  expect(await refused(change)).toEqual([]);
  await ours.close();
  await own.drop();
});

test('serve with all of these → exit code 1, a line for each, and nothing is created', async () => {
  const dataDir = join(folder, 'production');
  const { code, stdout, stderr } = await run(['serve'], {
    TOLLGATE_ENVIRONMENT: 'production',
    TOLLGATE_JOURNAL_ANCHOR: 'syslog',
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_HOST: '0.0.0.0',
    TOLLGATE_PORT: '0',
    TOLLGATE_CRASH_AT: 'received',
  });
  expect([code, stdout]).toEqual([1, '']);
  const lines = stderr.trimEnd().split('\n');
  expect(lines.filter((line) => !line.includes('root'))).toEqual(
    ['TOLLGATE_DEMO', 'DATABASE_URL', 'TOLLGATE_KEY_PROVIDER', 'TOLLGATE_CRASH_AT', 'TOLLGATE_HOST'].map(
      (name) => expect.stringMatching(`^tollgate: ${name}`),
    ),
  );
  expect(await readdir(folder)).not.toContain('production');
});
