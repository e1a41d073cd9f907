// Reads and writes DER, and reads of BER the indefinite lengths that signatures of Apple have. Strict and bounded: strangers write it.

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** With its tag and its length. */
  readonly whole: Buffer;
}

export const TAG = {
  integer: 0x02,
  octets: 0x04,
  nothing: 0x05,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** `[0]` to `[3]` of what holds them. */
  zeroth: 0xa0,
  first: 0xa1,
  third: 0xa3,
} as const;

export class NotDer extends Error {
  override readonly name = 'NotDer';
}

/** How lengths are written: `BER` allows elements that end where their end is marked. */
type Lengths = 'DER' | 'BER';

const CONSTRUCTED = 0x20;
const SEVERAL_BYTES = 0x1f;
const INDEFINITE = 0x80;
const END_MARK_BYTES = 2;
const MOST_LENGTH_BYTES = 3;
const DEEPEST = 8;
const MOST_ELEMENTS = 64;

/** The elements that follow each other in these bytes, to their end. */
export function elementsOf(bytes: Buffer, lengths: Lengths = 'DER'): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (found.length === MOST_ELEMENTS) throw new NotDer('too many elements');
    const element = elementAt(bytes, at, lengths, 0);
    found.push(element);
    at += element.whole.length;
  }
  return found;
}

/** What these bytes are, and nothing after it. */
export function onlyElementOf(bytes: Buffer, tag: number, lengths: Lengths = 'DER'): Element {
  const [only, ...rest] = elementsOf(bytes, lengths);
  if (only === undefined || only.tag !== tag || rest.length > 0) throw new NotDer('not the one element');
  return only;
}

function elementAt(bytes: Buffer, start: number, lengths: Lengths, depth: number): Element {
  const tag = byteAt(bytes, start);
  if ((tag & SEVERAL_BYTES) === SEVERAL_BYTES) throw new NotDer('a tag of several bytes');
  if (tag === 0) throw new NotDer('a mark of an end where nothing ends');
  if (byteAt(bytes, start + 1) === INDEFINITE) return indefiniteAt(bytes, start, lengths, depth);
  const { from, length } = lengthAt(bytes, start + 1);
  const end = from + length;
  if (end > bytes.length) throw new NotDer('an element goes on behind the end');
  return { tag, content: bytes.subarray(from, end), whole: bytes.subarray(start, end) };
}

function indefiniteAt(bytes: Buffer, start: number, lengths: Lengths, depth: number): Element {
  const tag = byteAt(bytes, start);
  if (lengths === 'DER' || (tag & CONSTRUCTED) === 0 || depth === DEEPEST)
    throw new NotDer('an indefinite length');
  const from = start + END_MARK_BYTES;
  let at = from;
  for (let count = 0; !(byteAt(bytes, at) === 0 && byteAt(bytes, at + 1) === 0); count += 1) {
    if (count === MOST_ELEMENTS) throw new NotDer('too many elements');
    at += elementAt(bytes, at, lengths, depth + 1).whole.length;
  }
  return {
    tag,
    content: bytes.subarray(from, at),
    whole: bytes.subarray(start, at + END_MARK_BYTES),
  };
}

/** In as few bytes as it takes: there is one way only to write each length. */
function lengthAt(bytes: Buffer, at: number): { readonly from: number; readonly length: number } {
  const first = byteAt(bytes, at);
  if (first < INDEFINITE) return { from: at + 1, length: first };
  const count = first - INDEFINITE;
  if (count > MOST_LENGTH_BYTES || at + 1 + count > bytes.length) throw new NotDer('an endless length');
  const length = bytes.readUIntBE(at + 1, count);
  if (length < INDEFINITE || length < 2 ** (8 * (count - 1))) throw new NotDer('a length with room to spare');
  return { from: at + 1 + count, length };
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new NotDer('it ends too soon');
  return byte;
}

const ARC_BITS = 7;
const MORE_FOLLOWS = 0x80;

/** An object identifier as it stands in DER, without its tag and its length. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...arcs] = dotted.split('.').map(Number);
  return Buffer.from([first * 40 + second, ...arcs].flatMap(arcBytes));
}

function arcBytes(arc: number): number[] {
  const bytes = [arc % MORE_FOLLOWS];
  for (let rest = arc >>> ARC_BITS; rest > 0; rest >>>= ARC_BITS) {
    bytes.unshift((rest % MORE_FOLLOWS) + MORE_FOLLOWS);
  }
  return bytes;
}

/** UTCTime or GeneralizedTime, in UTC to the second as RFC 5652 wants it; in milliseconds. */
export function timeOf({ tag, content }: Element): number {
  const written = content.toString('latin1');
  const text = tag === TAG.utcTime ? `${Number(written.slice(0, 2)) < 50 ? '20' : '19'}${written}` : written;
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text)?.slice(1);
  if ((tag !== TAG.utcTime && tag !== TAG.generalizedTime) || parts === undefined)
    throw new NotDer('not a time');
  const [year, month, day, hour, minute, second] = parts;
  const timeMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(timeMs)) throw new NotDer('not a time');
  return timeMs;
}

/** An element of these parts. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const lengthBytes =
    length < INDEFINITE ? [length] : length <= 0xff ? [0x81, length] : [0x82, length >>> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}
