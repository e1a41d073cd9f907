// Packs and reads ISO 8583 messages in any dialect of the host. An unreadable message is refused as a whole.
import type { Dialect, FieldForm } from './dialects.js';

/** Digits and texts as they are, without padding; bytes as hexadecimal digits. */
export interface Message {
  readonly mti: string;
  readonly fields: ReadonlyMap<number, string>;
}

export class Unreadable extends Error {
  override name = 'Unreadable';
}

const SECONDARY = 1;
const PRIMARY_FIELDS = 64;
const BITMAP_BYTES = 8;

export function message(mti: string, fields: Readonly<Record<number, string | undefined>>): Message {
  const given = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { mti, fields: new Map(given.map(([number, value]) => [Number(number), value])) };
}

export function pack(dialect: Dialect, { mti, fields }: Message): Buffer {
  const numbers = [...fields.keys()].sort((one, other) => one - other);
  const bitmap = Buffer.alloc((numbers.at(-1) ?? 0) > PRIMARY_FIELDS ? 2 * BITMAP_BYTES : BITMAP_BYTES);
  if (bitmap.length > BITMAP_BYTES) setBit(bitmap, SECONDARY);
  for (const number of numbers) setBit(bitmap, number);
  return Buffer.concat([
    packDigits(dialect, mti),
    packBytes(dialect, bitmap),
    ...numbers.map((number) => packField(dialect, number, fields.get(number) ?? '')),
  ]);
}

function setBit(bitmap: Buffer, number: number): void {
  const at = (number - 1) >> 3;
  bitmap[at] = (bitmap[at] ?? 0) | (0x80 >> ((number - 1) & 7));
}

function packField(dialect: Dialect, number: number, value: string): Buffer {
  const form = dialect.fields.get(number);
  if (form === undefined) throw new Error(`field ${number} is not in the table`);
  const { kind, length, lengthDigits } = form;
  const size = kind === 'b' ? value.length / 2 : value.length;
  if (size > length || (kind === 'b' && lengthDigits === 0 && size < length)) {
    throw new Error(`field ${number} has ${size} of ${length}`);
  }
  if (lengthDigits > 0) {
    const prefix = packDigits(dialect, String(size).padStart(lengthDigits, '0'));
    return Buffer.concat([prefix, packValue(dialect, kind, value)]);
  }
  const padded = { n: value.padStart(length, '0'), an: value.padEnd(length, ' '), b: value }[kind];
  return packValue(dialect, kind, padded);
}

function packValue(dialect: Dialect, kind: FieldForm['kind'], value: string): Buffer {
  switch (kind) {
    case 'n':
      return packDigits(dialect, value);
    case 'an':
      return Buffer.from(value, 'latin1');
    case 'b':
      return packBytes(dialect, Buffer.from(value, 'hex'));
  }
}

/** An odd number of digits has a zero before it in BCD. */
function packDigits({ digits }: Dialect, value: string): Buffer {
  if (!/^[0-9]*$/.test(value)) throw new Error('these are no digits');
  if (digits === 'ascii') return Buffer.from(value, 'latin1');
  return Buffer.from(value.length % 2 === 0 ? value : `0${value}`, 'hex');
}

function packBytes({ bytes }: Dialect, value: Buffer): Buffer {
  return bytes === 'binary' ? value : Buffer.from(value.toString('hex').toUpperCase(), 'latin1');
}

/** Throws `Unreadable` for whatever is not exactly a message of the dialect. */
export function read(dialect: Dialect, bytes: Buffer): Message {
  const reader = new Reader(dialect, bytes);
  const mti = reader.digits(4);
  const bitmap = reader.bytes(BITMAP_BYTES);
  const hasSecondary = ((bitmap[0] ?? 0) & 0x80) !== 0;
  const bitmaps = hasSecondary ? Buffer.concat([bitmap, reader.bytes(BITMAP_BYTES)]) : bitmap;
  const fields = new Map<number, string>();
  for (let number = 2; number <= bitmaps.length * 8; number += 1) {
    if (((bitmaps[(number - 1) >> 3] ?? 0) & (0x80 >> ((number - 1) & 7))) === 0) continue;
    const form = dialect.fields.get(number);
    if (form === undefined) throw new Unreadable(`the bitmap names field ${number}, which nobody knows`);
    fields.set(number, reader.field(number, form));
  }
  if (reader.at !== bytes.length) throw new Unreadable(`${bytes.length - reader.at} bytes are left over`);
  return { mti, fields };
}

class Reader {
  at = 0;

  constructor(
    private readonly dialect: Dialect,
    private readonly message: Buffer,
  ) {}

  field(number: number, { kind, length, lengthDigits }: FieldForm): string {
    const size = lengthDigits > 0 ? Number(this.digits(lengthDigits)) : length;
    if (size > length) throw new Unreadable(`field ${number} has ${size} of ${length}`);
    switch (kind) {
      case 'n':
        return this.digits(size);
      case 'an':
        return lengthDigits > 0 ? this.#text(size) : this.#text(size).trimEnd();
      case 'b':
        return this.bytes(size).toString('hex').toUpperCase();
    }
  }

  digits(count: number): string {
    if (this.dialect.digits === 'ascii')
      return this.#matching(/^[0-9]*$/, this.#take(count).toString('latin1'));
    const packed = this.#take((count + 1) >> 1).toString('hex');
    if (count % 2 === 0) return this.#matching(/^[0-9]*$/, packed);
    return this.#matching(/^0[0-9]*$/, packed).slice(1);
  }

  bytes(count: number): Buffer {
    if (this.dialect.bytes === 'binary') return this.#take(count);
    return Buffer.from(this.#matching(/^[0-9A-F]*$/, this.#take(2 * count).toString('latin1')), 'hex');
  }

  #text(count: number): string {
    return this.#matching(/^[\x20-\x7e]*$/, this.#take(count).toString('latin1'));
  }

  #matching(pattern: RegExp, value: string): string {
    if (!pattern.test(value)) throw new Unreadable('a character stands where none of its kind may');
    return value;
  }

  #take(count: number): Buffer {
    const end = this.at + count;
    if (end > this.message.length) throw new Unreadable('the message ends before its last field');
    const part = this.message.subarray(this.at, end);
    this.at = end;
    return part;
  }
}
