// The keys that seal card data, as the operator looks at them, renews them while the gateway serves, and destroys them.
import { WRAPPED_MAC_KEYS } from '../acquirers/acquirer-tasks.js';
import { checkMerchant } from '../organisations/merchants.js';
import { SEALED_PAYMENT_DETAILS } from '../payments/cards/payment-details.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { MerchantId } from '../values/ids.js';
import { WRAPPED_INSTALLATION_KEYS } from '../vault/keys/installation-keys.js';
import { withJournalledSeals } from '../vault/keys/journalled-keys.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import type { OnBroken } from '../vault/keys/keys.js';
import { DEFAULT_KEY_LIMITS, type DueBecause, type KeyLimits } from '../vault/keys/renewal.js';
import {
  Rotation,
  type RotationParts,
  type RotationProgress,
  type RotationResult,
} from '../vault/keys/rotation.js';
import { SEALED_TOKENS } from '../vault/keys/sealed-rows.js';
import { SEALED_WEBHOOK_SECRETS } from '../webhooks/secrets.js';
import { KEY_STATUS } from './keys.sql.js';

export interface KeyStatus {
  readonly merchant: MerchantId;
  readonly version: number;
  readonly seals: boolean;
  readonly tokens: number;
  readonly transactions: number;
  readonly webhooks: number;
  /** How much it has sealed in all, as far as processes have counted it. */
  readonly sealed: number;
  /** Why the gateways are about to renew it, if they are; null of a version that has been replaced. */
  readonly due: DueBecause | 'no' | null;
  readonly keyEncryptionKey: string;
  readonly createdAt: Date;
}

export interface RotationWish {
  /** Only this merchant's keys; absent, every merchant's. */
  readonly merchant?: number | undefined;
  readonly progress?: (at: RotationProgress) => void;
}

/** Every version of every merchant's data key, and how many rows it seals. */
export async function showKeys(
  database: Queryable,
  limits: KeyLimits = DEFAULT_KEY_LIMITS,
): Promise<KeyStatus[]> {
  return (await database.query<KeyStatus>(KEY_STATUS, [limits.days, limits.seals])).rows;
}

/** New data keys, and everything sealed anew under them. Can be interrupted and run again. */
export async function rotateKeys(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { merchant, progress = () => {} }: RotationWish = {},
): Promise<RotationResult> {
  await checkMerchant(database, merchant);
  return withJournalledSeals(database, operator, (onBroken) =>
    rotation(database, operator, provider, onBroken).rotate(merchant, progress),
  );
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

/** Everything that is sealed under the data keys of a merchant. */
export const SEALED = [SEALED_TOKENS, SEALED_PAYMENT_DETAILS, SEALED_WEBHOOK_SECRETS];

export function rotation(
  database: Database,
  actor: string,
  provider: KeyProvider,
  onBroken?: OnBroken,
  pace: Pick<RotationParts, 'rest' | 'keysDatabase'> = {},
): Rotation {
  return new Rotation({
    database,
    provider,
    actor,
    sealed: SEALED,
    wrapped: [WRAPPED_MAC_KEYS, WRAPPED_INSTALLATION_KEYS],
    ...(onBroken && { onBroken }),
    ...pace,
  });
}
