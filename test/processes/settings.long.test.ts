// Wrong settings stop the start with one clear line; right ones, also from files, take effect.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { client } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { administer } from '../../testkit/database-server.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import {
  dataDirectory,
  type Environment,
  eventually,
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

const SHOP = makeCertificate();
const VAULT = { TOLLGATE_KEY_PROVIDER: 'vault-transit', TOLLGATE_VAULT_TOKEN: 'secret' };

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
    what: 'a name that was misspelt',
    settings: () => ({ TOLLGATE_PROT: '0' }),
    line: /^TOLLGATE_PROT is no setting; did you mean TOLLGATE_PORT\?$/,
  },
  {
    what: 'a HashiCorp Vault that would not be used',
    settings: () => ({ TOLLGATE_VAULT_ADDRESS: 'https://vault.example:8200' }),
    line: /^TOLLGATE_VAULT_ADDRESS is set and TOLLGATE_KEY_PROVIDER is not; set it to vault-transit, /,
  },
  {
    what: 'a certificate without its key',
    settings: () => ({ TOLLGATE_TLS_CERTIFICATE_FILE: join(folder, 'tls.crt') }),
    line: /^TOLLGATE_TLS_KEY is needed with TOLLGATE_TLS_CERTIFICATE$/,
  },
  {
    what: 'a key without its certificate',
    settings: () => ({ TOLLGATE_TLS_KEY_FILE: join(folder, 'tls.key') }),
    line: /^TOLLGATE_TLS_CERTIFICATE is needed with TOLLGATE_TLS_KEY$/,
  },
  {
    what: 'a certificate that is not there',
    settings: () => ({
      TOLLGATE_TLS_CERTIFICATE_FILE: join(folder, 'nowhere.crt'),
      TOLLGATE_TLS_KEY: SHOP.key,
    }),
    line: /^TOLLGATE_TLS_CERTIFICATE and TOLLGATE_TLS_KEY: \S+nowhere\.crt cannot be read \(ENOENT\)$/,
  },
  {
    what: 'a certificate and the key of another',
    settings: () => ({
      TOLLGATE_TLS_CERTIFICATE: SHOP.certificate,
      TOLLGATE_TLS_KEY: makeCertificate().key,
    }),
    line: /^TOLLGATE_TLS_CERTIFICATE and TOLLGATE_TLS_KEY: the key is not that of the certificate$/,
  },
  {
    what: 'a proxy by its name',
    settings: () => ({ TOLLGATE_TRUSTED_PROXIES: '10.0.0.1, proxy.example' }),
    line: /^TOLLGATE_TRUSTED_PROXIES must be networks or addresses such as /,
  },
  {
    what: 'HashiCorp Vault elsewhere without TLS',
    settings: () => ({ ...VAULT, TOLLGATE_VAULT_ADDRESS: 'http://vault.example:8200' }),
    line: /^TOLLGATE_VAULT_ADDRESS must begin with https:\/\/; /,
  },
  {
    what: 'HashiCorp Vault at what is no address',
    settings: () => ({ ...VAULT, TOLLGATE_VAULT_ADDRESS: 'vault.example:8200' }),
    line: /^TOLLGATE_VAULT_ADDRESS must begin with https:\/\/; /,
  },
  {
    what: 'a crash at an unknown point',
    settings: () => ({ TOLLGATE_CRASH_AT: 'dawn' }),
    line: /^TOLLGATE_CRASH_AT must be one of received, claimed, answered, recorded, /,
  },
];

/** A setting that is refused when read needs no process of its own. Anything else would start in this one. */
function isRefusedWhenRead(environment: Environment): boolean {
  try {
    readSettings(environment);
    return false;
  } catch {
    return true;
  }
}

for (const { what, settings, line } of WRONG) {
  // catches(Vault: no data key goes over the network in clear) processes
  test.concurrent(`serve, ${what} → exit code 1, and one line that names the setting`, async () => {
    const environment = { TOLLGATE_DATA_DIR: join(folder, 'data'), TOLLGATE_PORT: '0', ...settings() };
    const ended = isRefusedWhenRead(environment) ? runHere : run;
    const { code, stdout, stderr } = await ended(['serve'], environment);
    expect(stderr.split('\n')).toEqual([expect.stringMatching(/^tollgate: /), '']);
    expect(stderr.replace(/^tollgate: /, '').trimEnd()).toMatch(line);
    expect(stderr).not.toContain('secret');
    expect([code, stdout]).toEqual([1, '']);
  });
}

test.each([
  'https://vault.example:8200',
  'http://127.0.0.1:8200',
  'http://localhost:8200',
  'http://[::1]:8200',
])('HashiCorp Vault at %s → accepted', (address) => {
  const { keyEncryption } = readSettings({ ...VAULT, TOLLGATE_VAULT_ADDRESS: address });
  expect(keyEncryption).toMatchObject({ provider: 'vault-transit', address });
});

test('serve on every address without TLS, in development → starts with a warning', async () => {
  const own = await testDatabase();
  const gateway = await startGatewayProcess({ DATABASE_URL: own.url, TOLLGATE_HOST: '0.0.0.0' });
  const { stdout, stderr } = await gateway.stop();
  expect(stderr).toContain('WARNING: clients reach 0.0.0.0 without TLS.');
  expect(stdout).toMatch(/"level":"warn".*"msg":"listening outside loopback without TLS: /);
  await own.drop();
});

test('serve, DATABASE_URL from a file → that database is used, with a demo only on request; its history is made while it serves', async () => {
  const own = await testDatabase();
  await writeFile(join(folder, 'url'), `${own.url}\n`, { mode: 0o644 });
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
  // As `writeFile` leaves it.
  expect(first.output()).toMatch(
    /"setting":"DATABASE_URL_FILE","mode":"6\d4","msg":"a secret file can be read by others"/,
  );
  const listed = await run(['user', 'list', '--json'], settings);
  expect(listed.stdout).toBe('[]\n');

  const second = await startGatewayProcess({
    ...settings,
    TOLLGATE_DEMO: 'true',
    TOLLGATE_DEMO_DAYS: '1',
  });
  const demo = JSON.parse(await readFile(join(settings.TOLLGATE_DATA_DIR, 'demo.json'), 'utf8'));
  // Made-up trade is another organisation's: here everything begins with 1.
  expect(await client(second.baseUrl, demo).purchase()).toMatchObject({ status: 201, body: { audit: 1 } });
  await eventually(async () => /"msg":"demo filled with made-up trade"/.test(second.output()) || undefined);
  expect((await second.stop()).code).toBe(0);
  const traded = await run(['transaction', 'list', '--merchant-id', '4', '--limit', '1', '--json'], settings);
  expect(JSON.parse(traded.stdout)).toHaveLength(1);
  await own.drop();
});
