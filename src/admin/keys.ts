// The keys that seal card data, as the operator looks at them, renews them while the gateway serves, and destroys them.
import type { Database, Queryable } from '../postgres/database.js';
import type { KeyProvider } from '../vault/key-provider.js';
import { Rotation, type RotationProgress, type RotationResult } from '../vault/rotation.js';
import { KEY_STATUS } from './keys.sql.js';

export interface KeyStatus {
  readonly merchant: number;
  readonly version: number;
  readonly seals: boolean;
  readonly tokens: number;
  readonly transactions: number;
  readonly keyEncryptionKey: string;
  readonly createdAt: Date;
}

export interface RotationWish {
  /** Only this merchant's keys; absent, every merchant's. */
  readonly merchant?: number | undefined;
  readonly progress?: (at: RotationProgress) => void;
}

/** Every version of every merchant's data key, and how many rows it seals. */
export async function showKeys(database: Queryable): Promise<KeyStatus[]> {
  return (await database.query<KeyStatus>(KEY_STATUS)).rows;
}

/** New data keys, and everything sealed anew under them. Can be interrupted and run again. */
export function rotateKeys(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { merchant, progress = () => {} }: RotationWish = {},
): Promise<RotationResult> {
  return new Rotation(database, provider, operator).rotate(merchant, progress);
}

/** A new key-encryption key: data keys are wrapped anew, card data is not touched. Returns how many data keys there are. */
export function rewrapKeys(database: Database, operator: string, provider: KeyProvider): Promise<number> {
  return new Rotation(database, provider, operator).rewrap();
}

/** Destroys a retired version for good, once nothing is sealed under it. */
export function destroyKey(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { merchant, version }: { readonly merchant: number; readonly version: number },
): Promise<void> {
  return new Rotation(database, provider, operator).destroy(merchant, version);
}
