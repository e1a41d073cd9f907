// The secrets that sign webhooks: stored sealed, and opened only to sign.
import type { WebhookEndpointId } from '../values/ids.js';
import { type DataKeys, type Place, seal } from '../vault/keys/keys.js';
import type { SealedRow, SealedRows, SealOwner } from '../vault/keys/sealed-rows.js';
import {
  COUNT_OLDER_WEBHOOK_SECRETS,
  OLDER_WEBHOOK_SECRETS,
  OLDER_WEBHOOK_SECRETS_LEFT,
  RESEAL_WEBHOOK_SECRETS,
} from './secrets.sql.js';

export interface SealedSecrets {
  readonly keyVersion: number;
  readonly sealed: Buffer;
}

export interface SecretsOwner extends SealOwner {
  readonly id: WebhookEndpointId;
  readonly url: string;
  /** Counts its secrets from 1. */
  readonly secretVersion: number;
}

/** Bound to the address: what is signed for one receiver is not sent to another. And to their number: an earlier one does not come back. */
function secretsPlace(
  { organisationId, merchantId }: SealOwner,
  { id, url, secretVersion }: Pick<SecretsOwner, 'id' | 'url' | 'secretVersion'>,
): Place {
  // guard(webhooks: what is signed for one receiver is not sent to another): url ⇒ url.slice(0, 4)
  const address = url;
  // No address has a space.
  const says = secretVersion === 1 ? address : `${address} ${secretVersion}`;
  return { table: 'webhook_endpoint', organisationId, merchantId, row: id, field: 'secrets', says };
}

export const SEALED_WEBHOOK_SECRETS: SealedRows = {
  place: (owner, endpoint: SealedRow & SecretsOwner) => secretsPlace(owner, endpoint),
  left: OLDER_WEBHOOK_SECRETS_LEFT,
  count: COUNT_OLDER_WEBHOOK_SECRETS,
  page: OLDER_WEBHOOK_SECRETS,
  reseal: RESEAL_WEBHOOK_SECRETS,
  inOrder: true,
};

/** Newest first. */
export async function sealSecrets(
  keys: DataKeys,
  owner: SecretsOwner,
  secrets: readonly string[],
): Promise<SealedSecrets> {
  const key = await keys.newest(owner.organisationId, owner.merchantId);
  const sealed = seal(key, secretsPlace(owner, owner), secrets.join(' '));
  return { keyVersion: key.version, sealed };
}

export async function openSecrets(
  keys: DataKeys,
  owner: SecretsOwner,
  { keyVersion, sealed }: SealedSecrets,
): Promise<string[]> {
  return (await keys.open(secretsPlace(owner, owner), keyVersion, sealed)).split(' ');
}
