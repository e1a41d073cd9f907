// The retail MAC of ANSI X9.19: DES with the first half of the key for all blocks, and triple DES for the last.
import { createCipheriv, timingSafeEqual } from 'node:crypto';

export const MAC_BYTES = 8;
export const MAC_KEY_BYTES = 16;
const BLOCK = 8;
const ZEROS = Buffer.alloc(BLOCK);

export class RetailMac {
  /** OpenSSL 3 has no single DES; triple DES with the same key three times is equivalent. */
  readonly #single: Buffer;
  readonly #triple: Buffer;

  constructor(key: Buffer) {
    if (key.length !== MAC_KEY_BYTES) throw new Error(`a MAC key has ${MAC_KEY_BYTES} bytes`);
    const first = key.subarray(0, BLOCK);
    this.#single = Buffer.concat([first, first, first]);
    this.#triple = Buffer.concat([key, first]);
  }

  /** Pads the last block with zeros. */
  of(data: Buffer): Buffer {
    const blocks = Math.max(1, Math.ceil(data.length / BLOCK));
    const before = (blocks - 1) * BLOCK;
    const last = Buffer.alloc(BLOCK);
    data.copy(last, 0, before);
    let chained = ZEROS;
    if (before > 0) {
      const chain = createCipheriv('des-ede3-cbc', this.#single, ZEROS).setAutoPadding(false);
      chained = chain.update(data.subarray(0, before)).subarray(-BLOCK);
    }
    return createCipheriv('des-ede3-cbc', this.#triple, chained).setAutoPadding(false).update(last);
  }

  is(mac: Buffer, data: Buffer): boolean {
    return mac.length === MAC_BYTES && timingSafeEqual(mac, this.of(data));
  }

  /** Lets two people compare keys without revealing them: the first three bytes of an encrypted block of zeros. */
  get checkValue(): string {
    const cipher = createCipheriv('des-ede3-cbc', this.#triple, ZEROS).setAutoPadding(false);
    return cipher.update(ZEROS).toString('hex', 0, 3).toUpperCase();
  }
}
