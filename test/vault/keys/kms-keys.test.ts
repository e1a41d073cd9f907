// AWS KMS as key provider: requests as AWS specifies them, and refusals in one line.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { KeyUnavailable } from '../../../src/vault/keys/key-provider.js';
import { KmsKeys, type KmsOptions } from '../../../src/vault/keys/kms-keys.js';
import { type KmsServer, kmsServer } from '../../../testkit/kms-server.js';

interface Change extends Partial<Omit<KmsOptions, 'credentials'>> {
  readonly credentials?: Partial<KmsServer['credentials']>;
}

async function kms({ credentials: other, ...change }: Change = {}) {
  const server = await kmsServer();
  onTestFinished(() => server.close());
  const { endpoint, region } = server;
  const credentials = { ...server.credentials, ...other };
  return {
    server,
    keys: new KmsKeys({ endpoint, region, keyName: 'alias/tollgate', credentials, ...change }),
  };
}

/** For the rest of the test, without the machine's own credentials. */
function awsEnvironment(variables: Readonly<Record<string, string>>): void {
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

// catches(AWS KMS: a key is wrapped for one purpose only)
test('a wrapped key can be unwrapped for the same purpose and no other; the key’s name is AWS’s', async () => {
  const { server, keys } = await kms();
  const key = randomBytes(32);
  const wrapped = await keys.wrap(key, 'one');
  expect(wrapped.keyId).toBe(`aws-kms/${server.key()}`);
  expect(await keys.knows(wrapped.keyId)).toBe(true);
  expect(wrapped.wrapped.includes(key)).toBe(false);
  expect(await keys.unwrap(wrapped, 'one')).toEqual(key);
  await expect(keys.unwrap(wrapped, 'another')).rejects.toThrow(KeyUnavailable);
});

test('another key behind the alias → it wraps, and the old one unwraps its keys', async () => {
  const { server, keys } = await kms();
  const old = await keys.wrap(Buffer.from('old'), 'one');
  server.replaceKey();
  const renewed = await keys.wrap(Buffer.from('new'), 'one');
  expect(renewed.keyId).not.toBe(old.keyId);
  expect(await keys.unwrap(old, 'one')).toEqual(Buffer.from('old'));
  // Under another key's name it does not open, although KMS alone would open it.
  await expect(keys.unwrap({ ...old, keyId: renewed.keyId }, 'one')).rejects.toThrow(KeyUnavailable);
});

test('without configured credentials → those of the instance’s role, and new ones when they expire', async () => {
  const { server } = await kms();
  const { endpoint, region, credentials } = server;
  let given = 0;
  const metadata = createServer((request, response) => {
    const role = '/latest/meta-data/iam/security-credentials/';
    if (request.url === '/latest/api/token') return void response.end('a token');
    if (request.url === role) return void response.end('gateway');
    given += 1;
    // The first credentials end so soon that they are renewed at once.
    const Expiration = new Date(Date.now() + (given === 1 ? 60_000 : 3_600_000)).toISOString();
    const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: Token } = credentials;
    response.end(JSON.stringify({ Code: 'Success', AccessKeyId, SecretAccessKey, Token, Expiration }));
  });
  await new Promise<void>((resolve) => metadata.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void metadata.close());
  const { port } = metadata.address() as AddressInfo;
  awsEnvironment({ AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://127.0.0.1:${port}` });
  const keys = new KmsKeys({ endpoint, region, keyName: 'alias/tollgate' });
  const wrapped = await keys.wrap(Buffer.from('a key'), 'one');
  expect(await keys.unwrap(wrapped, 'one')).toEqual(Buffer.from('a key'));
  expect(given).toBeGreaterThan(1);
});

describe('refusals', () => {
  test('no credentials anywhere → one line that says what to do', async () => {
    const { server } = await kms();
    const { endpoint, region } = server;
    awsEnvironment({ AWS_EC2_METADATA_DISABLED: 'true' });
    const keys = new KmsKeys({ endpoint, region, keyName: 'alias/tollgate' });
    await expect(keys.wrap(randomBytes(32), 'one')).rejects.toThrow(/^there are no credentials for AWS KMS/);
  });

  test.each<[string, Change]>([
    ['another secret', { credentials: { secretAccessKey: 'another' } }],
    ['another session', { credentials: { sessionToken: 'another' } }],
    ['another region', { region: 'us-east-1' }],
  ])('%s → refused, in one line without the secret', async (_, change) => {
    const { keys } = await kms(change);
    await expect(keys.wrap(randomBytes(32), 'one')).rejects.toThrow(
      'AWS KMS refused to encrypt with the key alias/tollgate (HTTP 400, IncompleteSignatureException)',
    );
  });

  test('a key that does not exist, an error, garbage, and no server → one line each', async () => {
    const { keys: absent } = await kms({ keyName: 'alias/another' });
    await expect(absent.wrap(randomBytes(32), 'one')).rejects.toThrow(/\(HTTP 400, NotFoundException\)$/);
    const { server, keys } = await kms();
    server.break('error');
    await expect(keys.wrap(randomBytes(32), 'one')).rejects.toThrow(/\(HTTP 500, KMSInternalException\)$/);
    server.break('garbage');
    await expect(keys.wrap(randomBytes(32), 'one')).rejects.toThrow(/gave an answer that cannot be read$/);
    await server.close();
    await expect(keys.wrap(randomBytes(32), 'one')).rejects.toThrow(/cannot be reached$/);
  });
});
