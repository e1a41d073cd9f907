// The key-encryption key that the settings name, and the proof that it is the right one for this database.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database, Queryable } from '../../postgres/database.js';
import { type KeyProvider, KeyUnavailable } from '../../vault/keys/key-provider.js';
import { checkKeyIfProven, proveKey } from '../../vault/keys/keys.js';
import { EnvironmentKeys, FileKeys } from '../../vault/keys/local-keys.js';
import { MovingKeys } from '../../vault/keys/moving-keys.js';
import { TransitKeys } from '../../vault/keys/transit-keys.js';
import type { KeyEncryption } from './key-settings.js';
import type { Settings } from './settings.js';

/** The provider, once it has opened what this database holds. */
export async function openKeyProvider(settings: Settings, database: Queryable): Promise<KeyProvider> {
  await refuseOpenKeyFile(settings);
  const provider = await providerOf(settings);
  // A replacing key is created before anything is wrapped under it.
  if (settings.previousKeyEncryption !== undefined) await provider.prepare?.();
  await proveKey(database, provider);
  return provider;
}

/** Before a start changes anything, the schema included. */
export async function checkKey(settings: Settings, database: Database): Promise<KeyProvider> {
  await refuseOpenKeyFile(settings);
  const provider = await providerOf(settings);
  await checkKeyIfProven(database, provider);
  return provider;
}

/**
 * A reader of the key file can read every card in a copy of the database. Checked when a process or a command starts: a serving
 * process continues.
 */
async function refuseOpenKeyFile({ keyEncryption, dataDir }: Settings): Promise<void> {
  if (keyEncryption.provider !== 'file' || process.platform === 'win32') return;
  const file = keyFile(dataDir);
  const mode = await stat(file).then(
    (found) => found.mode & 0o777,
    () => 0,
  );
  // guard(key file: one that others can read is refused): (mode & 0o077) == ⇒ mode >
  if ((mode & 0o077) === 0) return;
  throw new KeyUnavailable(
    `the key-encryption key ${file} can be read or changed by others (mode ${mode.toString(8)}); close it to all but its owner (chmod 600), and renew it if somebody may have read it (\`tollgate keys rotate --key-encryption-key\`)`,
  );
}

function keyFile(dataDir: string): string {
  return join(dataDir, 'key-encryption-key');
}

async function providerOf({ keyEncryption, previousKeyEncryption, dataDir }: Settings): Promise<KeyProvider> {
  const provider = await oneProvider(keyEncryption, dataDir);
  return previousKeyEncryption === undefined
    ? provider
    : new MovingKeys(provider, await oneProvider(previousKeyEncryption, dataDir));
}

async function oneProvider(keyEncryption: KeyEncryption, dataDir: string): Promise<KeyProvider> {
  switch (keyEncryption.provider) {
    case 'file':
      return new FileKeys(keyFile(dataDir));
    case 'environment':
      return new EnvironmentKeys(keyEncryption.keys);
    case 'vault-transit':
      return new TransitKeys(keyEncryption);
    case 'aws-kms':
      return new (await import('../../vault/keys/kms-keys.js')).KmsKeys(keyEncryption);
  }
}
