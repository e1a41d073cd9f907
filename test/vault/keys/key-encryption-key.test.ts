// The key-encryption key: renewed while the gateway serves, created once, never replaced.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { MerchantId, OrganisationId } from '../../../src/values/ids.js';
import { dataKeyContext } from '../../../src/vault/keys/keys.js';
import { EnvironmentKeys, FileKeys } from '../../../src/vault/keys/local-keys.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import {
  dataDirOf,
  type Operator,
  opened,
  operatorOf,
  payWith,
  sealedRows,
  tokensOf,
  versionsIn,
} from '../../../testkit/sealed-rows.js';

describe('while the gateway serves', () => {
  let gateway: TestGateway;
  let operator: Operator;

  beforeEach(async () => {
    gateway = await testGateway();
    operator = await operatorOf(gateway);
    onTestFinished(() => operator.close());
  });

  test('renew the key → data keys are rewrapped, sealed rows stay unchanged, and the gateway keeps serving', async () => {
    const tokens = await tokensOf(gateway, 1, 3);
    await payWith(gateway, tokens);
    const path = join(dataDirOf(gateway), 'key-encryption-key');
    const [rows, file] = [await sealedRows(gateway), await readFile(path, 'utf8')];
    const keys = () =>
      gateway.sql<{ key: string; wrapped: Buffer }>(
        'SELECT key_encryption_key AS key, wrapped FROM data_key',
      );
    const [before] = await keys();

    expect(await operator.rotation.rewrap()).toBe(1);
    const [after] = await keys();
    expect(after?.key).not.toBe(before?.key);
    expect(after?.wrapped).not.toEqual(before?.wrapped);
    expect(await sealedRows(gateway)).toEqual(rows);
    const renewed = await readFile(path, 'utf8');
    expect(renewed.trim().split('\n')).toHaveLength(1);
    expect(renewed).not.toBe(file);
    expect(await opened(operator, rows)).toHaveLength(6);
    await payWith(gateway, tokens);
    // A merchant whose first data key is created only now.
    await payWith(gateway, await tokensOf(gateway, 2, 2), 2);
  });

  // catches(renewing the key-encryption key: one at a time) slow
  test('renew the key several times at once → one does it, the others report that, and everything opens', async () => {
    await tokensOf(gateway, 1, 2);
    await tokensOf(gateway, 2, 2);
    const others = await Promise.all(Array.from({ length: 4 }, () => operatorOf(gateway)));
    const results = await Promise.allSettled(others.map(({ rotation }) => rotation.rewrap()));
    await Promise.all(others.map((other) => other.close()));
    const refusals = results
      .filter(({ status }) => status === 'rejected')
      .map((result) => String((result as PromiseRejectedResult).reason.message));
    expect(refusals).toEqual(Array(3).fill('another process is renewing the key-encryption key'));
    expect(await opened(operator, await sealedRows(gateway))).toHaveLength(4);
  });

  // catches(renewing the key-encryption key: what a process has just stored under the old one is wrapped anew, too) slow
  test('renew the key while another process stores a data key wrapped under the old one → that data key opens too', async () => {
    await tokensOf(gateway, 2, 1);
    const path = join(dataDirOf(gateway), 'key-encryption-key');
    const old = new EnvironmentKeys(await readFile(path, 'utf8'));
    const { keyId, wrapped } = await old.wrap(
      randomBytes(32),
      dataKeyContext(1 as OrganisationId, 1 as MerchantId, 1),
    );
    const renewing = operator.rotation.rewrap();
    const stillOld = () => gateway.sql('SELECT FROM data_key WHERE key_encryption_key = $1', [keyId]);
    while ((await stillOld()).length > 0) await sleep(2);
    // Merchant 1's place was already passed when merchant 2's key was rewrapped.
    await gateway.sql('INSERT INTO data_key VALUES (1, 1, 1, $1, $2)', [keyId, wrapped]);
    expect(await renewing).toBe(2);
    await payWith(gateway, await tokensOf(gateway, 1, 2), 1);
    expect(versionsIn(await sealedRows(gateway), 1)).toEqual([1]);
  });
});

/** Removed with the test. */
async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'tollgate-keys-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

test('key files created at once by several processes for one new database → one is kept, and all use it', async () => {
  const place = await folder();
  for (let round = 0; round < 10; round += 1) {
    const path = join(place, `key-${round}`);
    const providers = Array.from({ length: 5 }, () => new FileKeys(path));
    const wrapped = await Promise.all(
      providers.map(async (provider) => {
        await provider.prepare();
        return provider.wrap(Buffer.from('a data key'), 'context');
      }),
    );
    for (const one of wrapped) {
      expect(await new FileKeys(path).unwrap(one, 'context')).toEqual(Buffer.from('a data key'));
    }
    // Nothing is left behind.
    const left = (await readdir(place)).filter((name) => name.startsWith(`key-${round}`));
    expect(left).toEqual([`key-${round}`]);
  }
});

test('an existing key file, readable or not → never replaced', async () => {
  const place = await folder();
  for (const content of ['not a key', '', randomBytes(32).toString('base64')]) {
    const path = join(place, `key-${content.length}`);
    await writeFile(path, content);
    await new FileKeys(path).prepare();
    expect(await readFile(path, 'utf8')).toBe(content);
  }
});
