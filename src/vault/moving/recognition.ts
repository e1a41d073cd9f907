// Knowing an imported card again: an HMAC under a key of the installation, which only the key-encryption key opens. The same card of
// another customer has another one, so that nobody who reads the database learns who shares a card.
import { createHmac } from 'node:crypto';
import type { CustomerId } from '../../values/ids.js';
import { type Account, secretsOf } from '../account.js';
import type { SealOwner } from '../keys/sealed-rows.js';

const BYTES = 16;

export function recognitionOf(
  key: Buffer,
  { organisationId, merchantId }: SealOwner,
  customerId: CustomerId,
  account: Account,
): Buffer {
  const secrets = secretsOf(account);
  const digest = createHmac('sha256', key)
    .update(`${organisationId}/${merchantId}/${customerId}/${account.type}/`)
    .update(secrets)
    .digest();
  if (typeof secrets !== 'string') secrets.fill(0);
  return digest.subarray(0, BYTES);
}
