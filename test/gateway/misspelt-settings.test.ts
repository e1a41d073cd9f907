// A misspelt setting must not count as unset. Variables of other programs are ignored.
import { expect, test } from 'vitest';
import { readSettings } from '../../src/gateway/settings/settings.js';

function refused(environment: Record<string, string>): string[] {
  try {
    readSettings(environment);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  return [];
}

test.each([
  ['TOLLGATE_PROT', 'TOLLGATE_PORT'],
  ['TOLLGATE_HOTS', 'TOLLGATE_HOST'],
  ['TOLLGATE_ENVIROMENT', 'TOLLGATE_ENVIRONMENT'],
  ['TOLLGATE_DATADIR', 'TOLLGATE_DATA_DIR'],
  ['TOLLGATE_DATABASE_URL', 'DATABASE_URL'],
  ['TOLLGATE_DATABASE_URL_FILE', 'DATABASE_URL_FILE'],
  ['TOLLGATE_KEY_ENCRYPTION_KEYS', 'TOLLGATE_KEY_ENCRYPTION_KEY'],
  ['TOLLGATE_KEY_ENCRYTION_KEY_FILE', 'TOLLGATE_KEY_ENCRYPTION_KEY_FILE'],
  ['TOLLGATE_VAULT_ADDRES', 'TOLLGATE_VAULT_ADDRESS'],
  ['TOLLGATE_ACQUIRER_DEADLINE', 'TOLLGATE_ACQUIRER_DEADLINE_MS'],
  ['TOLLGATE_LOGLEVEL', 'TOLLGATE_LOG_LEVEL'],
  ['tollgate_port', 'TOLLGATE_PORT'],
  // catches(settings: a misspelt name is refused)
])('%s → refused, and %s is suggested', (given, meant) => {
  expect(refused({ [given]: '1' })).toEqual([`${given} is no setting; did you mean ${meant}?`]);
});

test('a name unlike any setting → refused, with where the names are listed', () => {
  expect(refused({ TOLLGATE_CHEESE_AND_ONION: '1' })).toEqual([
    'TOLLGATE_CHEESE_AND_ONION is no setting; unset it, or look its name up in docs/operations.md',
  ]);
});

test('several → each is named', () => {
  expect(refused({ TOLLGATE_PROT: '1', TOLLGATE_HOTS: '::1' })).toHaveLength(2);
});

test.each([
  ['one of another program', { TOLLGATES_PORT: '1', XTOLLGATE_PORT: '1', PORT: '1', DATABASE_URI: '1' }],
  ['one that is empty', { TOLLGATE_PROT: '' }],
  [
    'one of the clients',
    {
      TOLLGATE_CLIENT_URL: 'https://gateway.example/v1',
      TOLLGATE_CLIENT_USERNAME: 'shop',
      TOLLGATE_CLIENT_PASSWORD: 'secret',
    },
  ],
  ['one of the tests', { TOLLGATE_TEST_ROWS: '10', TOLLGATE_POSTGRES_AS: 'user' }],
  [
    'what Kubernetes sets for a Service of the name tollgate-api',
    {
      TOLLGATE_API_SERVICE_HOST: '10.0.0.7',
      TOLLGATE_API_SERVICE_PORT: '8080',
      TOLLGATE_API_SERVICE_PORT_HTTP: '8080',
      TOLLGATE_API_PORT: 'tcp://10.0.0.7:8080',
      TOLLGATE_API_PORT_8080_TCP: 'tcp://10.0.0.7:8080',
      TOLLGATE_API_PORT_8080_TCP_PROTO: 'tcp',
      TOLLGATE_API_PORT_8080_TCP_PORT: '8080',
      TOLLGATE_API_PORT_8080_TCP_ADDR: '10.0.0.7',
      TOLLGATE_SERVICE_HOST: '10.0.0.7',
      TOLLGATE_PORT_8080_TCP: 'tcp://10.0.0.7:8080',
    },
  ],
  [
    'a setting that nothing asks for this time',
    { TOLLGATE_VAULT_KEY: 'tollgate', TOLLGATE_KEY_PROVIDER: 'file' },
  ],
])('%s → ignored', (_, environment) => {
  expect(refused(environment as Record<string, string>)).toEqual([]);
});

test('TOLLGATE_PORT as Kubernetes sets it for a Service named tollgate → the error says where it comes from', () => {
  expect(refused({ TOLLGATE_PORT: 'tcp://10.0.0.7:8080' })).toEqual([
    expect.stringMatching(
      /^TOLLGATE_PORT must be .*; Kubernetes sets it for a Service .*enableServiceLinks: false$/,
    ),
  ]);
});
