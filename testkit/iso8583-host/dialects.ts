// How the host spells its messages: the table of fields, and the two dialects that differ in encoding, framing and reversals.
// Written from the description of the wire alone. Nothing here is shared with the gateway's link.

/** `n` digits, `an` text, `b` bytes; of a fixed length, or up to one with its length before it in two or three digits. */
export interface FieldForm {
  readonly kind: 'n' | 'an' | 'b';
  readonly length: number;
  /** Of the length that stands before it; 0 where it is fixed. */
  readonly lengthDigits: 0 | 2 | 3;
}

export interface Dialect {
  readonly name: string;
  /** Before each message: its length in two bytes, or in four digits. */
  readonly frame: 'two bytes' | 'four digits';
  /** MTI, lengths and digits. */
  readonly digits: 'bcd' | 'ascii';
  /** Bitmaps and fields of bytes. */
  readonly bytes: 'binary' | 'hex';
  /** What reverses: 0420 is answered with 0430, 0400 with 0410. */
  readonly reversal: '0420' | '0400';
  readonly fields: ReadonlyMap<number, FieldForm>;
}

const FIELDS: Readonly<Record<number, string>> = {
  2: 'n..19 LL',
  3: 'n6',
  4: 'n12',
  7: 'n10',
  11: 'n6',
  12: 'n6',
  13: 'n4',
  14: 'n4',
  15: 'n4',
  18: 'n4',
  22: 'n3',
  23: 'n3',
  25: 'n2',
  32: 'n..11 LL',
  33: 'n..11 LL',
  37: 'an12',
  38: 'an6',
  39: 'an2',
  41: 'an8',
  42: 'an15',
  43: 'an40',
  44: 'an..25 LL',
  47: 'an..999 LLL',
  48: 'an..999 LLL',
  49: 'n3',
  53: 'n16',
  54: 'an..999 LLL',
  55: 'b..999 LLL',
  57: 'n12',
  60: 'an..999 LLL',
  64: 'b8',
  66: 'n1',
  70: 'n3',
  90: 'n42',
  95: 'an42',
  100: 'n..11 LL',
  128: 'b8',
};

function formOf(text: string): FieldForm {
  const [, kind, length, prefix = ''] = /^(n|an|b)(?:\.\.)?(\d+)(?: (LL|LLL))?$/.exec(text) ?? [];
  if (kind === undefined) throw new Error(`${text} is no form of a field`);
  return {
    kind: kind as FieldForm['kind'],
    length: Number(length),
    lengthDigits: prefix.length as FieldForm['lengthDigits'],
  };
}

const fields = new Map(Object.entries(FIELDS).map(([number, text]) => [Number(number), formOf(text)]));

export const AS2805: Dialect = {
  name: 'as2805',
  frame: 'two bytes',
  digits: 'bcd',
  bytes: 'binary',
  reversal: '0420',
  fields,
};

export const ASCII87: Dialect = {
  name: 'ascii87',
  frame: 'four digits',
  digits: 'ascii',
  bytes: 'hex',
  reversal: '0400',
  fields,
};

export function dialectNamed(name: string): Dialect {
  const dialect = [AS2805, ASCII87].find((one) => one.name === name);
  if (dialect === undefined) throw new Error(`there is no dialect ${name}: as2805 or ascii87`);
  return dialect;
}
