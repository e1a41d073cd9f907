// In charge of amounts and currencies.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AMOUNT_PATTERN, CURRENCIES, cents, isCurrency } from '../../src/values/money.js';

describe('an amount', () => {
  test('of up to twelve digits goes through cents unchanged', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999_999_999_999 }), (amount) => {
        expect(new RegExp(AMOUNT_PATTERN).test(String(amount))).toBe(true);
        expect(cents(String(amount))).toBe(amount);
        expect(cents(amount)).toBe(amount);
      }),
    );
  });

  test.each(['0', '', '01', '-1', '1.00', '1e3', ' 1', '1\n', '1000000000000'])(
    'is not written %j',
    (text) => {
      expect(new RegExp(AMOUNT_PATTERN).test(text)).toBe(false);
    },
  );

  test.each([
    -1,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    '',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    ' 1',
    '9'.repeat(17),
  ])('is never made from %j', (value) => {
    expect(() => cents(value)).toThrow(RangeError);
  });

  test('may be zero in arithmetic', () => {
    expect(cents(0)).toBe(0);
    expect(cents('0')).toBe(0);
  });
});

describe('currencies', () => {
  test('in use are known', () => {
    for (const code of ['AUD', 'NZD', 'USD', 'EUR', 'GBP', 'JPY', 'KWD', 'XPF', 'XCG', 'ZWG', 'VED', 'SLE']) {
      expect(isCurrency(code)).toBe(true);
    }
  });

  test('withdrawn, or that nobody is paid in, or ill-written, are not known', () => {
    const withdrawn = ['ANG', 'BGN', 'CUC', 'DEM', 'HRK', 'SLL', 'ZWL'];
    const notForPaying = ['CHE', 'CLF', 'USN', 'XAG', 'XAU', 'XBA', 'XDR', 'XSU', 'XTS', 'XUA', 'XXX'];
    for (const code of [...withdrawn, ...notForPaying, 'aud', 'AU', 'AUDD', '', ' AUD', 'toString']) {
      expect(isCurrency(code)).toBe(false);
    }
  });

  test('are all three upper-case letters, each listed once', () => {
    for (const code of CURRENCIES) expect(code).toMatch(/^[A-Z]{3}$/);
    expect(CURRENCIES.size).toBe(155);
  });
});
