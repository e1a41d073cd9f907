// The codec: byte for byte as others write, read back as it was written, and nothing bent is ever taken for something else.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/dialects/ascii87.js';
import { dialectOf } from '../../../src/acquirers/iso8583/dialects/dialects.js';
import { Codec, Message, Unreadable } from '../../../src/acquirers/iso8583/wire/codec.js';
import { Unwritable } from '../../../src/acquirers/iso8583/wire/digits.js';
import { RetailMac } from '../../../src/acquirers/iso8583/wire/mac.js';
import { CORPUS, MAC_KEY } from './corpus.js';
import { type AnyMessage, anyMessage } from './messages-by-chance.js';

const MAC = new RetailMac(Buffer.from(MAC_KEY, 'hex'));
const ROOM = 20_000;
/** The same messages each time. Others by `TOLLGATE_TEST_SEED`, and more of them by `TOLLGATE_TEST_TIMES`. */
const seed = Number(process.env.TOLLGATE_TEST_SEED ?? 8583);
const runs = (count: number) => ({
  seed,
  numRuns: count * Number(process.env.TOLLGATE_TEST_TIMES ?? 1),
});
/** What a byte can be changed by: to every other value. */
const FLIPS = Array.from({ length: 255 }, (_, flip) => flip + 1);
/** Answers as hosts give them: the shortest that says anything, and one with all that is usual. */
const DECLINED = new Map([
  [11, '000017'],
  [39, '51'],
  [41, 'TERM0001'],
]);
const DECLINED_AT_LENGTH = new Map([
  [3, '000000'],
  [4, '000000001995'],
  [7, '1116020549'],
  ...DECLINED,
  [15, '1117'],
  [32, '560279'],
  [37, '632102000017'],
  [38, '000000'],
  [42, 'MERCHANT0000001'],
  [44, '00'],
  [48, '0000000000'],
  [49, '036'],
]);

function packed(codec: Codec, { type, fields }: AnyMessage, mac?: RetailMac): Buffer {
  const message = new Message();
  message.type = type;
  for (const [field, text] of fields) message.set(field, text);
  const into = Buffer.alloc(ROOM, 0xff);
  return into.subarray(0, codec.write(message, into, 0, mac));
}

function read(codec: Codec, bytes: Buffer, mac?: RetailMac): AnyMessage {
  const received = codec.received();
  codec.read(bytes, 0, bytes.length, received, mac);
  const fields = received.fields.map((field) => [field, received.text(field) ?? ''] as const);
  return { type: received.type, fields: new Map(fields) };
}

/** What it says, or that it is unreadable; anything else that is thrown is a failure. */
function readOrRefused(codec: Codec, bytes: Buffer, mac?: RetailMac): AnyMessage | undefined {
  const { stackTraceLimit } = Error;
  // Where hundreds of thousands of refusals come from is of no interest, and would take longer to find out than to read.
  Error.stackTraceLimit = 0;
  try {
    return read(codec, bytes, mac);
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** As it is read: numbers of a fixed length with their zeros. */
function asRead({ type, fields }: (typeof CORPUS)[number], codec: Codec): AnyMessage {
  return read(codec, packed(codec, { type, fields: numbered(fields) }));
}

function numbered(fields: Readonly<Record<string, string>>): Map<number, string> {
  return new Map(Object.entries(fields).map(([field, text]) => [Number(field), text]));
}

describe.each(['as2805', 'ascii87'])('%s', (name) => {
  const dialect = name === 'as2805' ? AS2805 : ASCII87;
  const codec = new Codec(dialect);
  const messages = CORPUS.filter((each) => each.dialect === name);

  test('is known by its name', () => {
    expect(dialectOf(name)).toBe(dialect);
  });

  test('every message of the corpus → packed to the bytes that pyiso8583 writes', () => {
    expect(messages.length).toBeGreaterThan(20);
    for (const { type, fields, mac, hex } of messages) {
      expect(packed(codec, { type, fields: numbered(fields) }, mac ? MAC : undefined).toString('hex')).toBe(
        hex,
      );
    }
  });

  test('every message of the corpus → read from the bytes of pyiso8583, and its MAC is right', () => {
    for (const message of messages) {
      const found = read(codec, Buffer.from(message.hex, 'hex'), message.mac ? MAC : undefined);
      const withoutMac = new Map([...found.fields].filter(([field]) => field !== 64 && field !== 128));
      expect({ type: found.type, fields: withoutMac }).toEqual(asRead(message, codec));
    }
  });

  test('any packed message → is read back', () => {
    fc.assert(
      fc.property(anyMessage(dialect), (message) => {
        expect(read(codec, packed(codec, message))).toEqual(message);
      }),
      runs(60),
    );
  });

  // catches(ISO 8583: a wrong MAC is unreadable)
  test('any message packed with a MAC → is read back with the key, and unreadable with another key', () => {
    const other = new RetailMac(Buffer.from('FEDCBA98765432100123456789ABCDEF', 'hex'));
    fc.assert(
      fc.property(anyMessage(dialect), (message) => {
        const bytes = packed(codec, message, MAC);
        const { type, fields } = read(codec, bytes, MAC);
        expect(type).toBe(message.type);
        expect(fields.size).toBe(message.fields.size + 1);
        for (const [field, text] of message.fields) expect(fields.get(field)).toBe(text);
        expect(readOrRefused(codec, bytes, other)).toBeUndefined();
        expect(readOrRefused(codec, packed(codec, message), MAC)).toBeUndefined();
      }),
      runs(40),
    );
  });

  // catches(ISO 8583: a message is read to its end)
  test('cut short anywhere, or followed by extra bytes → unreadable', () => {
    fc.assert(
      fc.property(anyMessage(dialect), fc.boolean(), (message, withMac) => {
        const mac = withMac ? MAC : undefined;
        const bytes = packed(codec, message, mac);
        const lengths = [...bytes.keys()];
        expect(lengths.filter((length) => readOrRefused(codec, bytes.subarray(0, length), mac))).toEqual([]);
        expect(readOrRefused(codec, Buffer.concat([bytes, Buffer.from('0')]), mac)).toBeUndefined();
      }),
      runs(10),
    );
  });

  // catches(ISO 8583: a wrong MAC is unreadable)
  test('any byte changed in a message with a MAC → unreadable', () => {
    fc.assert(
      fc.property(anyMessage(dialect), fc.integer({ min: 1, max: 255 }), (message, flip) => {
        const bytes = packed(codec, message, MAC);
        for (let place = 0; place < bytes.length; place += 1) {
          const bent = Buffer.from(bytes);
          bent[place] = (bent[place] as number) ^ flip;
          const found = readOrRefused(codec, bent, MAC);
          // A repeated message has the MAC of the first, by rule: that one digit is not covered.
          if (found === undefined) continue;
          expect(found.type.slice(0, 3)).toBe(message.type.slice(0, 3));
          expect(found.fields).toEqual(read(codec, bytes, MAC).fields);
        }
      }),
      runs(6),
    );
  });

  test.each([
    ['a short', DECLINED],
    ['a long', DECLINED_AT_LENGTH],
    // catches(ISO 8583: a wrong MAC is unreadable)
  ])('each byte of %s answer with a MAC, changed to any other value → unreadable', (_, fields) => {
    const bytes = packed(codec, { type: '0210', fields }, MAC);
    const bent = Buffer.from(bytes);
    const read = new Set<string>();
    for (const [place, byte] of bytes.entries()) {
      for (const flip of FLIPS) {
        bent[place] = byte ^ flip;
        const found = readOrRefused(codec, bent, MAC);
        if (found !== undefined) read.add(found.type);
      }
      bent[place] = byte;
    }
    // By rule the MAC of a repeated message is that of the first. No such type is waited for.
    expect([...read]).toEqual(['0211']);
  });

  /**
   * Without a MAC a changed byte can be another code, STAN or terminal that the host might have sent as well: nobody can tell. What
   * is claimed is that nothing else of it matters: no other byte makes an approval of a decline.
   */
  function expectNoApprovalWhateverByteIsChanged(fields: ReadonlyMap<number, string>): void {
    const approvals = new Set<string | undefined>(dialect.responseCodes.approvals);
    const bytes = packed(codec, { type: '0210', fields });
    const withOtherCode = packed(codec, { type: '0210', fields: new Map([...fields, [39, '62']]) });
    const bent = Buffer.from(bytes);
    for (const [place, byte] of bytes.entries()) {
      const isOfCode = byte !== withOtherCode[place];
      if (isOfCode) continue;
      for (const flip of FLIPS) {
        bent[place] = byte ^ flip;
        const found = readOrRefused(codec, bent);
        if (found === undefined) continue;
        if (!packed(codec, found).equals(bent)) expect.fail(`byte ${place}: read as something else`);
        const sameAnswer =
          found.type === '0210' && found.fields.get(11) === '000017' && found.fields.get(41) === 'TERM0001';
        if (sameAnswer && approvals.has(found.fields.get(39))) expect.fail(`byte ${place}: approved`);
      }
      bent[place] = byte;
    }
  }

  test('any byte of a decline without a MAC changed → unreadable, or read as it now stands; only another code approves', () => {
    expectNoApprovalWhateverByteIsChanged(DECLINED);
    expectNoApprovalWhateverByteIsChanged(DECLINED_AT_LENGTH);
    const decline = anyMessage(dialect, 4).map(({ fields }) => new Map([...fields, ...DECLINED]));
    fc.assert(fc.property(decline, expectNoApprovalWhateverByteIsChanged), runs(2));
  });

  test('any bytes → unreadable, or a message that packs to the same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const found = readOrRefused(codec, Buffer.from(bytes));
        if (found !== undefined) expect(packed(codec, found).equals(Buffer.from(bytes))).toBe(true);
      }),
      runs(1_000),
    );
  });
});

describe('as2805', () => {
  const codec = new Codec(AS2805);
  const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

  test.each([
    ['a field that the dialect does not have', '0210 0000000000000800 31'],
    ['a third bitmap', '0210 8000000000000000 8000000000000000'],
    ['a digit that is none', '0210 0020000000000000 00001a'],
    ['more than an odd number of digits', '0210 0000040000000000 1012'],
    ['a length beyond the field', '0210 4000000000000000 20 12345678901234567890'],
    ['a length that is not a number', '0210 4000000000000000 1a 1234567890123456'],
    ['a character that cannot be printed', '0210 0000000002000000 3007'],
    ['a type that is none', '02f0 0000000000000000'],
  ])('%s → unreadable', (_, bytes) => {
    expect(() => read(codec, hex(bytes))).toThrow(Unreadable);
  });

  test('a repeated message → has the MAC of the first', () => {
    const fields = new Map([
      [11, '000017'],
      [41, 'TERM0001'],
    ]);
    const [first, repeated] = ['0420', '0421'].map((type) => packed(codec, { type, fields }, MAC)) as [
      Buffer,
      Buffer,
    ];
    expect(repeated.subarray(-8)).toEqual(first.subarray(-8));
    expect(read(codec, repeated, MAC).type).toBe('0421');
  });

  test.each([
    ['too long', 4, '1234567890123'],
    ['no digits', 11, '12a'],
    ['no characters', 41, 'TERMÉ'],
    ['a field that it does not have', 52, '00'],
    ['too few bytes', 64, '0011'],
  ])('a value that does not fit (%s) → refused, and not repeated in the error', (_, field, text) => {
    const write = () => packed(codec, { type: '0200', fields: new Map([[field, text]]) });
    expect(write).toThrow(Unwritable);
    expect(write).not.toThrow(text);
  });
});

test('the check value of a MAC key → as triple DES computes it', () => {
  expect(MAC.checkValue).toBe('08D7B4');
});
