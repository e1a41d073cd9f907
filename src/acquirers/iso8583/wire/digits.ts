// Writes and checks digits and bytes in a message: one or two digits per byte, bytes as they are or in hexadecimal.

const ZERO = 48;
const SPACE = 32;
const TILDE = 126;

/** A text does not fit its field. The message leaves out the text, which may be a card number. */
export class Unwritable extends Error {
  override readonly name = 'Unwritable';
}

function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - ZERO;
  if (!(digit >= 0 && digit <= 9)) throw new Unwritable('a digit field contains something else');
  return digit;
}

/** Two digits per byte, padded with zeros on the left. Returns where it ends. */
export function writeBcd(text: string, count: number, into: Buffer, at: number): number {
  if (text.length > count) throw new Unwritable('more digits than there is room for');
  const end = at + ((count + 1) >> 1);
  let next = text.length - 1;
  for (let place = end - 1; place >= at; place -= 1) {
    const low = next >= 0 ? digitAt(text, next) : 0;
    const high = next >= 1 ? digitAt(text, next - 1) : 0;
    into[place] = (high << 4) | low;
    next -= 2;
  }
  return end;
}

/** One digit per byte, padded with zeros on the left. */
export function writeAsciiDigits(text: string, count: number, into: Buffer, at: number): number {
  if (text.length > count) throw new Unwritable('more digits than there is room for');
  const end = at + count;
  let next = text.length - 1;
  for (let place = end - 1; place >= at; place -= 1) {
    into[place] = ZERO + (next >= 0 ? digitAt(text, next) : 0);
    next -= 1;
  }
  return end;
}

/** Padded with spaces on the right. */
export function writeCharacters(text: string, count: number, into: Buffer, at: number): number {
  for (let place = 0; place < count; place += 1) {
    const code = place < text.length ? text.charCodeAt(place) : SPACE;
    if (code < SPACE || code > TILDE) throw new Unwritable('a character field contains something else');
    into[at + place] = code;
  }
  return at + count;
}

/** Whether these bytes hold two digits each. An odd number of digits starts with a 0. */
export function isBcd(from: Buffer, at: number, count: number): boolean {
  const end = at + ((count + 1) >> 1);
  for (let place = at; place < end; place += 1) {
    const byte = from[place] as number;
    if (byte > 0x99 || (byte & 0x0f) > 9) return false;
  }
  return count % 2 === 0 || (from[at] as number) <= 0x09;
}

export function isAsciiDigits(from: Buffer, at: number, count: number): boolean {
  for (let place = at; place < at + count; place += 1) {
    const byte = from[place] as number;
    if (byte < ZERO || byte > ZERO + 9) return false;
  }
  return true;
}

export function isCharacters(from: Buffer, at: number, count: number): boolean {
  for (let place = at; place < at + count; place += 1) {
    const byte = from[place] as number;
    if (byte < SPACE || byte > TILDE) return false;
  }
  return true;
}

/** Upper case only: a message can be written in one way only. */
export function isHexadecimal(from: Buffer, at: number, count: number): boolean {
  for (let place = at; place < at + count; place += 1) {
    const byte = from[place] as number;
    const known = (byte >= ZERO && byte <= ZERO + 9) || (byte >= 65 && byte <= 70);
    if (!known) return false;
  }
  return true;
}

export function bcdNumber(from: Buffer, at: number, bytes: number): number {
  let value = 0;
  for (let place = at; place < at + bytes; place += 1) {
    const byte = from[place] as number;
    value = value * 100 + (byte >> 4) * 10 + (byte & 0x0f);
  }
  return value;
}

export function asciiNumber(from: Buffer, at: number, count: number): number {
  let value = 0;
  for (let place = at; place < at + count; place += 1) value = value * 10 + ((from[place] as number) - ZERO);
  return value;
}
