// Card numbers: check digit, scheme, mask, silence and expiry date.
import { format, inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CARD_TYPES,
  CardNumber,
  Cvv,
  cardTypeOf,
  expired,
  isVirtualPan,
  luhnDigit,
  luhnValid,
  maskPan,
  parseExpiry,
} from '../../src/values/card.js';
import { expectEach } from '../../testkit/each-case.js';
import { SCHEME_CARDS } from '../../testkit/test-cards.js';

const digits = (constraints: { minLength: number; maxLength: number }) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), ...constraints });

describe('the Luhn check', () => {
  test('accepts the known test numbers and the numbers of the simulated acquirer', () => {
    for (const [pan] of SCHEME_CARDS) expect(luhnValid(pan)).toBe(true);
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

  test('refuses anything but digits', () => {
    for (const text of ['', ' ', '4111 1111 1111 1111', '411111111111111a', '４１１１']) {
      expect(luhnValid(text)).toBe(false);
    }
    expect(() => luhnDigit('41x')).toThrow(/^(?!.*41x)/);
  });
});

describe('the card type', () => {
  test('is that of the scheme for cards of each scheme', () =>
    expectEach(SCHEME_CARDS, ([pan, type]) => {
      expect(cardTypeOf(pan)).toBe(type);
    }));

  test('is right at the edges of the ranges', () =>
    expectEach(
      [
        ['2221000000000009', 'mastercard'],
        ['2720990000000007', 'mastercard'],
        ['2220990000000002', ''],
        ['2721000000000004', ''],
        ['5602790000000000', 'eftpos'],
        ['5610000000000000', ''],
        ['6221260000000000', 'unionpay'],
        ['3527000000000000', ''],
        ['9111111111111111', ''],
      ] as const,
      ([pan, type]) => {
        expect(cardTypeOf(pan)).toBe(type);
      },
    ));

  test('is empty when the length is not one of that scheme', () => {
    expect(cardTypeOf('411111111111111')).toBe('');
    expect(cardTypeOf('55555555555544440')).toBe('');
    expect(cardTypeOf('3782822463100050')).toBe('');
    expect(cardTypeOf('')).toBe('');
  });

  test('is one of the eight listed ones', () => {
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

  test('hides everything if the number is too short for a card', () => {
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

  test('no way to print a card number shows more than the mask', () =>
    expectEach(waysToPrint, ([_, print]) => {
      const printed = print(new CardNumber('4012888888881881'));
      expect(printed).not.toContain('401288888888');
      expect(printed).not.toContain('88881881');
      expect(printed).not.toContain('8888888');
    }));

  test('no way to print a CVV shows any of it', () =>
    expectEach(waysToPrint, ([_, print]) => {
      expect(print(new Cvv('7391')).replace(/:\d+:\d+/g, '')).not.toContain('7391');
    }));

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

  test('the error for a refused card number or CVV does not repeat it', () => {
    expect(() => new CardNumber('41111111111')).toThrow(/^a card number is 12 to 19 digits$/);
    expect(() => new CardNumber('4111-1111-1111-1111')).toThrow(/^a card number is 12 to 19 digits$/);
    expect(() => new Cvv('12')).toThrow(/^a CVV is 3 or 4 digits$/);
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
  test('is read as MMYY, or as YYMM if the first half is not a month', () => {
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

  test('is not read from anything else', () =>
    expectEach(
      [
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
      ],
      (text) => {
        expect(parseExpiry(text)).toBeUndefined();
      },
    ));

  test('has expired from the following month on', () => {
    const expiry = { month: 12, year: 2026 };
    expect(expired(expiry, 2026, 11)).toBe(false);
    expect(expired(expiry, 2026, 12)).toBe(false);
    expect(expired(expiry, 2027, 1)).toBe(true);
    expect(expired({ month: 1, year: 2027 }, 2026, 12)).toBe(false);
    expect(expired({ month: 3, year: 2026 }, 2026, 4)).toBe(true);
  });
});
