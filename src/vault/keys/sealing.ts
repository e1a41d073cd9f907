// Sealing: AES-256-GCM under a data key, bound to the place where the ciphertext belongs. Moved elsewhere it does not open.
import { decrypt, encrypt } from '../../values/aes-gcm.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';

export interface DataKey {
  readonly version: number;
  readonly key: Buffer;
  /** How much was sealed with it and is not counted in the database yet. */
  seals?: number;
}

/** Where a ciphertext lives. */
export interface Place {
  readonly table: 'transaction' | 'token' | 'webhook_endpoint';
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly row: number;
  readonly field: string;
  /** What else the row says that decides what the sealed thing is good for. Changed, the seal does not open. */
  readonly says: string;
}

export class SealBroken extends Error {
  override readonly name = 'SealBroken';
  constructor(readonly place: Place) {
    super(
      `the seal of ${place.table} ${place.row} of merchant ${place.merchantId} does not open: it, or the row that it belongs to, was changed in the database`,
    );
  }
}

function boundTo(place: Place, { version }: DataKey): string {
  const { table, organisationId, merchantId, row, field, says } = place;
  // guard(seal: bound to its key version): ${version} ⇒ -
  // guard(seal: bound to its field): ${field} ⇒ -
  // guard(seal: bound to its row): ${row} ⇒ -
  // guard(seal: bound to its merchant): ${merchantId} ⇒ -
  // guard(seal: bound to its organisation): ${organisationId} ⇒ -
  // guard(seal: bound to its table): ${table} ⇒ -
  const where = `${table}/${organisationId}/${merchantId}/${row}/${field}/${version}`;
  // guard(seal: bound to what its row says): ${says} ⇒ -
  return `${where}/${says}`;
}

/** What is given as bytes is overwritten. */
export function seal(dataKey: DataKey, place: Place, secrets: string | Buffer): Buffer {
  dataKey.seals = (dataKey.seals ?? 0) + 1;
  const sealed = encrypt(dataKey.key, secrets, boundTo(place, dataKey));
  if (typeof secrets !== 'string') secrets.fill(0);
  return sealed;
}

export function open(dataKey: DataKey, place: Place, sealed: Buffer): string {
  const opened = decrypt(dataKey.key, sealed, boundTo(place, dataKey));
  if (opened === undefined) throw new SealBroken(place);
  const secrets = opened.toString('utf8');
  opened.fill(0);
  return secrets;
}
