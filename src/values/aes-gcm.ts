// AES-256-GCM: nonce, ciphertext and tag in one piece, which opens only beside the text that it is bound to.
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

// Nonces are random. A pool of them saves a call into the system for each; none is used twice.
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

export function encrypt(key: Buffer, plain: string | Buffer, boundTo: string): Buffer {
  const iv = nonce();
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(boundTo));
  const encrypted = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain);
  return Buffer.concat([iv, encrypted, cipher.final(), cipher.getAuthTag()]);
}

/** Undefined where it was changed, or is bound to something else. */
export function decrypt(key: Buffer, sealed: Buffer, boundTo: string): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(boundTo)).setAuthTag(sealed.subarray(-TAG_BYTES));
  const opened = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    // In this mode everything is there already; what is left is to see whether it was changed.
    decipher.final();
    return opened;
  } catch {
    opened.fill(0);
    return undefined;
  }
}
