// The table in docs/operations.md lists the settings, with their defaults and ranges.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readSettings, SettingsError } from '../../src/gateway/settings/settings.js';
import { expectEach } from '../../testkit/each-case.js';

const PAGE = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

interface Row {
  readonly name: string;
  /** Undefined where there is none. */
  readonly byDefault: string | undefined;
  readonly allowed: string;
}

const ROWS: readonly Row[] = [
  ...PAGE.matchAll(/^\| `(DATABASE_URL|TOLLGATE_\w+)` \| (?:none|`([^`]+)`) \| (.*?) \| .+ \|$/gm),
].map(([, name, byDefault, allowed]) => ({ name: name as string, byDefault, allowed: allowed as string }));

/** Some settings are looked at only where others ask for them. */
const ENVIRONMENTS: readonly Readonly<Record<string, string>>[] = [
  {},
  {
    TOLLGATE_KEY_PROVIDER: 'vault-transit',
    TOLLGATE_VAULT_ADDRESS: 'https://vault.example:8200',
    TOLLGATE_VAULT_TOKEN: 'a token',
  },
  {
    TOLLGATE_KEY_PROVIDER: 'aws-kms',
    TOLLGATE_KMS_KEY: 'alias/tollgate',
    TOLLGATE_KMS_REGION: 'ap-southeast-2',
    TOLLGATE_AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    TOLLGATE_AWS_SECRET_ACCESS_KEY: 'a secret',
  },
];

/** Every variable that the settings look at. */
function namesRead(): Set<string> {
  const names = new Set<string>();
  for (const environment of ENVIRONMENTS) {
    readSettings(
      new Proxy(environment, {
        get(set, name: string) {
          names.add(name);
          return set[name];
        },
      }),
    );
  }
  return names;
}

test('docs/operations.md lists exactly the settings that the gateway reads', () => {
  const read = [...namesRead()].filter((name) => !name.endsWith('_FILE'));
  expect(
    ROWS.map(({ name }) => name).sort(),
    'Bring the table in docs/operations.md and src/gateway/settings/settings.ts into step.',
  ).toEqual(read.sort());
});

test('every setting can be given as a file too', () => {
  const read = namesRead();
  expect(ROWS.filter(({ name }) => !read.has(`${name}_FILE`))).toEqual([]);
});

test('every setting set to its documented default changes nothing', () =>
  expectEach(
    ROWS.flatMap(({ name, byDefault }) => (byDefault === undefined ? [] : [[name, byDefault] as const])),
    ([name, byDefault]) => {
      for (const environment of ENVIRONMENTS.filter((each) => each[name] === undefined)) {
        expect(readSettings({ ...environment, [name]: byDefault })).toEqual(readSettings(environment));
      }
    },
  ));

test('a setting without a documented default is undefined when it is not set', () => {
  const {
    databaseUrl,
    crashAt,
    keyEncryption,
    tls,
    trustedProxies,
    otlp,
    operatorToken,
    checkoutUrl,
    console: operators,
  } = readSettings({});
  expect([databaseUrl, crashAt, keyEncryption]).toEqual([undefined, undefined, { provider: 'file' }]);
  const unset = [tls, trustedProxies, otlp, operatorToken, checkoutUrl];
  expect([...unset, operators?.metricsToken, operators?.publicUrl]).toEqual(new Array(7).fill(undefined));
  expect(readSettings(ENVIRONMENTS[1]).keyEncryption).toMatchObject({ namespace: undefined });
  const without = ROWS.filter(({ byDefault }) => byDefault === undefined).map(({ name }) => name);
  expect(without).toEqual([
    'DATABASE_URL',
    'TOLLGATE_MIGRATING_DATABASE_URL',
    'TOLLGATE_OPERATING_DATABASE_URL',
    'TOLLGATE_FLEET',
    'TOLLGATE_CONSOLE_URL',
    'TOLLGATE_CHECKOUT_URL',
    'TOLLGATE_OIDC_ISSUER',
    'TOLLGATE_OIDC_CLIENT_ID',
    'TOLLGATE_OIDC_CLIENT_SECRET',
    'TOLLGATE_OIDC_ACR',
    'TOLLGATE_OIDC_AMR',
    'TOLLGATE_METRICS_TOKEN',
    'TOLLGATE_TLS_CERTIFICATE',
    'TOLLGATE_TLS_KEY',
    'TOLLGATE_TRUSTED_PROXIES',
    'TOLLGATE_OTLP_ENDPOINT',
    'TOLLGATE_OTLP_HEADERS',
    'TOLLGATE_JOURNAL_ANCHOR',
    'TOLLGATE_OPERATOR_TOKEN',
    'TOLLGATE_WEBHOOK_NETWORKS',
    'TOLLGATE_KEY_ENCRYPTION_KEY',
    'TOLLGATE_PREVIOUS_KEY_PROVIDER',
    'TOLLGATE_VAULT_ADDRESS',
    'TOLLGATE_VAULT_TOKEN',
    'TOLLGATE_VAULT_NAMESPACE',
    'TOLLGATE_KMS_KEY',
    'TOLLGATE_KMS_REGION',
    'TOLLGATE_KMS_ENDPOINT',
    'TOLLGATE_AWS_ACCESS_KEY_ID',
    'TOLLGATE_AWS_SECRET_ACCESS_KEY',
    'TOLLGATE_AWS_SESSION_TOKEN',
    'TOLLGATE_CRASH_AT',
  ]);
});

test('settings that a key provider needs are required, as documented', () =>
  expectEach(
    [
      ['TOLLGATE_KEY_ENCRYPTION_KEY', { TOLLGATE_KEY_PROVIDER: 'environment' }],
      ['TOLLGATE_VAULT_ADDRESS', { ...ENVIRONMENTS[1], TOLLGATE_VAULT_ADDRESS: '' }],
      ['TOLLGATE_VAULT_TOKEN', { ...ENVIRONMENTS[1], TOLLGATE_VAULT_TOKEN: '' }],
    ],
    ([name, environment]) => {
      expect(() => readSettings(environment)).toThrow(new RegExp(`^${name} is needed`));
    },
  ));

const RANGES = ROWS.flatMap(({ name, allowed }) => {
  const range = /^(\d+) to (\d+)$/.exec(allowed);
  return range === null ? [] : [{ name, least: Number(range[1]), most: Number(range[2]) }];
});

test('every number accepts its documented range, and no more', () =>
  expectEach(RANGES, ({ name, least, most }) => {
    for (const value of [least, most]) expect(() => readSettings({ [name]: String(value) })).not.toThrow();
    for (const value of [least - 1, most + 1]) {
      expect(() => readSettings({ [name]: String(value) })).toThrow(SettingsError);
    }
  }));

test('every number among the settings has a documented range', () => {
  const numbers = ROWS.filter(({ byDefault }) => byDefault !== undefined && /^\d+$/.test(byDefault));
  expect(RANGES.map(({ name }) => name)).toEqual(numbers.map(({ name }) => name));
});
