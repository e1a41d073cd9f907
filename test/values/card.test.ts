// In charge of card numbers: check digit, scheme, mask, silence, expiry, and finding them where none belongs.

import { format, inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CARD_TYPES,
  CardNumber,
  type CardType,
  Cvv,
  cardTypeOf,
  expired,
  isVirtualPan,
  luhnDigit,
  luhnValid,
  maskPan,
  parseExpiry,
} from '../../src/values/card.js';
import { CARD_GROUPS, CARD_SEPARATORS, containsCardNumber } from '../../src/values/card-in-text.js';

// The schemes' public test numbers.
const TEST_CARDS: readonly (readonly [string, CardType])[] = [
  ['4111111111111111', 'visa'],
  ['4012888888881881', 'visa'],
  ['4222222222222', 'visa'],
  ['5555555555554444', 'mastercard'],
  ['5105105105105100', 'mastercard'],
  ['2223003122003222', 'mastercard'],
  ['378282246310005', 'amex'],
  ['341111111111111', 'amex'],
  ['30569309025904', 'diners'],
  ['36227206271667', 'diners'],
  ['38520000023237', 'diners'],
  ['6011111111111117', 'discover'],
  ['6445644564456445', 'discover'],
  ['3530111333300000', 'jcb'],
  ['3566002020360505', 'jcb'],
  ['6200000000000005', 'unionpay'],
];

const digits = (constraints: { minLength: number; maxLength: number }) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), ...constraints });

describe('the Luhn check', () => {
  test('accepts the known test numbers and the numbers of the simulated acquirer', () => {
    for (const [pan] of TEST_CARDS) expect(luhnValid(pan)).toBe(true);
    for (const pan of ['4100000000000050', '4100000000000514', '4100000000000969', '4200000000000018']) {
      expect(luhnValid(pan)).toBe(true);
    }
  });

  test('refuses any number with one digit changed', () => {
    fc.assert(
      fc.property(
        digits({ minLength: 11, maxLength: 18 }),
        fc.nat(17),
        fc.integer({ min: 1, max: 9 }),
        (body, place, by) => {
          const number = body + luhnDigit(body);
          const at = place % number.length;
          const changed = number.slice(0, at) + ((Number(number[at]) + by) % 10) + number.slice(at + 1);
          expect(luhnValid(number)).toBe(true);
          expect(luhnValid(changed)).toBe(false);
        },
      ),
    );
  });

  test('refuses what is not all digits', () => {
    for (const text of ['', ' ', '4111 1111 1111 1111', '411111111111111a', '４１１１']) {
      expect(luhnValid(text)).toBe(false);
    }
    expect(() => luhnDigit('41x')).toThrow(/^(?!.*41x)/);
  });
});

describe('the card type', () => {
  test.each(TEST_CARDS)('of %s is %s', (pan, type) => {
    expect(cardTypeOf(pan)).toBe(type);
  });

  test.each([
    ['2221000000000009', 'mastercard'],
    ['2720990000000007', 'mastercard'],
    ['2220990000000002', ''],
    ['2721000000000004', ''],
    ['5602790000000000', 'eftpos'],
    ['5610000000000000', ''],
    ['6221260000000000', 'unionpay'],
    ['3527000000000000', ''],
    ['9111111111111111', ''],
  ] as const)('at the edges of the ranges: %s is %j', (pan, type) => {
    expect(cardTypeOf(pan)).toBe(type);
  });

  test('is empty when the length is not one of that scheme', () => {
    expect(cardTypeOf('411111111111111')).toBe('');
    expect(cardTypeOf('55555555555544440')).toBe('');
    expect(cardTypeOf('3782822463100050')).toBe('');
    expect(cardTypeOf('')).toBe('');
  });

  test('is one of the eight named ones', () => {
    expect([...CARD_TYPES].sort()).toEqual(
      ['amex', 'diners', 'discover', 'eftpos', 'jcb', 'mastercard', 'unionpay', 'visa'].sort(),
    );
  });
});

describe('the mask', () => {
  test('shows the first six and the last four', () => {
    expect(maskPan('4111111111111111')).toBe('411111******1111');
    expect(maskPan('378282246310005')).toBe('378282*****0005');
    expect(maskPan('123456789012')).toBe('123456**9012');
  });

  test('keeps the length and hides all digits in between, for 12 to 19 digits', () => {
    fc.assert(
      fc.property(digits({ minLength: 12, maxLength: 19 }), (pan) => {
        const mask = maskPan(pan);
        expect(mask).toHaveLength(pan.length);
        expect(mask).toBe(`${pan.slice(0, 6)}${'*'.repeat(pan.length - 10)}${pan.slice(-4)}`);
      }),
    );
  });

  test('hides everything of something too short for a card', () => {
    expect(maskPan('12345678901')).toBe('***********');
    expect(maskPan('')).toBe('');
  });
});

describe('secrets cannot be printed', () => {
  const waysToPrint: readonly (readonly [string, (value: object) => string])[] = [
    ['String()', (value) => String(value)],
    ['a template', (value) => `${value}`],
    ['concatenation', (value) => `${value}${value}`],
    ['JSON.stringify', (value) => JSON.stringify({ value, list: [value] })],
    ['util.inspect', (value) => inspect({ value }, { depth: 9, showHidden: true })],
    [
      'util.inspect without custom inspection',
      (value) => inspect(value, { customInspect: false, showHidden: true }),
    ],
    ['util.format', (value) => format('%s %o %O %j %d', value, value, value, value, value)],
    ['an error', (value) => inspect(new Error(`failed for ${value}`, { cause: value }))],
    ['Object.entries', (value) => JSON.stringify([Object.entries(value), { ...value }])],
    ['structuredClone', (value) => inspect(structuredClone({ ...value }))],
    ['toLocaleString', (value) => value.toLocaleString()],
  ];

  test.each(waysToPrint)('%s of a card number shows no more than the mask', (_, print) => {
    const printed = print(new CardNumber('4012888888881881'));
    expect(printed).not.toContain('401288888888');
    expect(printed).not.toContain('88881881');
    expect(printed).not.toContain('8888888');
  });

  test.each(waysToPrint)('%s of a CVV shows nothing of it', (_, print) => {
    expect(print(new Cvv('7391')).replace(/:\d+:\d+/g, '')).not.toContain('7391');
  });

  test('a card number prints as its mask, a CVV as stars', () => {
    const card = new CardNumber('4111111111111111');
    expect(`${card}`).toBe('411111******1111');
    expect(JSON.stringify({ card })).toBe('{"card":"411111******1111"}');
    expect(inspect(card)).toBe('411111******1111');
    expect(card.mask).toBe('411111******1111');
    expect(card.type).toBe('visa');
    expect(`${new Cvv('123')}`).toBe('***');
    expect(JSON.stringify([new Cvv('1234')])).toBe('["***"]');
  });

  test('reveal gives the digits', () => {
    expect(new CardNumber('4111111111111111').reveal()).toBe('4111111111111111');
    expect(new Cvv('123').reveal()).toBe('123');
  });

  test('a refused card number or CVV is not named in the error', () => {
    expect(() => new CardNumber('41111111111')).toThrow(/^a card number is 12 to 19 digits$/);
    expect(() => new CardNumber('4111-1111-1111-1111')).toThrow(/^a card number is 12 to 19 digits$/);
    expect(() => new Cvv('12')).toThrow(/^a CVV is 3 or 4 digits$/);
  });
});

/** The same rule without any cleverness: every stretch of the text is looked at. */
function containsCardNumberByTrying(text: string): boolean {
  const isDigit = (character: string | undefined) => character !== undefined && /^[0-9]$/.test(character);
  for (let from = 0; from < text.length; from++) {
    if (isDigit(text[from - 1])) continue;
    for (let end = from + 1; end <= Math.min(text.length, from + 25); end++) {
      if (isDigit(text[end])) continue;
      const stretch = text.slice(from, end);
      const separator = [...CARD_SEPARATORS].find((one) => stretch.includes(one));
      const groups = separator === undefined ? [stretch] : stretch.split(separator);
      const lengths = groups.map((group) => group.length).join('-');
      const grouped = groups.length === 1 || CARD_GROUPS.some((lengthsOf) => lengthsOf.join('-') === lengths);
      const number = groups.join('');
      if (grouped && /^[0-9]+$/.test(number) && cardTypeOf(number) !== '' && luhnValid(number)) return true;
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

describe('a card number where none belongs', () => {
  test.each([
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
  ])('is found in %j', (text) => {
    expect(containsCardNumber(text)).toBe(true);
  });

  test.each([...CARD_SEPARATORS])('is found with %j between its groups, for every scheme', (separator) => {
    let tried = 0;
    for (const [pan] of TEST_CARDS) {
      for (const lengths of CARD_GROUPS) {
        const written = inGroups(pan, lengths, separator);
        if (written === undefined) continue;
        tried += 1;
        expect(containsCardNumber(written)).toBe(true);
        expect(containsCardNumber(`order_${written}`)).toBe(true);
        expect(containsCardNumber(`x${written}y`)).toBe(true);
      }
    }
    expect(tried).toBeGreaterThan(TEST_CARDS.length);
  });

  test.each([
    '',
    'order 17',
    '4111111111111112',
    '4111 1111 1111 1112',
    '14111111111111111',
    '41111111111111110',
    '4111  1111  1111  1111',
    '4111, 1111, 1111, 1111',
    '4111 1111-1111 1111',
    '4111/1111/1111/1111',
    '94111 1111 1111 1111',
    '4111 11111111 1111',
    '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
    '411111******1111',
    '9111111111111116',
    '1794700038123',
    '2026-11-15 11:07:18.123',
    '30.11.2026.11.07.18',
    '20261115110718123',
    '0000000000000000',
    '+61 2 9374 4000',
    '550e8400-e29b-41d4-a716-446655440000',
    'f'.repeat(200),
  ])('is not found in %j', (text) => {
    expect(containsCardNumber(text)).toBe(false);
  });

  test('is found exactly where one looks at every stretch of the text', () => {
    const card = fc
      .tuple(
        fc.constantFrom(...TEST_CARDS),
        fc.constantFrom(...CARD_GROUPS, [16], [15], [14], [13], [8, 8], [2, 14]),
        fc.constantFrom(...CARD_SEPARATORS),
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
      fc.property(fc.constantFrom(...TEST_CARDS), fc.integer({ min: 1, max: 9 }), ([pan], by) => {
        const wrong = pan.slice(0, -1) + ((Number(pan.at(-1)) + by) % 10);
        expect(containsCardNumber(`ref ${wrong}.`)).toBe(false);
      }),
    );
  });

  test('is looked for in one pass: no character is looked at more often in a longer text', () => {
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
    for (const unit of ['1', '4', '1 ', '4 ', '4-', '4112 ', '41111111-1111-', '400000 ', ' -', '4 1-a']) {
      for (const size of [1_000, 100_000]) {
        const text = counted(unit.repeat(size / unit.length));
        expect(containsCardNumber(text as unknown as string)).toBe(false);
        expect(text.looksEach()).toBeLessThan(12);
      }
      expect(containsCardNumber(`${unit.repeat(10_000)}/4111111111111111`)).toBe(true);
    }
  });
});

describe('an ID in a common spelling is never taken for a card number', () => {
  /** Seeded, so that a failure can be repeated. */
  function chance(seed: number): () => number {
    let state = seed;
    return () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return state >>> 0;
    };
  }
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
    const next = chance(seed);
    return Array.from({ length: count + 48 }, () => digits[next() % digits.length]).join('');
  }
  /** Those that are refused of the IDs that begin at each of the digits. */
  function refused(spelled: (hex: string) => string, digits: string, count: number): string[] {
    return Array.from({ length: count }, (_, at) => at)
      .filter((at) => containsCardNumber(spelled(digits.slice(at, at + 48))))
      .map((at) => spelled(digits.slice(at, at + 48)));
  }
  /** A million takes half a minute. */
  const MANY = Number(process.env['TOLLGATE_TEST_IDS'] ?? 200_000);
  const hexadecimal = randomDigits(MANY, '0123456789abcdef', 20_261_115);
  // With hardly a letter in them: where cards are most likely.
  const mostlyDecimal = randomDigits(MANY / 20, '0123456789012345678901234567890123456789a', 4);

  test.each(KINDS)('%s: hundreds of thousands of them', (_, spelled) => {
    expect(refused(spelled, hexadecimal, MANY)).toEqual([]);
    expect(refused(spelled, mostlyDecimal, MANY / 20)).toEqual([]);
  });

  test.each([
    '11111111-1111-4111-8111-11117aaaaaaa',
    '41111111-1111-1111-a000-000000000000',
    'order_aaaa4111-1111-1111-1111-aaaaaaaaaaaa',
    'aaaaaaaa4111111111111111aaaaaaaa',
    'txn:AAAAAAAA4111111111111111AAAAAAAA',
    '00-0af7651916cd43dd8448eb211c80319c-4111111111111111-01',
  ])('%s, although it has the digits of one', (id) => {
    expect(containsCardNumber(id)).toBe(false);
  });
});

describe('a virtual PAN', () => {
  test('has 16 digits, begins with a 9 and passes the Luhn check', () => {
    fc.assert(
      fc.property(digits({ minLength: 14, maxLength: 14 }), (random) => {
        const pan = `9${random}${luhnDigit(`9${random}`)}`;
        expect(isVirtualPan(pan)).toBe(true);
        expect(cardTypeOf(pan)).toBe('');
      }),
    );
    expect(isVirtualPan('9111111111111111')).toBe(false);
    expect(isVirtualPan('4111111111111111')).toBe(false);
    expect(isVirtualPan('911111111111116')).toBe(false);
  });
});

describe('an expiry date', () => {
  test('is read as MMYY, and as YYMM where the first half is no month', () => {
    expect(parseExpiry('1126')).toEqual({ month: 11, year: 2026 });
    expect(parseExpiry('0130')).toEqual({ month: 1, year: 2030 });
    expect(parseExpiry('2611')).toEqual({ month: 11, year: 2026 });
    expect(parseExpiry('3001')).toEqual({ month: 1, year: 2030 });
    expect(parseExpiry('1312')).toEqual({ month: 12, year: 2013 });
    expect(parseExpiry('1213')).toEqual({ month: 12, year: 2013 });
  });

  test('reads the same from both orders for every month from 2013 on', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 13, max: 99 }), (month, yy) => {
        const mm = String(month).padStart(2, '0');
        expect(parseExpiry(`${mm}${yy}`)).toEqual({ month, year: 2000 + yy });
        expect(parseExpiry(`${yy}${mm}`)).toEqual({ month, year: 2000 + yy });
      }),
    );
  });

  test.each([
    '',
    '0000',
    '0026',
    '2600',
    '1300',
    '2613',
    '9999',
    '112',
    '11266',
    '11/26',
    '1a26',
    ' 126',
    '１１２６',
  ])('is not read from %j', (text) => {
    expect(parseExpiry(text)).toBeUndefined();
  });

  test('has passed from the month after it on', () => {
    const expiry = { month: 12, year: 2026 };
    expect(expired(expiry, 2026, 11)).toBe(false);
    expect(expired(expiry, 2026, 12)).toBe(false);
    expect(expired(expiry, 2027, 1)).toBe(true);
    expect(expired({ month: 1, year: 2027 }, 2026, 12)).toBe(false);
    expect(expired({ month: 3, year: 2026 }, 2026, 4)).toBe(true);
  });
});
