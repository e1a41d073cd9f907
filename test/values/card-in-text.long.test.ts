// Card numbers where none belong: found in every spelling, and IDs that only look like one left alone.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CARD_SEPARATORS, cardTypeOf, containsCardNumber, luhnValid } from '../../src/values/card.js';
import { Chance } from '../../testkit/chance.js';
import { expectEach } from '../../testkit/each-case.js';
import { SCHEME_CARDS } from '../../testkit/test-cards.js';

/** The groups in which card numbers are printed and typed, and others in which somebody may write them. */
const GROUPINGS: readonly (readonly number[])[] = [
  ...[1, 2, 3, 4].map((last) => [4, 4, 4, last]),
  ...[1, 2, 3].map((last) => [4, 4, 4, 4, last]),
  [4, 6, 5],
  [4, 6, 4],
  [4, 3, 3, 3],
  [6, 13],
  [8, 8],
  [6, 10],
  [12, 4],
  [5, 5, 6],
  [3, 3, 3, 3, 3, 1],
  [3, 4, 4, 5],
  [4, 8, 4],
  [2, 2, 2, 2, 2, 2, 2, 2],
  [2, 2, 2, 2, 2, 2, 2, 1],
  Array.from({ length: 16 }, () => 1),
  Array.from({ length: 15 }, () => 1),
];

/** The same rule without any cleverness: every stretch of the text is looked at. */
function containsCardNumberByTrying(text: string): boolean {
  const isDigit = (character: string | undefined) => character !== undefined && /^[0-9]$/.test(character);
  for (let from = 0; from < text.length; from++) {
    if (isDigit(text[from - 1])) continue;
    for (let end = from + 1; end <= text.length; end++) {
      if (isDigit(text[end])) continue;
      const groups = text.slice(from, end).split(/[ \-./_:,+]+/);
      const lengths = groups.map((group) => group.length);
      const last = lengths.pop() as number;
      const areLong = lengths.every((length) => length >= 3);
      const areEqual = lengths.every((length) => length === lengths[0] && last <= length);
      const number = groups.join('');
      const isNumber = groups.every((group) => /^[0-9]+$/.test(group));
      if ((areLong || areEqual) && isNumber && cardTypeOf(number) !== '' && luhnValid(number)) return true;
    }
  }
  return false;
}

/** A number in groups of these lengths, or undefined if it has another length. */
function inGroups(number: string, lengths: readonly number[], separator: string): string | undefined {
  if (lengths.reduce((sum, length) => sum + length, 0) !== number.length) return undefined;
  const ends = lengths.map((_, index) => lengths.slice(0, index + 1).reduce((sum, length) => sum + length));
  return lengths
    .map((length, index) => number.slice((ends[index] ?? 0) - length, ends[index]))
    .join(separator);
}

describe('a card number in the wrong place', () => {
  test('is found in any text', () =>
    expectEach(
      [
        '4111111111111111',
        'order 4111111111111111',
        'card4111111111111111x',
        'order 12 4111 1111 1111 1111',
        '3782 822463 10005',
        '12-3782-822463-10005-99',
        '3056 930902 5904',
        '4222 222 222 222',
        '4222 2222 2222 2',
        '3782.8224.6310.005',
        'ref:4222222222222.',
        'a:4111-1111-1111-1111:b',
        '1:4111-1111-1111-1111:2',
        'a 550e8400-e29b-41d4-a716-446655440000 b 5555555555554444',
        '550e8400e29b41d4a716446655440000-5555555555554444',
        '4111111111111111_550e8400-e29b-41d4-a716-446655440000',
        '4111  1111  1111  1111',
        '4111, 1111, 1111, 1111',
        '4111 - 1111 - 1111 - 1111',
        '4111 1111-1111 1111',
        '4111/1111/1111/1111',
        '4111 11111111 1111',
        '41111 11111 111111',
        '411111 1111111111',
        '41 11 11 11 11 11 11 11',
        '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
        'order 12/4111 1111 1111 1111',
        `4111${' '.repeat(500)}1111::1111+-+1111`,
      ],
      (text) => {
        expect(containsCardNumber(text)).toBe(true);
      },
    ));

  test('is found with any separator between its groups, for every scheme', () =>
    expectEach([...CARD_SEPARATORS], (separator) => {
      let tried = 0;
      for (const [pan] of SCHEME_CARDS) {
        for (const lengths of GROUPINGS) {
          const written = inGroups(pan, lengths, separator);
          if (written === undefined) continue;
          tried += 1;
          expect(containsCardNumber(written)).toBe(true);
          expect(containsCardNumber(`order_${written}`)).toBe(true);
          expect(containsCardNumber(`x${written}y`)).toBe(true);
        }
      }
      expect(tried).toBeGreaterThan(SCHEME_CARDS.length);
    }));

  test('is not found in a text without one', () =>
    expectEach(
      [
        '',
        'order 17',
        '4111111111111112',
        '4111 1111 1111 1112',
        '14111111111111111',
        '41111111111111110',
        '94111 1111 1111 1111',
        '411111******1111',
        '9111111111111116',
        '1794700038123',
        '2026-11-15 11:07:18.123',
        '30.11.2026.11.07.18',
        '2026-11-30 11:07:18.123457',
        '2026-11-15T11:07:45.123456789+11:00',
        '2026-11-30/2026-12-31',
        '34.117.159.181:8443',
        '+61 412 345 678, +61 423 456 789',
        '4111 11 1111 1111 11',
        '20261115110718123',
        '0000000000000000',
        '+61 2 9374 4000',
        '550e8400-e29b-41d4-a716-446655440000',
        'f'.repeat(200),
      ],
      (text) => {
        expect(containsCardNumber(text)).toBe(false);
      },
    ));

  test('is found exactly where a check of every substring finds it', () => {
    const card = fc
      .tuple(
        fc.constantFrom(...SCHEME_CARDS),
        fc.constantFrom(...GROUPINGS, [16], [15], [14], [13], [2, 14], [4, 2, 6, 4], [1, 15]),
        fc.string({ unit: fc.constantFrom(...CARD_SEPARATORS), minLength: 1, maxLength: 3 }),
      )
      .map(([[pan], lengths, separator]) => inGroups(pan, lengths, separator) ?? pan);
    const noise = fc.string({
      unit: fc.constantFrom(...'0123456789', ...CARD_SEPARATORS, 'x'),
      maxLength: 6,
    });
    const found = { yes: 0, no: 0 };
    fc.assert(
      fc.property(fc.array(fc.oneof(card, noise), { maxLength: 6 }), (pieces) => {
        const text = pieces.join('');
        const expected = containsCardNumberByTrying(text);
        found[expected ? 'yes' : 'no'] += 1;
        expect(containsCardNumber(text)).toBe(expected);
      }),
      { numRuns: 5_000, seed: 4 },
    );
    expect(Math.min(found.yes, found.no)).toBeGreaterThan(500);
  });

  test('is not found when the check digit is wrong', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SCHEME_CARDS), fc.integer({ min: 1, max: 9 }), ([pan], by) => {
        const wrong = pan.slice(0, -1) + ((Number(pan.at(-1)) + by) % 10);
        expect(containsCardNumber(`ref ${wrong}.`)).toBe(false);
      }),
    );
  });

  test('is found in one pass: a longer text does not make any character be read more often', () => {
    /** Counts how often it is looked at. */
    const counted = (text: string) => {
      let looks = 0;
      return {
        length: text.length,
        charCodeAt: (at: number) => {
          looks += 1;
          return text.charCodeAt(at);
        },
        slice: (from: number, end: number) => text.slice(from, end),
        looksEach: () => looks / text.length,
      };
    };
    for (const unit of [
      '1',
      '4',
      '1 ',
      '4 ',
      '4-',
      '4112 ',
      '41111111-1111-',
      '400000 ',
      ' -',
      '4 1-a',
      '400 /',
      '4:.  ',
    ]) {
      for (const size of [1_000, 100_000]) {
        const text = counted(unit.repeat(size / unit.length));
        expect(containsCardNumber(text as unknown as string)).toBe(false);
        expect(text.looksEach()).toBeLessThan(60);
      }
      expect(containsCardNumber(`${unit.repeat(10_000)}x4111111111111111`)).toBe(true);
    }
  });
});

describe('an ID in a common format is never taken for a card number', () => {
  const hyphenated = (hex: string) =>
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
  const KINDS: readonly (readonly [string, (hex: string) => string])[] = [
    ['a UUID', hyphenated],
    ['a UUID in capitals with a prefix', (hex) => `order_${hyphenated(hex).toUpperCase()}`],
    ['a UUID with a prefix of hexadecimal letters, and a suffix', (hex) => `abc_${hyphenated(hex)}-2`],
    ['32 hexadecimal digits', (hex) => hex.slice(0, 32)],
    ['32 hexadecimal digits in capitals with a prefix', (hex) => `abc${hex.slice(0, 32).toUpperCase()}`],
    ['a traceparent', (hex) => `00-${hex.slice(0, 32)}-${hex.slice(32, 48)}-01`],
  ];

  /** So many random digits, and as many again as the last ID needs. */
  function randomDigits(count: number, digits: string, seed: number): string {
    const chance = new Chance(seed);
    return Array.from({ length: count + 48 }, () => digits.charAt(chance.below(digits.length))).join('');
  }
  /** Those that are refused of the IDs that begin at each of the digits. */
  function refused(spelled: (hex: string) => string, digits: string, count: number): string[] {
    return Array.from({ length: count }, (_, at) => at)
      .filter((at) => containsCardNumber(spelled(digits.slice(at, at + 48))))
      .map((at) => spelled(digits.slice(at, at + 48)));
  }
  /** A million takes half a minute. */
  const MANY = Number(process.env.TOLLGATE_TEST_IDS ?? 50_000);
  const hexadecimal = randomDigits(MANY, '0123456789abcdef', 20_261_115);
  // With hardly a letter in them: where cards are most likely.
  const mostlyDecimal = randomDigits(MANY / 20, '0123456789012345678901234567890123456789a', 4);

  test('tens of thousands of each kind', () =>
    expectEach(KINDS, ([_, spelled]) => {
      expect(refused(spelled, hexadecimal, MANY)).toEqual([]);
      expect(refused(spelled, mostlyDecimal, MANY / 20)).toEqual([]);
    }));

  test('even with the digits of one', () =>
    expectEach(
      [
        '11111111-1111-4111-8111-11117aaaaaaa',
        '41111111-1111-1111-a000-000000000000',
        'order_aaaa4111-1111-1111-1111-aaaaaaaaaaaa',
        'aaaaaaaa4111111111111111aaaaaaaa',
        'txn:AAAAAAAA4111111111111111AAAAAAAA',
        '00-0af7651916cd43dd8448eb211c80319c-4111111111111111-01',
      ],
      (id) => {
        expect(containsCardNumber(id)).toBe(false);
      },
    ));
});
