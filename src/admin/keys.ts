// The keys that seal card data, as the operator looks at them, renews them while the gateway serves, and destroys them.
import type { Database, Queryable } from '../postgres/database.js';
import { SEALED_PAYMENT_DETAILS } from '../transactions/payment-details.js';
import type { MerchantId } from '../values/ids.js';
import type { KeyProvider } from '../vault/key-provider.js';
import { Rotation, type RotationProgress, type RotationResult } from '../vault/rotation.js';
import { SEALED_TOKENS } from '../vault/sealed-rows.js';
import { SEALED_WEBHOOK_SECRETS } from '../webhooks/secrets.js';
import { WRAPPED_MAC_KEYS } from './acquirers.js';
import { KEY_STATUS } from './keys.sql.js';

export interface KeyStatus {
  readonly merchant: MerchantId;
  readonly version: number;
  readonly seals: boolean;
  readonly tokens: number;
  readonly transactions: number;
  readonly webhooks: number;
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
  return rotation(database, operator, provider).rotate(merchant, progress);
}

/** A new key-encryption key: data keys are wrapped anew, card data is not touched. Returns how many data keys there are. */
export function rewrapKeys(database: Database, operator: string, provider: KeyProvider): Promise<number> {
  return rotation(database, operator, provider).rewrap();
}

/** Destroys a retired version for good, once nothing is sealed under it. */
export function destroyKey(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { merchant, version }: { readonly merchant: number; readonly version: number },
): Promise<void> {
  return rotation(database, operator, provider).destroy(merchant, version);
}

function rotation(database: Database, operator: string, provider: KeyProvider): Rotation {
  const sealed = [SEALED_TOKENS, SEALED_PAYMENT_DETAILS, SEALED_WEBHOOK_SECRETS];
  return new Rotation({ database, provider, actor: operator, sealed, wrapped: [WRAPPED_MAC_KEYS] });
}
