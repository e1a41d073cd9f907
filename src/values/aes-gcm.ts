// AES-256-GCM. Nonce, ciphertext and tag are one buffer, which opens only with the text that it was bound to.
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

// Nonces are random and never reused. Filling a pool of them saves a system call for each.
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

/** Undefined if the buffer was changed, or is bound to another text. */
export function decrypt(key: Buffer, sealed: Buffer, boundTo: string): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(boundTo)).setAuthTag(sealed.subarray(-TAG_BYTES));
  const opened = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    // GCM has decrypted everything by now; `final` only checks the tag.
    decipher.final();
    return opened;
  } catch {
    opened.fill(0);
    return undefined;
  }
}
