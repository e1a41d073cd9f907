// In charge of Sydney time, held against the time zone data inside Node.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDays,
  sydneyDate,
  sydneyInstant,
  sydneyTimestamp,
  sydneyYearMonth,
} from '../../src/values/time.js';

const intl = new Intl.DateTimeFormat('en-AU', {
  timeZone: 'Australia/Sydney',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
  timeZoneName: 'longOffset',
});

function byIntl(instantMs: number): string {
  const part = Object.fromEntries(intl.formatToParts(instantMs).map(({ type, value }) => [type, value]));
  const date = `${part.year}-${part.month}-${part.day}`;
  const time = `${part.hour}:${part.minute}:${part.second}.${part.fractionalSecond}`;
  return `${date}T${time}${part.timeZoneName?.replace('GMT', '')}`;
}

const utc = (text: string) => Date.parse(text);

const instants = fc.integer({ min: utc('2000-01-01T00:00:00Z'), max: utc('2060-01-01T00:00:00Z') });

describe('a Sydney timestamp', () => {
  test('has three decimals and the offset of its season', () => {
    expect(sydneyTimestamp(utc('2026-11-15T00:07:18.123Z'))).toBe('2026-11-15T11:07:18.123+11:00');
    expect(sydneyTimestamp(utc('2026-07-01T00:00:00Z'))).toBe('2026-07-01T10:00:00.000+10:00');
  });

  test('goes from +11:00 to +10:00 at 3:00 on 5 April 2026', () => {
    expect(sydneyTimestamp(utc('2026-04-04T15:59:59.999Z'))).toBe('2026-04-05T02:59:59.999+11:00');
    expect(sydneyTimestamp(utc('2026-04-04T16:00:00.000Z'))).toBe('2026-04-05T02:00:00.000+10:00');
  });

  test('goes from +10:00 to +11:00 at 2:00 on 4 October 2026', () => {
    expect(sydneyTimestamp(utc('2026-10-03T15:59:59.999Z'))).toBe('2026-10-04T01:59:59.999+10:00');
    expect(sydneyTimestamp(utc('2026-10-03T16:00:00.000Z'))).toBe('2026-10-04T03:00:00.000+11:00');
  });

  test('agrees with Intl at random instants', () => {
    fc.assert(
      fc.property(instants, (instantMs) => {
        expect(sydneyTimestamp(instantMs)).toBe(byIntl(instantMs));
        expect(Date.parse(sydneyTimestamp(instantMs))).toBe(instantMs);
      }),
      { numRuns: 500 },
    );
  });

  test('agrees with Intl within an hour of every change from 2024 to 2034', () => {
    const offset = (instantMs: number) => sydneyTimestamp(instantMs).slice(-6);
    const changes: number[] = [];
    const [hourMs, dayMs] = [3_600_000, 86_400_000];
    for (let day = utc('2024-01-01T00:00:00Z'); day < utc('2035-01-01T00:00:00Z'); day += dayMs) {
      if (offset(day) === offset(day + dayMs)) continue;
      let hour = day;
      while (offset(hour) === offset(day)) hour += hourMs;
      changes.push(hour);
    }
    expect(changes).toHaveLength(22);
    fc.assert(
      fc.property(
        fc.constantFrom(...changes),
        fc.integer({ min: -3_600_000, max: 3_600_000 }),
        (change, byMs) => {
          expect(sydneyTimestamp(change + byMs)).toBe(byIntl(change + byMs));
        },
      ),
    );
  });
});

describe('Sydney dates', () => {
  test('begin at Sydney midnight', () => {
    expect(sydneyDate(utc('2026-12-31T12:59:59.999Z'))).toBe('2026-12-31');
    expect(sydneyDate(utc('2026-12-31T13:00:00Z'))).toBe('2027-01-01');
    expect(sydneyYearMonth(utc('2026-12-31T12:59:59.999Z'))).toEqual({ year: 2026, month: 12 });
    expect(sydneyYearMonth(utc('2026-12-31T13:00:00Z'))).toEqual({ year: 2027, month: 1 });
  });

  test('and times convert back to their instant, except in the hour that the clocks show twice', () => {
    fc.assert(
      fc.property(instants, (instantMs) => {
        const [date = '', time = ''] = sydneyTimestamp(instantMs).slice(0, 23).split('T');
        fc.pre(!time.startsWith('02:'));
        expect(date).toBe(sydneyDate(instantMs));
        expect(sydneyInstant(date, time)).toBe(instantMs);
      }),
    );
  });

  test('can be added to across months, leap days and days of 23 and 25 hours', () => {
    expect(addDays('2026-04-04', 1)).toBe('2026-04-05');
    expect(addDays('2026-04-05', 1)).toBe('2026-04-06');
    expect(addDays('2026-10-03', 2)).toBe('2026-10-05');
    expect(addDays('2028-02-28', 1)).toBe('2028-02-29');
    expect(addDays('2026-12-31', 1)).toBe('2027-01-01');
    expect(addDays('2027-01-01', -1)).toBe('2026-12-31');
    expect(addDays('2026-06-01', 0)).toBe('2026-06-01');
  });

  test('that do not exist → refused', () => {
    expect(() => addDays('2026-02-30', 1)).toThrow(RangeError);
    expect(() => sydneyInstant('2026-02-30', '18:00')).toThrow(RangeError);
  });
});
