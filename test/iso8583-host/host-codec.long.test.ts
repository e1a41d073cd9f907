// The codec of the test host, held against bytes that others have made: by hand from the table, and by pyiso8583.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Message, message, pack, read, Unreadable } from '../../testkit/iso8583-host/codec.js';
import { AS2805, ASCII87, dialectNamed } from '../../testkit/iso8583-host/dialects.js';
import { FrameReader, framed } from '../../testkit/iso8583-host/framing.js';

interface Case {
  readonly dialect: string;
  readonly mti: string;
  readonly fields: Readonly<Record<number, string>>;
  readonly hex: string;
}

const CORPUS = readFileSync(new URL('pyiso8583-corpus.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);

/** So that every byte of them can be tried. */
const SHORT = CORPUS.filter(({ hex }) => hex.length <= 400);

const inHex = (bytes: Buffer) => bytes.toString('hex');
const fieldsOf = ({ fields }: Message) => Object.fromEntries(fields);

describe('pyiso8583', () => {
  test.each(['as2805', 'ascii87'])(
    'every message of the corpus in %s is packed to the same bytes',
    (name) => {
      const cases = CORPUS.filter(({ dialect }) => dialect === name);
      expect(cases.length).toBeGreaterThan(70);
      for (const { mti, fields, hex } of cases) {
        expect(inHex(pack(dialectNamed(name), message(mti, fields)))).toBe(hex);
      }
    },
  );

  test('every message of the corpus is read back', () => {
    for (const { dialect, mti, fields, hex } of CORPUS) {
      const one = read(dialectNamed(dialect), Buffer.from(hex, 'hex'));
      expect({ mti: one.mti, fields: fieldsOf(one) }).toEqual({ mti, fields });
    }
  });

  /** Undefined where it is unreadable. */
  const readIfPossible = (name: string, bytes: Buffer): Message | undefined => {
    try {
      return read(dialectNamed(name), bytes);
    } catch (error) {
      if (error instanceof Unreadable) return undefined;
      throw error;
    }
  };

  test('every short message of the corpus, cut short or with an extra byte, is unreadable', () => {
    const readable: string[] = [];
    for (const { dialect, hex } of SHORT) {
      const whole = Buffer.from(hex, 'hex');
      const cut = Array.from(whole, (_, length) => whole.subarray(0, length));
      for (const bent of [...cut, Buffer.concat([whole, Buffer.from('0')])]) {
        if (readIfPossible(dialect, bent) !== undefined) readable.push(inHex(bent));
      }
    }
    expect(SHORT.length).toBeGreaterThan(80);
    expect(readable).toEqual([]);
  });

  test('a readable message is packed to the bytes it was read from, whichever bit was changed', () => {
    let readable = 0;
    const different: string[] = [];
    for (const { dialect, hex } of SHORT) {
      const whole = Buffer.from(hex, 'hex');
      for (let bit = 0; bit < whole.length * 8; bit += 1) {
        const changed = Buffer.from(whole);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7));
        const one = readIfPossible(dialect, changed);
        if (one === undefined) continue;
        readable += 1;
        if (!pack(dialectNamed(dialect), one).equals(changed)) different.push(inHex(changed));
      }
    }
    expect(different).toEqual([]);
    expect(readable).toBeGreaterThan(1_000);
  });
});

describe('expected bytes worked out from the table', () => {
  test('as2805: digits in BCD with zeros on the left, lengths in BCD, texts in ASCII, the bitmap in bytes', () => {
    // 0210, fields 2 (15 digits), 22 (three digits), 39 and 44 (three characters).
    const hex = ['0210', '4000040002100000', '15', '0378282246310005', '0012', '3035', '03', '414243'];
    const answer = message('0210', { 2: '378282246310005', 22: '012', 39: '05', 44: 'ABC' });
    expect(inHex(pack(AS2805, answer))).toBe(hex.join(''));
  });

  test('as2805: a field past 64 adds the second bitmap, a text is padded with spaces', () => {
    // 0800, fields 41 and 70.
    const hex = ['0800', '8000000000800000', '0400000000000000', '5431202020202020', '0301'];
    expect(inHex(pack(AS2805, message('0800', { 41: 'T1', 70: '301' })))).toBe(hex.join(''));
  });

  test('ascii87: everything in characters, bitmap and bytes as hexadecimal digits', () => {
    const text = '0210' + '4000000002000001' + '15' + '378282246310005' + '05' + '0123456789ABCDEF';
    const answer = message('0210', { 2: '378282246310005', 39: '05', 64: '0123456789ABCDEF' });
    expect(pack(ASCII87, answer).toString('latin1')).toBe(text);
  });

  test('ascii87: the length before bytes counts bytes', () => {
    expect(pack(ASCII87, message('0210', { 55: '9F0201' })).toString('latin1')).toBe(
      '0210' + '0000000000000200' + '003' + '9F0201',
    );
  });

  test.each([
    ['a field that nobody knows', '0210' + '0800000002000000' + '3035'],
    ['a padding that is not zero', '0210' + '0000040000000000' + '1012'],
    ['a digit that is none', '0210' + '0000040000000000' + '00a2'],
    ['a length past the longest', '0210' + '4000000000000000' + '20' + '41111111111111111111'],
    ['a character that is none', '0210' + '0000000002000000' + '3007'],
  ])('%s → unreadable', (_what, hex) => {
    expect(() => read(AS2805, Buffer.from(hex, 'hex'))).toThrow(Unreadable);
  });
});

describe('framing', () => {
  const body = pack(AS2805, message('0800', { 11: '000001', 70: '301' }));

  test.each([AS2805, ASCII87])('$name: messages are recognised, however they are cut', (dialect) => {
    const stream = Buffer.concat([body, body, body].map((one) => framed(dialect, one)));
    for (let size = 1; size <= stream.length; size += 1) {
      const reader = new FrameReader(dialect);
      const found: Buffer[] = [];
      for (let at = 0; at < stream.length; at += size) {
        found.push(...reader.take(stream.subarray(at, at + size)));
      }
      expect(found.map(inHex)).toEqual([body, body, body].map(inHex));
    }
  });

  test('two bytes, or four digits, that do not include themselves', () => {
    const long = Buffer.alloc(300, 0x41);
    expect(inHex(framed(AS2805, long).subarray(0, 3))).toBe('012c41');
    expect(framed(ASCII87, long).toString('latin1', 0, 5)).toBe('0300A');
  });

  test.each([
    [AS2805, Buffer.from('0003', 'hex')],
    [ASCII87, Buffer.from('01x4')],
    [ASCII87, Buffer.from('0010')],
  ])('an impossible length → unreadable', (dialect, prefix) => {
    expect(() => [...new FrameReader(dialect).take(prefix)]).toThrow(Unreadable);
  });
});
