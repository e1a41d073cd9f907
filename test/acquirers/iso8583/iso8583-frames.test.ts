// Framing: messages come out whole, however the bytes arrive, and an impossible length ends it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Unreadable } from '../../../src/acquirers/iso8583/wire/codec.js';
import { Frames, headerBytes, writeHeader } from '../../../src/acquirers/iso8583/wire/frames.js';

const BOUNDS = { leastBytes: 3, mostBytes: 300 };

describe.each(['two bytes', 'four digits'] as const)('a length of %s', (frame) => {
  function framed(content: Uint8Array): Buffer {
    const header = Buffer.alloc(headerBytes({ frame }));
    writeHeader({ frame }, content.length, header);
    return Buffer.concat([header, content]);
  }

  function collected(pieces: readonly Buffer[]): Buffer[] {
    const messages: Buffer[] = [];
    const frames = new Frames({ frame }, BOUNDS, (bytes, at, end) => {
      messages.push(Buffer.from(bytes.subarray(at, end)));
    });
    for (const piece of pieces) frames.push(Buffer.from(piece));
    return messages;
  }

  test('messages cut into any pieces → each arrives whole, in order', () => {
    const content = fc.uint8Array({ minLength: BOUNDS.leastBytes, maxLength: 40 });
    const cuts = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.array(content, { maxLength: 8 }), cuts, (contents, lengths) => {
        const all = Buffer.concat(contents.map(framed));
        const pieces: Buffer[] = [];
        let at = 0;
        for (const length of lengths) {
          pieces.push(all.subarray(at, at + length));
          at += length;
        }
        pieces.push(all.subarray(Math.min(at, all.length)));
        expect(collected(pieces).map((each) => each.toString('hex'))).toEqual(
          contents.map((each) => Buffer.from(each).toString('hex')),
        );
      }),
    );
  });

  test.each([0, 2, 301])(
    'an impossible length of %d → unreadable, after the messages before it',
    (length) => {
      const header = Buffer.alloc(headerBytes({ frame }));
      writeHeader({ frame }, length, header);
      const messages: string[] = [];
      const frames = new Frames({ frame }, BOUNDS, (bytes, at, end) => {
        messages.push(bytes.toString('latin1', at, end));
      });
      expect(() => frames.push(Buffer.concat([framed(Buffer.from('first')), header]))).toThrow(Unreadable);
      expect(messages).toEqual(['first']);
    },
  );

  test('pushed bytes → wiped, since they may contain a card number', () => {
    const piece = Buffer.concat([
      framed(Buffer.from('4111111111111111')),
      framed(Buffer.from('4111')).subarray(0, 5),
    ]);
    const frames = new Frames({ frame }, BOUNDS, () => {});
    frames.push(piece);
    expect(piece.every((byte) => byte === 0)).toBe(true);
  });
});

test('a four-digit length with characters other than digits → unreadable', () => {
  const frames = new Frames({ frame: 'four digits' }, BOUNDS, () => {});
  expect(() => frames.push(Buffer.from('00x4abcd'))).toThrow(Unreadable);
});
