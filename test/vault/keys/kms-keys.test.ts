// AWS KMS as the holder of the key-encryption key: requests as AWS asks for them, and refusals in one line.
import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { signed } from '../../../src/vault/keys/aws-signature.js';
import { KeyUnavailable } from '../../../src/vault/keys/key-provider.js';
import { KmsKeys, type KmsOptions } from '../../../src/vault/keys/kms-keys.js';
import { type KmsServer, kmsServer } from '../../../testkit/kms-server.js';

async function kms(change: Partial<KmsOptions> = {}): Promise<{ server: KmsServer; keys: KmsKeys }> {
  const server = await kmsServer();
  onTestFinished(() => server.close());
  const { endpoint, region, credentials } = server;
  return {
    server,
    keys: new KmsKeys({ endpoint, region, keyName: 'alias/tollgate', ...credentials, ...change }),
  };
}

test('a signature is the one of AWS’s own example', () => {
  // From the test suite of version 4 signatures: post-x-www-form-urlencoded.
  const { headers } = signed({
    url: new URL('https://example.amazonaws.com/'),
    service: 'service',
    region: 'us-east-1',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'Param1=value1',
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
    at: new Date('2015-08-30T12:36:00Z'),
  });
  expect(headers.Authorization).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  );
});

// catches(AWS KMS: a key is wrapped for one purpose only)
test('what it wraps it unwraps, for the same purpose and no other; the key’s name is AWS’s', async () => {
  const { server, keys } = await kms();
  const key = randomBytes(32);
  const wrapped = await keys.wrap(key, 'one');
  expect(wrapped.keyId).toBe(`aws-kms/${server.key()}`);
  expect(await keys.knows(wrapped.keyId)).toBe(true);
  expect(wrapped.wrapped.includes(key)).toBe(false);
  expect(await keys.unwrap(wrapped, 'one')).toEqual(key);
  await expect(keys.unwrap(wrapped, 'another')).rejects.toThrow(KeyUnavailable);
});

test('another key behind the alias → it wraps, and the one before unwraps what it has wrapped', async () => {
  const { server, keys } = await kms();
  const old = await keys.wrap(Buffer.from('old'), 'one');
  server.replaceKey();
  const renewed = await keys.wrap(Buffer.from('new'), 'one');
  expect(renewed.keyId).not.toBe(old.keyId);
  expect(await keys.unwrap(old, 'one')).toEqual(Buffer.from('old'));
  // Named as another's, it does not open: KMS alone would have opened it.
  await expect(keys.unwrap({ ...old, keyId: renewed.keyId }, 'one')).rejects.toThrow(KeyUnavailable);
});

describe('refusals', () => {
  test.each<[string, Partial<KmsOptions>]>([
    ['another secret', { secretAccessKey: 'another' }],
    ['another session', { sessionToken: 'another' }],
    ['another region', { region: 'us-east-1' }],
  ])('%s → refused, in one line without the secret', async (_, change) => {
    const { keys } = await kms(change);
    await expect(keys.wrap(randomBytes(32), 'one')).rejects.toThrow(
      'AWS KMS refused to encrypt with the key alias/tollgate (HTTP 400, IncompleteSignatureException)',
    );
  });

  test('a key that does not exist, an error, garbage, and nobody there → one line each', async () => {
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
