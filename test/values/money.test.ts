// In charge of amounts and currencies.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AMOUNT_PATTERN,
  amountText,
  CURRENCIES,
  cents,
  centsByDecimals,
  centsIn,
  decimalsOf,
  isCurrency,
  moneyText,
} from '../../src/values/money.js';
import { expectEach } from '../../testkit/each-case.js';

describe('an amount', () => {
  test('of up to twelve digits converts to cents and back unchanged', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999_999_999_999 }), (amount) => {
        expect(new RegExp(AMOUNT_PATTERN).test(String(amount))).toBe(true);
        expect(cents(String(amount))).toBe(amount);
        expect(cents(amount)).toBe(amount);
      }),
    );
  });

  test('has no other accepted form', () =>
    expectEach(['0', '', '01', '-1', '1.00', '1e3', ' 1', '1\n', '1000000000000'], (text) => {
      expect(new RegExp(AMOUNT_PATTERN).test(text)).toBe(false);
    }));

  test('is made only from a whole number of cents', () =>
    expectEach(
      [
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
      ],
      (value) => {
        expect(() => cents(value)).toThrow(RangeError);
      },
    ));

  test('may be zero in arithmetic', () => {
    expect(cents(0)).toBe(0);
    expect(cents('0')).toBe(0);
  });
});

describe('an amount as people write it', () => {
  test('has the decimals of its currency, read and written', () =>
    expectEach(
      [
        ['JPY', 600, '600'],
        ['JPY', 0, '0'],
        ['AUD', 1_829, '18.29'],
        ['AUD', 5, '0.05'],
        ['AUD', 999_999_999_999, '9999999999.99'],
        ['KWD', 1_250, '1.250'],
        ['KWD', 7, '0.007'],
        // Prices in these show no decimals, and `Intl` goes by that; amounts in them have decimals all the same.
        ['IQD', 1_250, '1.250'],
        ['IDR', 1_250, '12.50'],
        ['HUF', 1_250, '12.50'],
      ],
      ([currency, amountCents, text]) => {
        expect(amountText(amountCents, currency)).toBe(text);
        expect(centsIn(text, currency)).toBe(amountCents);
      },
    ));

  test('may be negative, and larger than a double holds', () => {
    expect(moneyText(-1_829, 'AUD')).toBe('-18.29 AUD');
    expect(moneyText(-5, 'KWD')).toBe('-0.005 KWD');
    expect(amountText(12_345_678_901_234_567_890n, 'AUD')).toBe('123456789012345678.90');
  });

  test('with more decimals than its currency has, or another form, is invalid', () =>
    expectEach(
      [
        ['6.5', 'JPY'],
        ['6.0', 'JPY'],
        ['1.505', 'AUD'],
        ['1.2505', 'KWD'],
        ['', 'AUD'],
        ['.5', 'AUD'],
        ['-1', 'AUD'],
        ['1e3', 'AUD'],
        ['1,5', 'AUD'],
        ['10000000000', 'AUD'],
      ],
      ([text, currency]) => {
        expect(centsIn(text, currency)).toBeUndefined();
      },
    ));

  test('without a currency may mean several amounts in cents, one per number of decimals', () => {
    expect(centsByDecimals('20')).toEqual([20, 200, 2_000, 20_000]);
    expect(centsByDecimals('19.95')).toEqual([null, null, 1_995, 19_950]);
  });

  test('written and read back is unchanged, in every currency', () => {
    const currency = fc.constantFrom(...CURRENCIES);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999_999 }), currency, (amount, code) => {
        expect(centsIn(amountText(amount, code), code)).toBe(amount);
      }),
    );
  });

  test('has decimals only in existing currencies', () => {
    expect(CURRENCIES.filter((code) => decimalsOf(code) === 0)).toHaveLength(16);
    expect(CURRENCIES.filter((code) => decimalsOf(code) === 3)).toHaveLength(7);
  });
});

describe('currencies', () => {
  test('in use are known', () => {
    for (const code of ['AUD', 'NZD', 'USD', 'EUR', 'GBP', 'JPY', 'KWD', 'XPF', 'XCG', 'ZWG', 'VED', 'SLE']) {
      expect(isCurrency(code)).toBe(true);
    }
  });

  test('withdrawn, not used for payments, or misspelt → unknown', () => {
    const withdrawn = ['ANG', 'BGN', 'CUC', 'DEM', 'HRK', 'SLL', 'ZWL'];
    const notForPaying = ['CHE', 'CLF', 'USN', 'XAG', 'XAU', 'XBA', 'XDR', 'XSU', 'XTS', 'XUA', 'XXX'];
    for (const code of [...withdrawn, ...notForPaying, 'aud', 'AU', 'AUDD', '', ' AUD', 'toString']) {
      expect(isCurrency(code)).toBe(false);
    }
  });

  test('are all three upper-case letters, each listed once', () => {
    for (const code of CURRENCIES) expect(code).toMatch(/^[A-Z]{3}$/);
    expect(CURRENCIES).toHaveLength(155);
  });
});
