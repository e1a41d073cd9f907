// Challenges: what a browser is given to answer. They are authenticated and end by themselves, so that nothing is stored for whoever asks
// for one; only that one was answered is stored.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CredentialKey } from '../../organisations/users/credentials.js';

const NONCE_BYTES = 16;
const TIME_BYTES = 6;
const MAC_BYTES = 16;
const BYTES = NONCE_BYTES + TIME_BYTES + MAC_BYTES;
export const CHALLENGE_MS = 5 * 60_000;

/** What it is asked for, and whom: the session, or nobody yet. */
export interface Purpose {
  readonly kind: 'sign-in' | 'enrol' | 'prove' | 'code' | 'device' | 'provider';
  readonly whom: string;
}

export class Challenges {
  readonly #key: Buffer;

  constructor(key: CredentialKey) {
    this.#key = key.keyFor('challenges to operators');
  }

  make(purpose: Purpose, nowMs: number, lastsMs = CHALLENGE_MS): string {
    const head = Buffer.alloc(NONCE_BYTES + TIME_BYTES);
    randomBytes(NONCE_BYTES).copy(head);
    head.writeUIntBE(nowMs + lastsMs, NONCE_BYTES, TIME_BYTES);
    return Buffer.concat([head, this.#mac(head, purpose)]).toString('base64url');
  }

  /** Until when it counts; undefined where it does not, or was made for something else. */
  endOf(text: string, purpose: Purpose, nowMs: number): number | undefined {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length !== BYTES) return undefined;
    const head = bytes.subarray(0, NONCE_BYTES + TIME_BYTES);
    if (!timingSafeEqual(this.#mac(head, purpose), bytes.subarray(-MAC_BYTES))) return undefined;
    const endMs = head.readUIntBE(NONCE_BYTES, TIME_BYTES);
    return endMs > nowMs ? endMs : undefined;
  }

  #mac(head: Buffer, { kind, whom }: Purpose): Buffer {
    const mac = createHmac('sha256', this.#key)
      .update(JSON.stringify([kind, whom]))
      .update(head)
      .digest();
    return mac.subarray(0, MAC_BYTES);
  }
}
