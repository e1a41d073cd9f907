// One-time codes by time (RFC 6238), as authenticator apps make them: six digits, every thirty seconds. The secret that they are made of
// is stored sealed.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CredentialKey } from '../../organisations/users/credentials.js';
import { decrypt, encrypt } from '../../values/aes-gcm.js';

const STEP_MS = 30_000;
const DIGITS = 6;
const SECRET_BYTES = 20;
/** Clocks of telephones go wrong by a step, and people type slowly. */
const EARLIER_AND_LATER = [0, -1, 1];
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function makeTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

export function codeAt(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = (mac[mac.length - 1] as number) & 0xf;
  const number = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, '0');
}

/** The step that a code belongs to; undefined where it is none of now. Whether it was used before, the database knows. */
export function stepOf(secret: Buffer, code: string, nowMs: number): number | undefined {
  const now = Math.floor(nowMs / STEP_MS);
  const given = Buffer.from(
    code
      .replaceAll(/\s/g, '')
      .padEnd(DIGITS)
      .slice(0, 2 * DIGITS),
  );
  return EARLIER_AND_LATER.map((by) => now + by).find((step) => {
    const expected = Buffer.from(codeAt(secret, step));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
}

/** What apps read from a picture, or somebody types in. */
export function base32(secret: Buffer): string {
  const bits = [...secret].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => BASE32[Number.parseInt(five.padEnd(5, '0'), 2)])
    .join('');
}

export function totpUri(secret: Buffer, name: string): string {
  const label = encodeURIComponent(`Tollgate:${name}`);
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=Tollgate&algorithm=SHA1&digits=${DIGITS}&period=30`;
}

/** Seals secrets, each for its operator. */
export class TotpSeals {
  readonly #key: Buffer;

  constructor(key: CredentialKey) {
    this.#key = key.keyFor('codes of operators');
  }

  seal(secret: Buffer, name: string): Buffer {
    return encrypt(this.#key, secret, name);
  }

  /** Undefined where it was sealed for another, or changed. */
  open(sealed: Buffer, name: string): Buffer | undefined {
    return decrypt(this.#key, sealed, name);
  }
}
