// Which key-encryption key the settings name, and the proof that it is the right one for this database.
import { join } from 'node:path';
import type { Database } from '../postgres/database.js';
import type { KeyProvider } from '../vault/key-provider.js';
import { checkKeyIfProven, proveKey } from '../vault/keys.js';
import { EnvironmentKeys, FileKeys } from '../vault/local-keys.js';
import { TransitKeys } from '../vault/transit-keys.js';
import type { Settings } from './settings.js';

/** The provider, after it has shown that it opens what this database holds. */
export async function openKeyProvider(settings: Settings, database: Database): Promise<KeyProvider> {
  const provider = providerOf(settings);
  await proveKey(database, provider);
  return provider;
}

/** Before a start changes anything, the schema included. */
export async function checkKey(settings: Settings, database: Database): Promise<void> {
  await checkKeyIfProven(database, providerOf(settings));
}

function providerOf({ keyEncryption, dataDir }: Settings): KeyProvider {
  switch (keyEncryption.provider) {
    case 'file':
      return new FileKeys(join(dataDir, 'key-encryption-key'));
    case 'environment':
      return new EnvironmentKeys(keyEncryption.keys);
    case 'vault-transit':
      return new TransitKeys(keyEncryption);
  }
}
