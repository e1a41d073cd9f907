// Keys of the installation itself: what is made under one cannot be made by whoever can only write to the database. Each is random,
// and wrapped by the key-encryption key, so that it works with every provider of that.
import { randomBytes } from 'node:crypto';
import { journal } from '../../journal/journal.js';
import type { Queryable } from '../../postgres/database.js';
import {
  ADD_INSTALLATION_KEY,
  ALL_INSTALLATION_KEYS,
  INSTALLATION_KEY,
  REWRAP_INSTALLATION_KEY,
} from './installation-keys.sql.js';
import { type KeyProvider, KeyUnavailable, type WrappedKey } from './key-provider.js';
import type { WrappedRows } from './wrapped-rows.js';

/** For the seals of users and operators, for the journal, for what is asked of earlier transactions, and to know imported cards again. */
export type InstallationKeyName = 'credentials' | 'journal' | 'attestation' | 'recognition';

const contextOf = (name: string) => `tollgate/installation-key/${name}`;

/** For the rotation of the key-encryption key. */
export const WRAPPED_INSTALLATION_KEYS: WrappedRows = {
  context: contextOf,
  all: ALL_INSTALLATION_KEYS,
  rewrap: REWRAP_INSTALLATION_KEY,
};

export async function openInstallationKey(
  database: Queryable,
  provider: KeyProvider,
  name: InstallationKeyName,
): Promise<Buffer> {
  const found = await find(database, name);
  if (found === undefined) {
    throw new KeyUnavailable(
      `the key ${name} of this installation is missing; the next start or command makes another`,
    );
  }
  return provider.unwrap(found, contextOf(name));
}

/** Makes it where there is none. Where two do so at once, one of them is stored and both use it. */
export async function makeInstallationKey(
  database: Queryable,
  provider: KeyProvider,
  name: InstallationKeyName,
): Promise<Buffer> {
  if ((await find(database, name)) === undefined) {
    const { keyId, wrapped } = await provider.wrap(randomBytes(32), contextOf(name));
    const values = [name, keyId, wrapped];
    const { rows } = await database.query<{ added: boolean }>(ADD_INSTALLATION_KEY, values);
    // With the key of the journal nothing can be journalled yet: its chain begins with it.
    if (rows[0]?.added && name !== 'journal')
      await journal(database, { actor: 'gateway:start', action: 'keys.made', detail: name });
  }
  return openInstallationKey(database, provider, name);
}

async function find(database: Queryable, name: InstallationKeyName): Promise<WrappedKey | undefined> {
  return (await database.query<WrappedKey>(INSTALLATION_KEY, [name])).rows[0];
}
