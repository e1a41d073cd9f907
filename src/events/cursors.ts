// Cursors: positions as clients get them, encrypted, so that nobody can read from them how many events others have.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Queryable } from '../postgres/database.js';
import { CURSOR_KEY } from './events.sql.js';

export interface Cursors {
  encode(position: number): string;
  /** Undefined for what is no cursor of this installation. */
  decode(cursor: string): number | undefined;
}

const ALGORITHM = 'aes-128-ecb';
const BYTES = 16;
/** A position is one block. What it is filled up with tells a cursor from anything else. */
const FILLING = Buffer.alloc(BYTES - 8);

/** The key is never changed; a dump takes it along. */
export async function eventCursors(database: Queryable): Promise<Cursors> {
  const { rows } = await database.query<{ key: string }>(CURSOR_KEY);
  const key = Buffer.from((rows[0]?.key ?? '').replaceAll('-', ''), 'hex');
  return {
    encode(position) {
      const block = Buffer.alloc(BYTES);
      block.writeBigUInt64BE(BigInt(position));
      return createCipheriv(ALGORITHM, key, null).update(block).toString('base64url');
    },
    decode(cursor) {
      const sealed = Buffer.from(cursor, 'base64url');
      if (sealed.length !== BYTES) return undefined;
      const block = createDecipheriv(ALGORITHM, key, null).setAutoPadding(false).update(sealed);
      const position = Number(block.readBigUInt64BE());
      return block.subarray(8).equals(FILLING) && Number.isSafeInteger(position) ? position : undefined;
    },
  };
}
