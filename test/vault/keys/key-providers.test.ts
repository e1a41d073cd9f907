// Key providers: file, environment and HashiCorp Vault wrap and unwrap data keys alike.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type KeyProvider, KeyUnavailable } from '../../../src/vault/keys/key-provider.js';
import { EnvironmentKeys, FileKeys } from '../../../src/vault/keys/local-keys.js';
import { MovingKeys } from '../../../src/vault/keys/moving-keys.js';
import { TransitKeys } from '../../../src/vault/keys/transit-keys.js';
import { transitServer } from './transit-server.js';

async function fileKeys(): Promise<{ provider: FileKeys; path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-keys-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'key-encryption-key');
  const provider = new FileKeys(path);
  await provider.prepare();
  return { provider, path };
}

async function transitKeys() {
  const server = await transitServer();
  onTestFinished(() => server.close());
  const { address, token } = server;
  return { server, provider: new TransitKeys({ address, token, keyName: 'tollgate', mount: 'transit' }) };
}

/** The contract of every provider. */
describe.each<[string, () => Promise<KeyProvider>]>([
  ['file', async () => (await fileKeys()).provider],
  ['environment', async () => new EnvironmentKeys(randomBytes(32).toString('base64'))],
  ['vault-transit', async () => (await transitKeys()).provider],
])('key provider: %s', (_name, make) => {
  test('a wrapped key can be unwrapped, and the wrapped form does not contain the key', async () => {
    const provider = await make();
    const key = randomBytes(32);
    const wrapped = await provider.wrap(key, 'a');
    expect(wrapped.wrapped.includes(key)).toBe(false);
    expect(await provider.unwrap(wrapped, 'a')).toEqual(key);
  });

  // catches(data key: wrapped for one purpose only)
  test('a key wrapped for one purpose cannot be unwrapped for another', async () => {
    const provider = await make();
    const wrapped = await provider.wrap(randomBytes(32), 'tollgate/data-key/1/1/1');
    await expect(provider.unwrap(wrapped, 'tollgate/data-key/1/2/1')).rejects.toThrow(KeyUnavailable);
  });

  test('a key wrapped under another key cannot be unwrapped', async () => {
    const [one, other] = [await make(), await make()];
    await expect(other.unwrap(await one.wrap(randomBytes(32), 'a'), 'a')).rejects.toThrow(KeyUnavailable);
  });
});

test('key file, created at first use → only its owner can read it, and a second use leaves it unchanged', async () => {
  const { provider, path } = await fileKeys();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const before = await readFile(path, 'utf8');
  await provider.prepare();
  expect(await readFile(path, 'utf8')).toBe(before);
});

test('key file, renewed → the old key can unwrap until old keys are deleted', async () => {
  const { provider } = await fileKeys();
  const old = await provider.wrap(Buffer.from('old'), 'a');
  await provider.renew();
  const renewed = await provider.wrap(Buffer.from('new'), 'a');
  expect(renewed.keyId).not.toBe(old.keyId);
  expect(await provider.unwrap(old, 'a')).toEqual(Buffer.from('old'));
  await provider.forgetOthers();
  expect(await provider.unwrap(renewed, 'a')).toEqual(Buffer.from('new'));
  await expect(provider.unwrap(old, 'a')).rejects.toThrow(KeyUnavailable);
});

test('key from the environment, two given → the first wraps and both unwrap', async () => {
  const [newKey, oldKey] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')) as [
    string,
    string,
  ];
  const old = await new EnvironmentKeys(oldKey).wrap(Buffer.from('old'), 'a');
  const both = new EnvironmentKeys(`${newKey},${oldKey}`);
  expect(await both.unwrap(old, 'a')).toEqual(Buffer.from('old'));
  const renewed = await both.wrap(Buffer.from('new'), 'a');
  expect(await new EnvironmentKeys(newKey).unwrap(renewed, 'a')).toEqual(Buffer.from('new'));
});

test.each(['', 'short', 'AAAA'])('key from the environment, %j → refused without repeating it', (text) => {
  expect(() => new EnvironmentKeys(text)).toThrow(/TOLLGATE_KEY_ENCRYPTION_KEY must hold base64 of 32 bytes/);
});

test("Vault's own key rotation → older data keys still unwrap, new ones name the new version", async () => {
  const { server, provider } = await transitKeys();
  const old = await provider.wrap(Buffer.from('old'), 'a');
  server.rotate();
  const renewed = await provider.wrap(Buffer.from('new'), 'a');
  expect([old.keyId, renewed.keyId]).toEqual(['transit/tollgate/v1', 'transit/tollgate/v2']);
  expect(await provider.unwrap(old, 'a')).toEqual(Buffer.from('old'));
});

test('Vault with a namespace → the header says so', async () => {
  const { server } = await transitKeys();
  const { address, token } = server;
  const provider = new TransitKeys({
    address: `${address}/`,
    token,
    keyName: 'tollgate',
    mount: 'transit',
    namespace: 'team',
  });
  await provider.wrap(Buffer.from('x'), 'a');
  expect(server.requests).toEqual([{ path: '/v1/transit/encrypt/tollgate', namespace: 'team' }]);
});

test.each([403, 404, 500, 503, 'garbage'] as const)(
  'Vault answers %s → one clear line, without the token or the key',
  async (how) => {
    const { server, provider } = await transitKeys();
    server.break(how);
    const key = randomBytes(32);
    const error = await provider.wrap(key, 'a').catch((reason: unknown) => reason as Error);
    expect(error).toBeInstanceOf(KeyUnavailable);
    const { message } = error as Error;
    expect(message).toMatch(/^HashiCorp Vault .+$/);
    expect(message).not.toContain(server.token);
    expect(message).not.toContain(key.toString('base64'));
  },
);

test('Vault is unreachable → one clear line', async () => {
  const { server, provider } = await transitKeys();
  await server.close();
  await expect(provider.wrap(Buffer.from('x'), 'a')).rejects.toThrow(/cannot be reached$/);
});

describe('the token for Vault', () => {
  test('a token that expires → renewed before it expires, and no more often than necessary', async () => {
    const { server, provider } = await transitKeys();
    server.expiresAfter(3_600);
    for (let turn = 0; turn < 5; turn += 1) await provider.renewToken();
    expect(server.renewals()).toBe(1);
  });

  test('a token that does not expire → left alone', async () => {
    const { server, provider } = await transitKeys();
    await provider.renewToken();
    expect(server.renewals()).toBe(0);
  });

  test('another token in its file → used when Vault refuses the old one, without a failed call', async () => {
    const { server } = await transitKeys();
    const { address, token } = server;
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-keys-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, `${token}\n`);
    const provider = new TransitKeys({ address, token, tokenFile, keyName: 'tollgate', mount: 'transit' });
    const wrapped = await provider.wrap(Buffer.from('a key'), 'a');
    await writeFile(tokenFile, `${server.replaceToken()}\n`);
    expect(await provider.unwrap(wrapped, 'a')).toEqual(Buffer.from('a key'));
  });

  test('an expired token that cannot be replaced → one line', async () => {
    const { server, provider } = await transitKeys();
    server.replaceToken();
    await expect(provider.renewToken()).rejects.toThrow(
      'HashiCorp Vault refused to tell about its token (HTTP 403)',
    );
  });
});

test('two providers, while one replaces the other → the new one wraps, and each unwraps its own', async () => {
  const { provider: file } = await fileKeys();
  const { provider: vault } = await transitKeys();
  const before = await file.wrap(Buffer.from('before'), 'a');
  const moving = new MovingKeys(vault, file);
  const after = await moving.wrap(Buffer.from('after'), 'a');
  expect(await vault.knows(after.keyId)).toBe(true);
  expect(await moving.unwrap(before, 'a')).toEqual(Buffer.from('before'));
  expect(await moving.unwrap(after, 'a')).toEqual(Buffer.from('after'));
});
