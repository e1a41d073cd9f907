// Bank accounts: BSB, account number and account name, and what is wrong with invalid ones.
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problemOf } from '../../src/api/refusals.js';
import {
  ACCOUNT_NAME_PATTERN,
  ACCOUNT_NUMBER_PATTERN,
  BankAccount,
  BSB_PATTERN,
  becsFaults,
  lodgeable,
  MOST_CENTS,
  maskAccountNumber,
} from '../../src/values/bank-account.js';
import { RESTRICTED_PATTERN } from '../../src/values/text.js';
import { expectEach } from '../../testkit/each-case.js';

const matches = (pattern: string, text: string) => new RegExp(pattern, 'u').test(text);

describe('BSB', () => {
  test('six digits with or without a hyphen in the middle → accepted', () =>
    expectEach(['062-000', '062000', '000-000'], (bsb) => {
      expect(matches(BSB_PATTERN, bsb)).toBe(true);
    }));

  test('anything else → refused', () =>
    expectEach(
      ['', '06200', '0620000', '06-2000', '062--000', '062 000', ' 062000', '062000\n', '06200x', '٠٦٢٠٠٠'],
      (bsb) => {
        expect(matches(BSB_PATTERN, bsb)).toBe(false);
      },
    ));

  test('with or without its hyphen → shown with it', () => {
    expect(new BankAccount('062000', '12', 'A').bsb).toBe('062-000');
    expect(new BankAccount('062-000', '12', 'A').bsb).toBe('062-000');
  });
});

describe('account number', () => {
  test('two to nine digits in any grouping, not all of them zero → accepted, and read without the grouping', () => {
    const gap = fc.stringMatching(/^[ -]{0,2}$/);
    const digits = fc
      .array(fc.integer({ min: 0, max: 9 }), { minLength: 2, maxLength: 9 })
      .filter((all) => all.some((digit) => digit > 0));
    fc.assert(
      fc.property(digits, fc.array(gap, { minLength: 10, maxLength: 10 }), (all, gaps) => {
        const grouped = gaps[0] + all.map((digit, index) => `${digit}${gaps[index + 1]}`).join('');
        expect(matches(ACCOUNT_NUMBER_PATTERN, grouped)).toBe(true);
        const account = new BankAccount('062-000', grouped, 'A');
        expect(account.reveal()).toBe(all.join(''));
        expect(account.mask).toHaveLength(all.length);
      }),
    );
  });

  test('anything else → refused', () =>
    expectEach(
      [
        '',
        ' ',
        '-',
        '1',
        ' 1 ',
        '1234567890',
        '12 34 56 78 90',
        '12x4',
        '00',
        '000000000',
        '0-0',
        '12.4',
        '12\t4',
      ],
      (number) => {
        expect(matches(ACCOUNT_NUMBER_PATTERN, number)).toBe(false);
      },
    ));

  test('shows only its last three digits', () =>
    expectEach(
      [
        ['123456789', '******789'],
        ['1234', '*234'],
        ['123', '***'],
        ['12', '**'],
      ],
      ([number, mask]) => {
        expect(maskAccountNumber(number)).toBe(mask);
      },
    ));

  test('printed, inspected, joined or put into JSON → only the mask', () => {
    const account = new BankAccount('062-000', '123456789', 'A Customer');
    for (const text of [
      String(account),
      `${account}`,
      inspect(account),
      inspect({ deep: [account] }),
      JSON.stringify({ account }),
      JSON.stringify(account.shown),
      Object.values({ ...account }).join(),
    ]) {
      expect(text).not.toContain('123456');
      expect(text).toContain('******789');
    }
  });
});

describe('account name', () => {
  const RESTRICTED = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter((character) =>
    matches(RESTRICTED_PATTERN, character),
  );

  test('a name with any character of the restricted set → accepted, unless banks do not take it', () =>
    expectEach(RESTRICTED, (character) => {
      const taken = !'<>`{|}~'.includes(character);
      expect(matches(ACCOUNT_NAME_PATTERN, `A${character}B`)).toBe(taken);
      expect(lodgeable(new BankAccount('062-000', '12', `A${character}B`))).toBe(taken);
    }));

  test('every other character → refused', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((one) => !RESTRICTED.includes(one)),
        (character) => {
          expect(matches(ACCOUNT_NAME_PATTERN, `A${character}B`)).toBe(false);
        },
      ),
    );
  });

  test('1 to 32 characters that are not all spaces → valid for a file', () =>
    expectEach(
      [
        ['', false],
        [' ', false],
        [' '.repeat(32), false],
        [' A', true],
        ['A', true],
        ['A'.repeat(32), true],
        ['A'.repeat(33), false],
      ],
      ([name, fits]) => {
        expect(lodgeable(new BankAccount('062-000', '12', name))).toBe(fits);
      },
    ));
});

test('an amount of ten digits in Australian dollars → no problem; more, or another currency → each with its location', () => {
  const place = ['body', 'transaction', 'amount_details'];
  const problems = (amount: Parameters<typeof becsFaults>[0]) =>
    becsFaults(amount).map((reason) => problemOf(reason, true));
  expect(problems({ amountCents: MOST_CENTS, currency: 'AUD' })).toEqual([]);
  expect(problems({ amountCents: 10_000_000_000, currency: 'NZD' })).toMatchObject([
    { code: 'field_out_of_range', location: [...place, 'total_amount'] },
    { code: 'field_out_of_range', location: [...place, 'currency'] },
  ]);
});
