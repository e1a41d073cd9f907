// Keys of the installation itself: somebody who can only write to the database cannot forge what they make. Each key is random
// and wrapped by the key-encryption key, so that it works with every key provider.
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

/**
 * For the seals of users and operators, for the journal, for outcomes and requests on earlier transactions, and to recognise imported
 * cards.
 */
export type InstallationKeyName =
  | 'credentials'
  | 'journal'
  | 'attestation'
  | 'recognition'
  // Of another installation, for the secrets of users that have come with their organisation from its cell.
  | `credentials of ${string}`;

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

/** Creates the key if it does not exist. If two processes create it at once, one key is stored and both use it. */
export async function makeInstallationKey(
  database: Queryable,
  provider: KeyProvider,
  name: InstallationKeyName,
): Promise<Buffer> {
  if ((await find(database, name)) === undefined) {
    const { keyId, wrapped } = await provider.wrap(randomBytes(32), contextOf(name));
    const values = [name, keyId, wrapped];
    const { rows } = await database.query<{ added: boolean }>(ADD_INSTALLATION_KEY, values);
    // The creation of the journal's own key cannot be journalled: the chain starts with that key.
    if (rows[0]?.added && name !== 'journal')
      await journal(database, { actor: 'gateway:start', action: 'keys.made', detail: name });
  }
  return openInstallationKey(database, provider, name);
}

/** Keeps a key of another installation. Its rotation is like that of the own ones. */
export async function keepInstallationKey(
  database: Queryable,
  provider: KeyProvider,
  name: InstallationKeyName,
  key: Buffer,
): Promise<void> {
  const { keyId, wrapped } = await provider.wrap(key, contextOf(name));
  await database.query(ADD_INSTALLATION_KEY, [name, keyId, wrapped]);
}

async function find(database: Queryable, name: InstallationKeyName): Promise<WrappedKey | undefined> {
  return (await database.query<WrappedKey>(INSTALLATION_KEY, [name])).rows[0];
}
