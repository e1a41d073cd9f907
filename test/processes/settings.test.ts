// Wrong settings stop the start with one clear line; right ones, also out of files, do what they say.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revokeUser } from '../../src/admin/users.js';
import { makeDemo } from '../../src/gateway/demo.js';
import { checkProduction } from '../../src/gateway/production.js';
import { readSettings } from '../../src/gateway/settings.js';
import { Database } from '../../src/postgres/database.js';
import { client } from '../../testkit/client.js';
import { administer } from '../../testkit/database-server.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import {
  dataDirectory,
  type Environment,
  freePort,
  run,
  startGatewayProcess,
} from '../../testkit/gateway-process.js';

let database: TestDatabase;
let careless: TestDatabase;
let folder: string;
let closedPort: number;

beforeAll(async () => {
  [database, careless, folder, closedPort] = await Promise.all([
    testDatabase(),
    testDatabase(),
    dataDirectory(),
    freePort(),
  ]);
  const { pathname } = new URL(careless.url);
  await administer(careless.url, `ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = off`);
  await writeFile(join(folder, 'file'), '8080\n');
  await mkdir(join(folder, 'directory'));
});
afterAll(() => Promise.all([database.drop(), careless.drop()]));

interface Wrong {
  readonly what: string;
  readonly settings: () => Environment;
  readonly line: RegExp;
}

const WRONG: readonly Wrong[] = [
  {
    what: 'a port that is no number',
    settings: () => ({ TOLLGATE_PORT: 'abc' }),
    line: /^TOLLGATE_PORT must be a whole number from 0 to 65535$/,
  },
  {
    what: 'a port that does not exist',
    settings: () => ({ TOLLGATE_PORT: '65536' }),
    line: /^TOLLGATE_PORT must be a whole number from 0 to 65535$/,
  },
  {
    what: 'an address that this machine does not have',
    settings: () => ({ TOLLGATE_HOST: '203.0.113.7', TOLLGATE_PORT: String(closedPort) }),
    line: /^TOLLGATE_HOST 203\.0\.113\.7 and TOLLGATE_PORT \d+ cannot be listened on \(EADDRNOTAVAIL\)$/,
  },
  {
    what: 'a database that is no PostgreSQL',
    settings: () => ({ DATABASE_URL: 'mysql://gateway:secret@127.0.0.1/gateway' }),
    line: /^DATABASE_URL must begin with postgres:\/\/ or postgresql:\/\/$/,
  },
  {
    what: 'a database address that is none',
    settings: () => ({ DATABASE_URL: 'postgres://gateway:secret@127.0.0.1:99999/gateway' }),
    line: /^DATABASE_URL has a port that does not exist: 99999$/,
  },
  {
    what: 'several servers of which one has no name',
    settings: () => ({ DATABASE_URL: 'postgres://gateway:secret@127.0.0.1:5432,:5433/gateway' }),
    line: /^DATABASE_URL must name its servers as host:port, separated by commas; :5433 does not$/,
  },
  {
    what: 'a database that cannot be reached',
    settings: () => ({ DATABASE_URL: `postgres://gateway:secret@127.0.0.1:${closedPort}/gateway` }),
    line: /^DATABASE_URL: the database cannot be used \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)$/,
  },
  {
    what: 'a database that does not exist',
    settings: () => ({ DATABASE_URL: new URL('/nowhere', database.url).href }),
    line: /^DATABASE_URL: the database cannot be used \(database "nowhere" does not exist\)$/,
  },
  {
    what: 'a database that may lose what it has committed',
    settings: () => ({ DATABASE_URL: careless.url }),
    line: /^DATABASE_URL: synchronous_commit is off and payments may be lost; it must be on or remote_apply$/,
  },
  {
    what: 'an unknown log level',
    settings: () => ({ TOLLGATE_LOG_LEVEL: 'loud' }),
    line: /^TOLLGATE_LOG_LEVEL must be one of debug, info, warn, error, silent$/,
  },
  {
    what: 'a demo that may be',
    settings: () => ({ TOLLGATE_DEMO: 'perhaps' }),
    line: /^TOLLGATE_DEMO must be one of true, false$/,
  },
  {
    what: 'a file that is not there',
    settings: () => ({ DATABASE_URL_FILE: join(folder, 'nowhere') }),
    line: /^DATABASE_URL_FILE: \S+nowhere cannot be read \(ENOENT\)$/,
  },
  {
    what: 'a value and a file',
    settings: () => ({ TOLLGATE_PORT: '0', TOLLGATE_PORT_FILE: join(folder, 'file') }),
    line: /^TOLLGATE_PORT and TOLLGATE_PORT_FILE are both set$/,
  },
  {
    what: 'a data directory that is a file',
    settings: () => ({ TOLLGATE_DATA_DIR: join(folder, 'file') }),
    line: /^TOLLGATE_DATA_DIR: \S+file cannot be used \(EEXIST\)$/,
  },
  {
    what: 'a ledger that is a directory',
    settings: () => ({ DATABASE_URL: database.url, TOLLGATE_SIMULATOR_LEDGER: join(folder, 'directory') }),
    line: /^TOLLGATE_SIMULATOR_LEDGER: \S+directory cannot be written \(EISDIR\)$/,
  },
  {
    what: 'an environment that nobody knows',
    settings: () => ({ TOLLGATE_ENVIRONMENT: 'staging' }),
    line: /^TOLLGATE_ENVIRONMENT must be one of development, production$/,
  },
  {
    what: 'a crash at an unknown point',
    settings: () => ({ TOLLGATE_CRASH_AT: 'dawn' }),
    line: /^TOLLGATE_CRASH_AT must be one of received, claimed, answered, recorded, /,
  },
];

for (const { what, settings, line } of WRONG) {
  test.concurrent(`serve, ${what} → exit code 1, and one line that names the setting`, async () => {
    const environment = { TOLLGATE_DATA_DIR: join(folder, 'data'), TOLLGATE_PORT: '0', ...settings() };
    const { code, stdout, stderr } = await run(['serve'], environment);
    expect(stderr.split('\n')).toEqual([expect.stringMatching(/^tollgate: /), '']);
    expect(stderr.replace(/^tollgate: /, '').trimEnd()).toMatch(line);
    expect(stderr).not.toContain('secret');
    expect([code, stdout]).toEqual([1, '']);
  });
}

describe('in production', () => {
  const KEY = Buffer.alloc(32, 7).toString('base64');
  const login = `tollgate_plain_${process.pid}`;
  let plain: string;

  beforeAll(async () => {
    await administer(database.url, `CREATE ROLE ${login} LOGIN NOSUPERUSER PASSWORD 'plain'`);
    await administer(database.url, `GRANT pg_read_all_data TO ${login}`);
    const url = new URL(database.url);
    [url.username, url.password] = [login, 'plain'];
    plain = url.href;
  });
  afterAll(() => administer(database.url, `DROP ROLE ${login}`));

  /** What it is refused for, as an ordinary user unless another is given. */
  async function refused(change: Environment, userId = 1_000): Promise<string[]> {
    const settings = readSettings({
      TOLLGATE_ENVIRONMENT: 'production',
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
    'everything in order, on %s → starts',
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
      /^TOLLGATE_HOST: .* 0\.0\.0\.0 without TLS; listen on 127\.0\.0\.1 and put a proxy that speaks TLS in front$/,
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
  ])('%s → one line that says what to do', async (_, change, line) => {
    expect(await refused(change)).toEqual([expect.stringMatching(line)]);
  });

  test('root → one line that says what to do', async () => {
    expect(await refused({}, 0)).toEqual([
      'the gateway runs as root; start it as a user that owns nothing else',
    ]);
  });

  test('a superuser’s login → one line that says what to do', async () => {
    await administer(database.url, `ALTER ROLE ${login} SUPERUSER`);
    const lines = await refused({});
    await administer(database.url, `ALTER ROLE ${login} NOSUPERUSER`);
    expect(lines).toEqual([expect.stringMatching(`^DATABASE_URL: ${login} is a superuser; make a role `)]);
  });

  test('a database with the demo’s user → refused until it is revoked', async () => {
    const own = await testDatabase();
    const ours = new Database(own.url, { maxConnections: 1 });
    await makeDemo(ours, await dataDirectory());
    const change = {
      DATABASE_URL: Object.assign(new URL(plain), { pathname: new URL(own.url).pathname }).href,
    };
    expect(await refused(change)).toEqual([expect.stringMatching(/; run `tollgate user revoke demo`$/)]);
    await revokeUser(ours, 'operator:test', 'demo');
    expect(await refused(change)).toEqual([]);
    await ours.close();
    await own.drop();
  });

  test('serve with all of it → exit code 1, a line for each, and nothing is made', async () => {
    const dataDir = join(folder, 'production');
    const { code, stdout, stderr } = await run(['serve'], {
      TOLLGATE_ENVIRONMENT: 'production',
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
});

test('serve, DATABASE_URL from a file → that database is used, and no demo is made unless it is asked for', async () => {
  const own = await testDatabase();
  await writeFile(join(folder, 'url'), `${own.url}\n`);
  const dataDir = await dataDirectory();
  const settings = {
    DATABASE_URL_FILE: join(folder, 'url'),
    TOLLGATE_DATA_DIR: join(dataDir, 'new', 'data'),
  };
  const first = await startGatewayProcess(settings);
  expect((await first.stop()).code).toBe(0);
  expect(await readdir(settings.TOLLGATE_DATA_DIR)).toEqual([
    'key-encryption-key',
    'simulator-ledger.ndjson',
  ]);
  expect(first.output()).not.toContain('curl');
  const listed = await run(['user', 'list', '--json'], settings);
  expect(listed.stdout).toBe('[]\n');

  const second = await startGatewayProcess({ ...settings, TOLLGATE_DEMO: 'true' });
  const demo = JSON.parse(await readFile(join(settings.TOLLGATE_DATA_DIR, 'demo.json'), 'utf8'));
  expect((await client(second.baseUrl, demo).purchase()).status).toBe(201);
  expect((await second.stop()).code).toBe(0);
  await own.drop();
});
