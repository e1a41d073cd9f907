// Passwords of operators, as they are stored: by scrypt, after an HMAC under a key that is not in the database. Whoever has only a copy of
// the database cannot even guess.
import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { CredentialKey } from '../../organisations/users/credentials.js';

/** 64 MiB and a few tenths of a second for each guess. */
const COST = { N: 2 ** 16, r: 8, p: 2 };
const MOST_MEMORY = 128 * 1024 * 1024;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
/** Each takes time and memory that payments want: one after the other, and few may wait. */
const MOST_WAITING = 16;

const derive = promisify<string | Buffer, Buffer, number, object, Buffer>(scrypt);

/** Too many wait for theirs to be looked at. */
export class TooManyPasswords extends Error {
  override readonly name = 'TooManyPasswords';
}

export class Passwords {
  readonly #pepper: Buffer;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(key: CredentialKey) {
    this.#pepper = key.keyFor('passwords of operators');
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const { N, r, p } = COST;
    const hash = await this.#derive(password, salt, COST);
    return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
  }

  /** Takes as long where there is none: the time does not tell whether anybody has this name. */
  async isRight(password: string, stored: string | null): Promise<boolean> {
    const [, N, r, p, salt = '', hash = ''] = (stored ?? '').split('$');
    const cost = stored === null ? COST : { N: Number(N), r: Number(r), p: Number(p) };
    const expected = Buffer.from(hash, 'base64url');
    const given = await this.#derive(password, Buffer.from(salt, 'base64url'), cost);
    return stored !== null && given.length === expected.length && timingSafeEqual(given, expected);
  }

  async #derive(password: string, salt: Buffer, cost: typeof COST): Promise<Buffer> {
    if (this.#waiting >= MOST_WAITING) throw new TooManyPasswords();
    this.#waiting += 1;
    // The same character can be typed in several ways.
    const peppered = createHmac('sha256', this.#pepper).update(password.normalize('NFKC')).digest();
    const mine = this.#last.then(() => derive(peppered, salt, HASH_BYTES, { ...cost, maxmem: MOST_MEMORY }));
    this.#last = mine.catch(() => {});
    return mine.finally(() => {
      this.#waiting -= 1;
    });
  }
}
