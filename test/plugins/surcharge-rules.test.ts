// The surcharge plugin alone: which rule applies, and what it adds to the cent.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../src/api/refusals.js';
import { applyPlugins, type Payment } from '../../src/plugins/contract.js';
import { PLUGINS } from '../../src/plugins/plugins.js';
import { formatPercent, parsePercent, type SurchargeRule, surchargeOn } from '../../src/plugins/surcharge.js';
import { cents } from '../../src/values/money.js';
import { sydneyInstant } from '../../src/values/time.js';
import { expectEach } from '../../testkit/each-case.js';

// Whose total has at most twelve digits, whatever the percentage.
const AMOUNT = fc.integer({ min: 1, max: 499_999_999_999 }).map(cents);
const THOUSANDTHS = fc.integer({ min: 0, max: 100_000 });

function pay(rules: readonly SurchargeRule[], change: Partial<Payment> = {}) {
  const payment = {
    paymentMethod: 'creditcard',
    cardType: 'visa',
    amountCents: cents(10_000),
    atMs: sydneyInstant('2026-08-15', '12:00'),
    kvps: {},
    ...change,
  } as const;
  return applyPlugins<Payment>(payment, { surcharge: rules }, PLUGINS);
}

test('surcharge, any amount and percentage → total is original plus added, in whole cents, and the KVPs agree', () => {
  fc.assert(
    fc.property(AMOUNT, THOUSANDTHS, (amountCents, thousandths) => {
      const { amountCents: total, kvps, pricing } = pay([{ scope: 'default', thousandths }], { amountCents });
      const added = BigInt(kvps['SURCHARGE.ADDED_AMOUNT'] as string);
      expect(BigInt(total)).toBe(BigInt(amountCents) + added);
      expect(kvps['SURCHARGE.ORIGINAL_AMOUNT']).toBe(String(amountCents));
      expect(kvps['SURCHARGE.TOTAL_AMOUNT']).toBe(String(total));
      expect(parsePercent(kvps['SURCHARGE.PERCENT'] as string)).toBe(thousandths);
      // Half up: the exact surcharge is within half a cent, and a half goes up.
      const twiceOff = 2n * (added * 100_000n - BigInt(amountCents) * BigInt(thousandths));
      expect(twiceOff > -100_000n && twiceOff <= 100_000n).toBe(true);
      expect(pricing).toEqual({ originalCents: amountCents, decisions: { surcharge: { thousandths } } });
    }),
    { numRuns: 2_000 },
  );
});

// catches(completion: the surcharge of its preauthorisation, and no other)
test('surcharge on a completion of up to the preauthorised amount → never more than the preauthorisation', () => {
  fc.assert(
    fc.property(
      AMOUNT,
      THOUSANDTHS,
      THOUSANDTHS,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (amount, then, now, share) => {
        const target = pay([{ scope: 'default', thousandths: then }], {
          amountCents: amount,
        });
        const amountCents = cents(Math.max(1, Math.floor(amount * share)));
        const rules: SurchargeRule[] = [{ scope: 'default', thousandths: now }];
        const completion = pay(rules, { target, amountCents });
        expect(completion.amountCents).toBeLessThanOrEqual(target.amountCents);
        const whole = pay(rules, { target, amountCents: amount });
        expect(whole.amountCents).toBe(target.amountCents);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('completion of a preauthorisation without surcharge → none, although there is a rule now', () => {
  expect(pay([{ scope: 'default', thousandths: 1500 }], { target: {} }).amountCents).toBe(10_000);
});

// catches(surcharge: a total of at most twelve digits)
test('surcharge that makes the total longer than twelve digits → field_out_of_range; one cent less → accepted', () => {
  const rules: SurchargeRule[] = [{ scope: 'default', thousandths: 100_000 }];
  expect(pay(rules, { amountCents: cents(499_999_999_999) }).amountCents).toBe(999_999_999_998);
  const refusal = () => {
    try {
      return pay(rules, { amountCents: cents(500_000_000_000) });
    } catch (error) {
      return refusalOf(error, true);
    }
  };
  expect(refusal()).toMatchObject({
    code: 'field_out_of_range',
    problems: [{ location: ['body', 'transaction', 'amount_details', 'total_amount'] }],
  });
});

describe('which rule', () => {
  const rules: SurchargeRule[] = [
    { scope: 'default', thousandths: 1000 },
    { scope: 'method:creditcard', thousandths: 2000 },
    { scope: 'card:amex', thousandths: 3000 },
  ];
  test.each([
    ['a card type that has one', { cardType: 'amex' }, 10_300],
    ['a card type that has none', { cardType: 'visa' }, 10_200],
    ['a card of no known type', { cardType: '' }, 10_200],
    ['another payment method', { paymentMethod: 'bankaccount', cardType: '' }, 10_100],
  ] as const)('%s → the most specific', (_name, change, total) => {
    expect(pay(rules, change).amountCents).toBe(total);
  });

  test.each([
    ['2026-09-30', '23:59', 10_150],
    ['2026-10-01', '00:00', 10_000],
    ['2026-06-30', '23:59', 10_000],
    ['2026-07-01', '00:00', 10_150],
  ])('a rule from 1 July to 30 September, on %s at %s in Sydney → %d', (date, time, total) => {
    const dated: SurchargeRule = {
      scope: 'default',
      thousandths: 1500,
      from: '2026-07-01',
      until: '2026-09-30',
    };
    expect(pay([dated], { atMs: sydneyInstant(date, time) }).amountCents).toBe(total);
  });

  test('a specific rule that is not in force → the general one', () => {
    const expired: SurchargeRule = { scope: 'card:visa', thousandths: 9000, until: '2026-01-01' };
    expect(pay([...rules, expired]).amountCents).toBe(10_200);
  });

  test('two rules for the same thing → the one that began last applies', () => {
    const early: SurchargeRule = { scope: 'default', thousandths: 1000, from: '2026-01-01' };
    const late: SurchargeRule = { scope: 'default', thousandths: 500, from: '2026-08-01' };
    expect(pay([early, late]).amountCents).toBe(10_050);
    expect(pay([late, early]).amountCents).toBe(10_050);
  });

  test('no rule → nothing is changed', () => {
    expect(pay([])).toMatchObject({ amountCents: 10_000, kvps: {} });
  });

  test('0 percent → shown, and nothing added', () => {
    const { amountCents, kvps } = pay([{ scope: 'default', thousandths: 0 }]);
    expect(amountCents).toBe(10_000);
    expect(kvps).toMatchObject({ 'SURCHARGE.PERCENT': '0', 'SURCHARGE.ADDED_AMOUNT': '0' });
  });
});

test.each([
  ['1', 1_000],
  ['1.5', 1_500],
  ['2.905', 2_905],
  ['0', 0],
  ['100', 100_000],
  ['0.001', 1],
])('percentage %s → %d thousandths, and back', (text, thousandths) => {
  expect(parsePercent(text)).toBe(thousandths);
  expect(formatPercent(thousandths)).toBe(text);
});

test('an invalid percentage → refused', () =>
  expectEach(['', '-1', '100.001', '101', '1.2345', '1,5', '1.', '.5', 'x', '1e1', ' 1'], (text) => {
    expect(parsePercent(text)).toBeUndefined();
  }));

test('half a cent → rounded up', () => {
  expect(surchargeOn(cents(100), 500)).toBe(1);
  expect(surchargeOn(cents(99), 500)).toBe(0);
});
