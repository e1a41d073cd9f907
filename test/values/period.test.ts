// In charge of the texts by which a period of time is asked for.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isDay, periodEnd, periodStart, sydneyTimestamp } from '../../src/values/time.js';
import { expectEach } from '../../testkit/each-case.js';

const shown = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

describe('a day', () => {
  test('any day → begins and ends at midnight in Sydney', () =>
    expectEach(
      [
        ['2026-11-15', '2026-11-14T13:00:00.000Z', '2026-11-15T13:00:00.000Z', 'in summer'],
        ['2026-07-01', '2026-06-30T14:00:00.000Z', '2026-07-01T14:00:00.000Z', 'in winter'],
        ['2026-10-04', '2026-10-03T14:00:00.000Z', '2026-10-04T13:00:00.000Z', 'of 23 hours'],
        ['2026-04-05', '2026-04-04T13:00:00.000Z', '2026-04-05T14:00:00.000Z', 'of 25 hours'],
      ],
      ([day, begins, ends]) => {
        expect([shown(periodStart(day)), shown(periodEnd(day))]).toEqual([begins, ends]);
      },
    ));

  test('a date that does not exist, or in another form → invalid', () =>
    expectEach(
      ['2026-02-29', '2026-13-01', '2026-00-10', '0000-01-01', '2026-1-1', '26-01-01', '2026-11-15 ', ''],
      (text) => {
        expect([isDay(text), periodStart(text), periodEnd(text)]).toEqual([false, undefined, undefined]);
      },
    ));
});

describe('an instant', () => {
  test('with an offset → that instant, included in the period', () =>
    expectEach(
      [
        ['2026-11-15T11:07:18.123+11:00', '2026-11-15T00:07:18.123Z'],
        ['2026-11-15T11:07:18.123 11:00', '2026-11-15T00:07:18.123Z'],
        ['2026-11-15T00:07:18Z', '2026-11-15T00:07:18.000Z'],
        ['2026-11-15T00:07Z', '2026-11-15T00:07:00.000Z'],
        ['2026-11-14T19:07:18,5-0500', '2026-11-15T00:07:18.500Z'],
      ],
      ([text, instant]) => {
        expect([shown(periodStart(text)), (periodEnd(text) ?? 0) - 1]).toEqual([
          instant,
          Date.parse(instant),
        ]);
      },
    ));

  test('without an offset, nonexistent, or in another form → invalid', () =>
    expectEach(
      [
        '2026-11-15T11:07:18',
        '2026-11-15T24:30Z',
        '2026-02-30T00:00Z',
        '2026-11-15T11:07:18+25:00',
        '2026-11-15 11:07:18+11:00',
        '+002026-11-15T00:00Z',
        '2026-11-15T11:07:18Z[Europe/Berlin]',
        'now',
      ],
      (text) => {
        expect([periodStart(text), periodEnd(text)]).toEqual([undefined, undefined]);
      },
    ));

  test('as in responses → read back to the millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
        expect(periodStart(sydneyTimestamp(ms))).toBe(ms);
      }),
    );
  });
});
