// In charge of the days on which the banks of New South Wales are closed.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addBusinessDays, addDays, isBusinessDay, nextBusinessDay } from '../../src/values/time.js';
import { expectEach } from '../../testkit/each-case.js';

const days = fc.integer({ min: 0, max: 3650 }).map((offset) => addDays('2025-01-01', offset));

describe('a business day', () => {
  test('is not a holiday of New South Wales', () =>
    expectEach(
      [
        ['2026-01-01', "New Year's Day"],
        ['2026-01-26', 'Australia Day'],
        ['2026-04-03', 'Good Friday'],
        ['2026-04-06', 'Easter Monday'],
        ['2026-04-27', 'Monday after Anzac Day on a Saturday'],
        ['2026-06-08', "King's Birthday"],
        ['2026-08-03', 'bank holiday'],
        ['2026-10-05', 'Labour Day'],
        ['2026-12-25', 'Christmas Day'],
        ['2026-12-28', 'Monday after Boxing Day on a Saturday'],
        ['2027-04-26', 'Monday after Anzac Day on a Sunday'],
        ['2027-12-27', 'Monday after Christmas Day on a Saturday'],
        ['2027-12-28', 'Tuesday after Boxing Day on a Sunday'],
        ['2028-01-03', "Monday after New Year's Day on a Saturday"],
      ],
      ([date]) => {
        expect(isBusinessDay(date)).toBe(false);
      },
    ));

  test('may be a holiday elsewhere', () =>
    expectEach(
      [
        ['2026-04-02', 'Maundy Thursday'],
        ['2026-05-11', "the day after Mother's Day"],
        ['2026-11-03', 'Melbourne Cup Day, a holiday in Victoria only'],
        ['2026-12-24', 'Christmas Eve'],
        ['2026-12-31', "New Year's Eve"],
        ['2025-04-24', 'the day before Anzac Day'],
      ],
      ([date]) => {
        expect(isBusinessDay(date)).toBe(true);
      },
    ));

  test('is never at a weekend', () => {
    fc.assert(
      fc.property(days, (date) => {
        const weekday = new Date(`${date}T00:00:00Z`).getUTCDay();
        if (weekday === 0 || weekday === 6) expect(isBusinessDay(date)).toBe(false);
      }),
    );
  });
});

describe('the next business day', () => {
  test('is the day itself if it is one, otherwise the first after it', () => {
    expect(nextBusinessDay('2026-04-02')).toBe('2026-04-02');
    expect(nextBusinessDay('2026-04-03')).toBe('2026-04-07');
    expect(nextBusinessDay('2026-12-25')).toBe('2026-12-29');
    expect(nextBusinessDay('2027-01-01')).toBe('2027-01-04');
  });

  test('skips no business day', () => {
    fc.assert(
      fc.property(days, (date) => {
        const next = nextBusinessDay(date);
        expect(isBusinessDay(next)).toBe(true);
        for (let day = date; day < next; day = addDays(day, 1)) expect(isBusinessDay(day)).toBe(false);
      }),
    );
  });
});

describe('adding business days', () => {
  test('skips weekends and holidays', () => {
    expect(addBusinessDays('2026-04-01', 1)).toBe('2026-04-02');
    expect(addBusinessDays('2026-04-01', 2)).toBe('2026-04-07');
    expect(addBusinessDays('2026-12-24', 3)).toBe('2026-12-31');
    expect(addBusinessDays('2026-12-24', 4)).toBe('2027-01-04');
  });

  test('counts items of a weekend from Monday', () => {
    expect(addBusinessDays('2026-11-14', 0)).toBe('2026-11-16');
    expect(addBusinessDays('2026-11-14', 1)).toBe('2026-11-17');
    expect(addBusinessDays('2026-11-16', 1)).toBe('2026-11-17');
  });

  test('in two steps is the same as at once', () => {
    fc.assert(
      fc.property(days, fc.nat(15), fc.nat(15), (date, first, second) => {
        expect(addBusinessDays(addBusinessDays(date, first), second)).toBe(
          addBusinessDays(date, first + second),
        );
      }),
    );
  });

  test('is refused for a negative or broken number', () => {
    expect(() => addBusinessDays('2026-04-01', -1)).toThrow(RangeError);
    expect(() => addBusinessDays('2026-04-01', 1.5)).toThrow(RangeError);
  });
});
