// The MAC of a message: ANSI X9.19 (ISO 9797-1, algorithm 3, padded with zeros) over everything before the field that holds it.
import { createCipheriv } from 'node:crypto';
import { type Message, pack } from './codec.js';
import type { Dialect } from './dialects.js';

const BLOCK_BYTES = 8;
const NO_MAC = '0000000000000000';

export interface MacKeys {
  /** Sixteen bytes each. Seen from the host: with which it sends, and with which it checks what it receives. */
  readonly send: Buffer;
  readonly receive: Buffer;
}

/** `SEND:RECEIVE`, in hexadecimal digits. */
export function macKeys(text: string): MacKeys {
  const [, send, receive] = /^([0-9a-f]{32}):([0-9a-f]{32})$/i.exec(text) ?? [];
  if (send === undefined || receive === undefined)
    throw new Error('two keys of 32 hexadecimal digits: SEND:RECEIVE');
  return { send: Buffer.from(send, 'hex'), receive: Buffer.from(receive, 'hex') };
}

/** Single DES with the left half over all blocks but the last, which is enciphered with left, right and left again. */
export function retailMac(key: Buffer, data: Buffer): string {
  const padded = Buffer.alloc(Math.max(Math.ceil(data.length / BLOCK_BYTES), 1) * BLOCK_BYTES);
  data.copy(padded);
  const left = key.subarray(0, BLOCK_BYTES);
  const right = key.subarray(BLOCK_BYTES);
  const chained = encipher([left, left, left], Buffer.alloc(BLOCK_BYTES), padded.subarray(0, -BLOCK_BYTES));
  const vector = chained.length === 0 ? Buffer.alloc(BLOCK_BYTES) : chained.subarray(-BLOCK_BYTES);
  return encipher([left, right, left], vector, padded.subarray(-BLOCK_BYTES)).toString('hex').toUpperCase();
}

function encipher(keys: readonly Buffer[], vector: Buffer, data: Buffer): Buffer {
  const cipher = createCipheriv('des-ede3-cbc', Buffer.concat(keys), vector).setAutoPadding(false);
  return Buffer.concat([cipher.update(data), cipher.final()]);
}

/** In field 64, or in 128 where there is a secondary bitmap. */
function macField({ fields }: Message): 64 | 128 {
  return [...fields.keys()].some((number) => number > 64) ? 128 : 64;
}

export function withMac(dialect: Dialect, unsigned: Message, key: Buffer): Message {
  const field = macField(unsigned);
  const fields = new Map(unsigned.fields).set(field, NO_MAC);
  return { mti: unsigned.mti, fields: fields.set(field, macOf(dialect, { mti: unsigned.mti, fields }, key)) };
}

export function macIsRight(dialect: Dialect, received: Message, key: Buffer): boolean {
  const mac = received.fields.get(macField(received));
  return mac !== undefined && mac === macOf(dialect, received, key);
}

export function hasMac({ fields }: Message): boolean {
  return fields.has(64) || fields.has(128);
}

/** A repeated message has the MAC of the first: the last digit of its MTI counts as 0. */
function macOf(dialect: Dialect, { mti, fields }: Message, key: Buffer): string {
  const macBytes = dialect.bytes === 'hex' ? 2 * BLOCK_BYTES : BLOCK_BYTES;
  const packed = pack(dialect, { mti: firstSent(mti), fields });
  return retailMac(key, packed.subarray(0, packed.length - macBytes));
}

/** The MTI as it is when a message is sent for the first time. */
export function firstSent(mti: string): string {
  return `${mti.slice(0, 3)}0`;
}
