// The secrets that webhooks are signed with: sealed where they are stored, and opened only to sign.
import type { WebhookEndpointId } from '../values/ids.js';
import type { DataKeys } from '../vault/keys.js';
import type { SealedRows, SealOwner } from '../vault/sealed-rows.js';
import { open, type Place, seal } from '../vault/sealing.js';
import {
  COUNT_OLDER_WEBHOOK_SECRETS,
  OLDER_WEBHOOK_SECRETS_LEFT,
  RESEAL_WEBHOOK_SECRETS,
  TAKE_OLDER_WEBHOOK_SECRETS,
} from './secrets.sql.js';

export interface SealedSecrets {
  readonly keyVersion: number;
  readonly sealed: Buffer;
}

export interface SecretsOwner extends SealOwner {
  readonly id: WebhookEndpointId;
}

function secretsPlace({ organisationId, merchantId }: SealOwner, id: WebhookEndpointId): Place {
  return { table: 'webhook_endpoint', organisationId, merchantId, row: id, field: 'secrets' };
}

export const SEALED_WEBHOOK_SECRETS: SealedRows = {
  place: (owner, row) => secretsPlace(owner, row as WebhookEndpointId),
  left: OLDER_WEBHOOK_SECRETS_LEFT,
  count: COUNT_OLDER_WEBHOOK_SECRETS,
  take: TAKE_OLDER_WEBHOOK_SECRETS,
  reseal: RESEAL_WEBHOOK_SECRETS,
  inOrder: true,
};

/** The newest first. */
export async function sealSecrets(
  keys: DataKeys,
  owner: SecretsOwner,
  secrets: readonly string[],
): Promise<SealedSecrets> {
  const key = await keys.newest(owner.organisationId, owner.merchantId);
  const sealed = seal(key, secretsPlace(owner, owner.id), secrets.join(' '));
  return { keyVersion: key.version, sealed };
}

export async function openSecrets(
  keys: DataKeys,
  owner: SecretsOwner,
  { keyVersion, sealed }: SealedSecrets,
): Promise<string[]> {
  const key = await keys.version(owner.organisationId, owner.merchantId, keyVersion);
  return open(key, secretsPlace(owner, owner.id), sealed).split(' ');
}
