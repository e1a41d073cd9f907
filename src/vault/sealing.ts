// Sealing: AES-256-GCM under a data key, bound to the place where the ciphertext belongs. Moved elsewhere it does not open.
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto';
import type { MerchantId, OrganisationId } from '../values/ids.js';

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

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

// Nonces are random. A pool of them saves a call into the system for each seal; none is used twice.
const pool = Buffer.allocUnsafe(NONCE_BYTES * 512);
let unused = pool.length;

function nonce(): Buffer {
  if (unused === pool.length) {
    randomFillSync(pool);
    unused = 0;
  }
  const taken = Buffer.from(pool.subarray(unused, unused + NONCE_BYTES));
  unused += NONCE_BYTES;
  return taken;
}

function boundTo(place: Place, { version }: DataKey): Buffer {
  const { table, organisationId, merchantId, row, field, says } = place;
  // guard(seal: bound to its key version): ${version} ⇒ -
  // guard(seal: bound to its field): ${field} ⇒ -
  // guard(seal: bound to its row): ${row} ⇒ -
  // guard(seal: bound to its merchant): ${merchantId} ⇒ -
  // guard(seal: bound to its organisation): ${organisationId} ⇒ -
  // guard(seal: bound to its table): ${table} ⇒ -
  const where = `${table}/${organisationId}/${merchantId}/${row}/${field}/${version}`;
  // guard(seal: bound to what its row says): ${says} ⇒ -
  return Buffer.from(`${where}/${says}`, 'utf8');
}

/** Nonce, ciphertext and tag in one piece. What is given as bytes is overwritten. */
export function seal(dataKey: DataKey, place: Place, secrets: string | Buffer): Buffer {
  dataKey.seals = (dataKey.seals ?? 0) + 1;
  const iv = nonce();
  const cipher = createCipheriv('aes-256-gcm', dataKey.key, iv);
  cipher.setAAD(boundTo(place, dataKey));
  if (typeof secrets === 'string')
    return Buffer.concat([iv, cipher.update(secrets, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  const sealed = cipher.update(secrets);
  secrets.fill(0);
  return Buffer.concat([iv, sealed, cipher.final(), cipher.getAuthTag()]);
}

export function open(dataKey: DataKey, place: Place, sealed: Buffer): string {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new SealBroken(place);
  const decipher = createDecipheriv('aes-256-gcm', dataKey.key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(boundTo(place, dataKey));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const opened = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
    try {
      // In this mode everything is there already; what is left is to see whether it was changed.
      decipher.final();
      return opened.toString('utf8');
    } finally {
      opened.fill(0);
    }
  } catch {
    throw new SealBroken(place);
  }
}
