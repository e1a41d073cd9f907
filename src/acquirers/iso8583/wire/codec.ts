// Converts messages to bytes and back, by a dialect's table. Anything that cannot be read exactly is unreadable; nothing is guessed.
import type { Dialect } from '../dialects/dialect.js';
import {
  asciiNumber,
  bcdNumber,
  isAsciiDigits,
  isBcd,
  isCharacters,
  isHexadecimal,
  Unwritable,
  writeAsciiDigits,
  writeBcd,
  writeCharacters,
} from './digits.js';
import { MAC_BYTES, type RetailMac } from './mac.js';

const LAST_FIELD = 128;

/**
 * A message to be sent: its type and the texts of its fields. The object is reused, so that a payment leaves no copy of its card behind.
 */
export class Message {
  type = '';
  /** The highest field that is set. */
  highest = 0;
  readonly #texts: (string | undefined)[] = new Array(LAST_FIELD + 1).fill(undefined);
  #secretField = 0;
  #secret: Uint8Array | undefined;

  /** Digits, characters, or bytes in hexadecimal. */
  set(field: number, text: string): this {
    this.#texts[field] = text;
    if (field > this.highest) this.highest = field;
    return this;
  }

  /** Characters that are wiped with the message. At most one field has them. */
  setCharacters(field: number, characters: Uint8Array): this {
    this.#secretField = field;
    this.#secret = characters;
    return this.set(field, '');
  }

  text(field: number): string | undefined {
    return this.#texts[field];
  }

  /** The characters of a field that will be wiped. */
  characters(field: number): Uint8Array | undefined {
    return field === this.#secretField ? this.#secret : undefined;
  }

  clear(): this {
    this.#secret?.fill(0);
    this.#secret = undefined;
    this.#secretField = 0;
    this.#texts.fill(undefined, 0, this.highest + 1);
    this.type = '';
    this.highest = 0;
    return this;
  }
}

/** The form of a field, parsed from the dialect's notation: content, size, and digits of its length. */
interface Form {
  readonly kind: 'n' | 'an' | 'b';
  /** The exact or the largest number of digits, characters or bytes. */
  readonly most: number;
  /** The digits of the length before the field; 0 if the size is always `most`. */
  readonly lengthDigits: 0 | 2 | 3;
}

const NOTATION = /^(n|an|b)(?:([1-9]\d*)|\.\.([1-9]\d*) (LL|LLL))$/;

function formOf(notation: string): Form {
  const [, kind, fixed, most, length] = NOTATION.exec(notation) ?? [];
  if (kind === undefined) throw new Error(`a dialect has a field of the unknown form ${notation}`);
  const lengthDigits = length === undefined ? 0 : length.length === 2 ? 2 : 3;
  return { kind: kind as Form['kind'], most: Number(fixed ?? most), lengthDigits };
}

/** By field number; undefined if the dialect has no such field. */
export function formsOf({ fields }: Dialect): readonly (Form | undefined)[] {
  const forms: (Form | undefined)[] = new Array(LAST_FIELD + 1).fill(undefined);
  for (const [field, notation] of Object.entries(fields)) forms[Number(field)] = formOf(notation);
  return forms;
}

/** The most bytes that a field can take, with its length. */
function mostBytes({ kind, most, lengthDigits }: Form, { digits, bytes }: Dialect): number {
  const dense = digits === 'bcd';
  const length = dense ? (lengthDigits + 1) >> 1 : lengthDigits;
  switch (kind) {
    case 'an':
      return length + most;
    case 'n':
      return length + (dense ? (most + 1) >> 1 : most);
    case 'b':
      return length + (bytes === 'binary' ? most : 2 * most);
  }
}

/** Why a message is unreadable. Never quotes its contents. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const TYPE_DIGITS = 4;
const BITMAP_BYTES = 8;
const MAC_FIELDS = [64, 128] as const;
const TERTIARY = 65;

export class Codec {
  /** The size of the longest message that the dialect allows. */
  readonly mostBytes: number;
  readonly leastBytes: number;
  readonly #forms: readonly (Form | undefined)[];
  readonly #dense: boolean;
  readonly #binary: boolean;
  readonly #typeBytes: number;
  /** The size of one bitmap on the wire. */
  readonly #bitmapBytes: number;
  readonly #bits = new Uint8Array(2 * BITMAP_BYTES);

  constructor(dialect: Dialect) {
    this.#forms = formsOf(dialect);
    this.#dense = dialect.digits === 'bcd';
    this.#binary = dialect.bytes === 'binary';
    this.#typeBytes = this.#dense ? TYPE_DIGITS / 2 : TYPE_DIGITS;
    this.#bitmapBytes = this.#binary ? BITMAP_BYTES : 2 * BITMAP_BYTES;
    this.leastBytes = this.#typeBytes + this.#bitmapBytes;
    this.mostBytes = this.#forms.reduce(
      (sum, form) => sum + (form === undefined ? 0 : mostBytes(form, dialect)),
      this.leastBytes + this.#bitmapBytes,
    );
  }

  /** A reusable object to read into. */
  received(): Received {
    return new Received(this.#forms, { dense: this.#dense, binary: this.#binary });
  }

  /** Writes the message, with its MAC if there is a key, and returns where it ends. */
  write(message: Message, into: Buffer, at: number, mac?: RetailMac): number {
    const second = message.highest > 64;
    const macField = second ? MAC_FIELDS[1] : MAC_FIELDS[0];
    const bits = this.#bits.fill(0);
    if (second) setBit(bits, 1);
    if (mac !== undefined) setBit(bits, macField);
    let end = at + this.#typeBytes + (second ? 2 : 1) * this.#bitmapBytes;
    for (let field = 2; field <= message.highest; field += 1) {
      const text = message.text(field);
      if (text === undefined) continue;
      const form = this.#forms[field];
      if (form === undefined) throw new Unwritable(`the dialect has no field ${field}`);
      if (mac !== undefined && field === macField) throw new Unwritable('the MAC field must not be set');
      setBit(bits, field);
      const characters = message.characters(field);
      end =
        characters === undefined
          ? this.#writeField(form, field, text, into, end)
          : this.#writeSecret(form, field, characters, into, end);
    }
    this.#writeBitmaps(second, into, at + this.#typeBytes);
    this.#writeDigits(mac === undefined ? message.type : firstOf(message.type), TYPE_DIGITS, into, at);
    if (mac === undefined) return end;
    // A repetition has the MAC of the first message: the MAC is made before the type says that this is a repetition.
    const made = mac.of(into.subarray(at, end));
    this.#writeDigits(message.type, TYPE_DIGITS, into, at);
    if (this.#binary) return end + made.copy(into, end);
    return end + into.write(made.toString('hex').toUpperCase(), end, 'latin1');
  }

  /** Reads all bytes of the range. With a key, a message without the right MAC is unreadable. */
  read(from: Buffer, at: number, end: number, into: Received, mac?: RetailMac): void {
    if (end - at < this.leastBytes) throw new Unreadable('shorter than a message can be');
    into.begin(from, this.#readType(from, at));
    let next = this.#readBitmaps(from, at + this.#typeBytes, end);
    for (let field = 2; field <= LAST_FIELD; field += 1) {
      if (hasBit(this.#bits, field)) next = this.#readField(field, from, next, end, into);
    }
    // guard(ISO 8583: a message is read to its end): if (next !== end) throw new Unreadable('longer than its fields'); ⇒
    if (next !== end) throw new Unreadable('longer than its fields');
    if (mac !== undefined) this.checkMac(from, at, end, into, mac);
  }

  hasMac(received: Received): boolean {
    return MAC_FIELDS.some((field) => received.has(field));
  }

  /** Checks the MAC of the message read from there; it is the last field. */
  checkMac(from: Buffer, at: number, end: number, received: Received, mac: RetailMac): void {
    const field = received.has(MAC_FIELDS[1]) ? MAC_FIELDS[1] : MAC_FIELDS[0];
    const given = Buffer.from(received.text(field) ?? '', 'hex');
    const covered = Buffer.from(from.subarray(at, end - (this.#binary ? MAC_BYTES : 2 * MAC_BYTES)));
    this.#writeDigits(firstOf(received.type), TYPE_DIGITS, covered, 0);
    // guard(ISO 8583: a wrong MAC is unreadable): throw new Unreadable('a wrong MAC') ⇒ return
    if (given.length !== MAC_BYTES || !mac.is(given, covered)) throw new Unreadable('a wrong MAC');
  }

  #writeField(form: Form, field: number, text: string, into: Buffer, at: number): number {
    const { kind, most, lengthDigits } = form;
    const length = kind === 'b' ? text.length >> 1 : text.length;
    if (length > most) throw new Unwritable(`field ${field} is longer than ${most}`);
    let start = at;
    let count = most;
    if (lengthDigits > 0) {
      start = this.#writeDigits(String(length), lengthDigits, into, at);
      count = length;
    }
    if (kind === 'n') return this.#writeDigits(text, count, into, start);
    if (kind === 'an') return writeCharacters(text, count, into, start);
    if (text.length !== 2 * count || !/^[0-9A-F]*$/.test(text))
      throw new Unwritable(`field ${field} wants ${count} bytes in hexadecimal`);
    return start + into.write(text, start, this.#binary ? 'hex' : 'latin1');
  }

  /** Never makes a string of the characters. */
  #writeSecret(form: Form, field: number, characters: Uint8Array, into: Buffer, at: number): number {
    const { kind, most, lengthDigits } = form;
    if (kind !== 'an' || lengthDigits === 0 || characters.length > most)
      throw new Unwritable(`field ${field} cannot hold it`);
    const start = this.#writeDigits(String(characters.length), lengthDigits, into, at);
    into.set(characters, start);
    return start + characters.length;
  }

  #writeDigits(text: string, count: number, into: Buffer, at: number): number {
    return this.#dense ? writeBcd(text, count, into, at) : writeAsciiDigits(text, count, into, at);
  }

  #writeBitmaps(second: boolean, into: Buffer, at: number): void {
    const bytes = (second ? 2 : 1) * BITMAP_BYTES;
    if (this.#binary) {
      for (let place = 0; place < bytes; place += 1) into[at + place] = this.#bits[place] as number;
      return;
    }
    const text = Buffer.from(this.#bits.buffer, this.#bits.byteOffset, bytes).toString('hex').toUpperCase();
    into.write(text, at, 'latin1');
  }

  #readType(from: Buffer, at: number): string {
    if (!this.#areDigits(from, at, TYPE_DIGITS)) throw new Unreadable('no message type');
    return this.#dense ? from.toString('hex', at, at + 2) : from.toString('latin1', at, at + TYPE_DIGITS);
  }

  /** Returns where the fields begin. */
  #readBitmaps(from: Buffer, at: number, end: number): number {
    const bits = this.#bits.fill(0);
    this.#readBitmap(from, at, 0);
    let next = at + this.#bitmapBytes;
    if (hasBit(bits, 1)) {
      if (end - next < this.#bitmapBytes) throw new Unreadable('cut short in its bitmap');
      this.#readBitmap(from, next, BITMAP_BYTES);
      next += this.#bitmapBytes;
      if (hasBit(bits, TERTIARY)) throw new Unreadable('a third bitmap');
    }
    return next;
  }

  #readBitmap(from: Buffer, at: number, place: number): void {
    if (this.#binary) {
      for (let byte = 0; byte < BITMAP_BYTES; byte += 1) this.#bits[place + byte] = from[at + byte] as number;
      return;
    }
    if (!isHexadecimal(from, at, this.#bitmapBytes)) throw new Unreadable('no bitmap');
    this.#bits.set(Buffer.from(from.toString('latin1', at, at + this.#bitmapBytes), 'hex'), place);
  }

  #readField(field: number, from: Buffer, at: number, end: number, into: Received): number {
    const form = this.#forms[field];
    if (form === undefined) throw new Unreadable(`field ${field}, which the dialect does not have`);
    const { kind, most, lengthDigits } = form;
    let start = at;
    let length = most;
    if (lengthDigits > 0) {
      const lengthBytes = this.#dense ? (lengthDigits + 1) >> 1 : lengthDigits;
      start += lengthBytes;
      if (start > end) throw new Unreadable(`cut short in field ${field}`);
      if (!this.#areDigits(from, at, lengthDigits)) throw new Unreadable(`field ${field} has no length`);
      length = this.#dense ? bcdNumber(from, at, lengthBytes) : asciiNumber(from, at, lengthDigits);
      if (length > most) throw new Unreadable(`field ${field} is longer than it can be`);
    }
    const bytes = this.#bytesOf(kind, length);
    if (bytes > end - start) throw new Unreadable(`cut short in field ${field}`);
    if (!this.#isSound(kind, from, start, length))
      throw new Unreadable(`field ${field} holds something else`);
    into.found(field, start, length);
    return start + bytes;
  }

  #bytesOf(kind: Form['kind'], length: number): number {
    if (kind === 'an') return length;
    if (kind === 'n') return this.#dense ? (length + 1) >> 1 : length;
    return this.#binary ? length : 2 * length;
  }

  #isSound(kind: Form['kind'], from: Buffer, at: number, length: number): boolean {
    if (kind === 'n') return this.#areDigits(from, at, length);
    if (kind === 'an') return isCharacters(from, at, length);
    return this.#binary || isHexadecimal(from, at, 2 * length);
  }

  #areDigits(from: Buffer, at: number, count: number): boolean {
    return this.#dense ? isBcd(from, at, count) : isAsciiDigits(from, at, count);
  }
}

/** The type of the first message if this one is a repetition; otherwise its own type. */
function firstOf(type: string): string {
  const origin = Number(type[3]);
  return origin % 2 === 1 ? `${type.slice(0, 3)}${origin - 1}` : type;
}

function setBit(bits: Uint8Array, field: number): void {
  const place = (field - 1) >> 3;
  bits[place] = (bits[place] as number) | (0x80 >> ((field - 1) & 7));
}

function hasBit(bits: Uint8Array, field: number): boolean {
  return ((bits[(field - 1) >> 3] as number) & (0x80 >> ((field - 1) & 7))) !== 0;
}

const NOTHING = Buffer.alloc(0);

/** A readable message that was received: its type and the positions of its fields. Strings are made only on request. */
export class Received {
  type = '';
  #from: Buffer = NOTHING;
  readonly #starts = new Int32Array(LAST_FIELD + 1);
  /** In digits, characters or bytes; -1 if the field is absent. */
  readonly #lengths = new Int32Array(LAST_FIELD + 1).fill(-1);

  constructor(
    private readonly forms: readonly (Form | undefined)[],
    private readonly encodings: { readonly dense: boolean; readonly binary: boolean },
  ) {}

  has(field: number): boolean {
    return (this.#lengths[field] as number) >= 0;
  }

  /** Digits, characters, or bytes in hexadecimal, without padding spaces. */
  text(field: number): string | undefined {
    const length = this.#lengths[field] as number;
    const form = this.forms[field];
    if (length < 0 || form === undefined) return undefined;
    const start = this.#starts[field] as number;
    switch (form.kind) {
      case 'n': {
        if (!this.encodings.dense) return this.#from.toString('latin1', start, start + length);
        const digits = this.#from.toString('hex', start, start + ((length + 1) >> 1));
        return length % 2 === 0 ? digits : digits.slice(1);
      }
      case 'an': {
        const characters = this.#from.toString('latin1', start, start + length);
        return form.lengthDigits === 0 ? withoutFilling(characters) : characters;
      }
      case 'b':
        return this.encodings.binary
          ? this.#from.toString('hex', start, start + length).toUpperCase()
          : this.#from.toString('latin1', start, start + 2 * length);
    }
  }

  /** The fields that are present. */
  get fields(): number[] {
    return [...this.#lengths.keys()].filter((field) => this.has(field));
  }

  begin(from: Buffer, type: string): void {
    this.#from = from;
    this.type = type;
    this.#lengths.fill(-1);
  }

  found(field: number, start: number, length: number): void {
    this.#starts[field] = start;
    this.#lengths[field] = length;
  }

  /** Releases the bytes, which may contain a card number. */
  clear(): void {
    this.begin(NOTHING, '');
  }
}

function withoutFilling(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 32) end -= 1;
  return end === text.length ? text : text.slice(0, end);
}
