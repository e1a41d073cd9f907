// In charge of which settlement day is open, to the millisecond.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDays,
  isBusinessDay,
  SETTLEMENT_CLOSE,
  settlementCutOff,
  settlementDay,
  sydneyDate,
  sydneyInstant,
  sydneyTimestamp,
} from '../../src/values/time.js';

const at = (date: string, time: string) => settlementDay(sydneyInstant(date, time));

describe('the cut-off', () => {
  test('is 18:00 in Sydney, in summer and in winter', () => {
    expect(SETTLEMENT_CLOSE).toBe('18:00');
    expect(settlementCutOff('2026-01-15')).toBe(Date.parse('2026-01-15T07:00:00Z'));
    expect(settlementCutOff('2026-07-15')).toBe(Date.parse('2026-07-15T08:00:00Z'));
    expect(sydneyTimestamp(settlementCutOff('2026-10-06'))).toBe('2026-10-06T18:00:00.000+11:00');
  });

  test('to the millisecond: the day is open until 17:59:59.999 and closed at 18:00', () => {
    const cutOff = settlementCutOff('2026-11-16');
    expect(settlementDay(cutOff - 1)).toBe('2026-11-16');
    expect(settlementDay(cutOff)).toBe('2026-11-17');
    expect(settlementDay(cutOff + 1)).toBe('2026-11-17');
    expect(settlementDay(cutOff - 1)).toBe('2026-11-16');
  });
});

describe('the open settlement day', () => {
  test.each([
    ['an ordinary day, just after midnight', '2026-11-17', '00:00', '2026-11-17'],
    ['Friday before the cut-off', '2026-11-13', '17:59:59.999', '2026-11-13'],
    ['Friday after the cut-off', '2026-11-13', '18:00', '2026-11-16'],
    ['Saturday', '2026-11-14', '10:00', '2026-11-16'],
    ['Sunday night', '2026-11-15', '23:59', '2026-11-16'],
    ['Thursday before Easter 2026', '2026-04-02', '17:59', '2026-04-02'],
    ['Thursday before Easter 2026, evening', '2026-04-02', '18:00', '2026-04-07'],
    ['Good Friday 2026', '2026-04-03', '09:00', '2026-04-07'],
    ['Easter Sunday 2026, when daylight saving ends', '2026-04-05', '02:30', '2026-04-07'],
    ['Easter Monday 2026, evening', '2026-04-06', '20:00', '2026-04-07'],
    ['Friday before Anzac Day 2026, evening', '2026-04-24', '19:00', '2026-04-28'],
    ['Monday after Anzac Day 2026', '2026-04-27', '09:00', '2026-04-28'],
    ['Anzac Day 2027, a Sunday', '2027-04-25', '12:00', '2027-04-27'],
    ['Monday after Anzac Day 2027', '2027-04-26', '09:00', '2027-04-27'],
    ["King's Birthday 2026", '2026-06-08', '09:00', '2026-06-09'],
    ['Friday before the August bank holiday, evening', '2026-07-31', '18:00', '2026-08-04'],
    ['August bank holiday 2026', '2026-08-03', '09:00', '2026-08-04'],
    ['Friday before the October long weekend, evening', '2026-10-02', '18:00', '2026-10-06'],
    ['Sunday of the October long weekend, when daylight saving begins', '2026-10-04', '03:00', '2026-10-06'],
    ['Labour Day 2026', '2026-10-05', '12:00', '2026-10-06'],
    ['Christmas Eve 2026', '2026-12-24', '17:59', '2026-12-24'],
    ['Christmas Eve 2026, evening', '2026-12-24', '18:00', '2026-12-29'],
    ['Boxing Day 2026, observed on Monday', '2026-12-28', '09:00', '2026-12-29'],
    ["New Year's Eve 2026, evening", '2026-12-31', '18:00', '2027-01-04'],
    ["New Year's Day 2027", '2027-01-01', '00:00', '2027-01-04'],
    ['Christmas Eve 2027, evening', '2027-12-24', '18:00', '2027-12-29'],
    ["New Year's Eve 2027, evening", '2027-12-31', '18:00', '2028-01-04'],
  ])('%s', (_, date, time, expected) => {
    expect(at(date, time)).toBe(expected);
  });

  test('is the first business day that has not closed, whatever the order of calls', () => {
    const instants = fc.integer({
      min: Date.parse('2025-01-01T00:00:00Z'),
      max: Date.parse('2032-01-01T00:00:00Z'),
    });
    fc.assert(
      fc.property(instants, fc.integer({ min: -4 * 86_400_000, max: 4 * 86_400_000 }), (first, byMs) => {
        for (const instantMs of [first, first + byMs]) {
          const day = settlementDay(instantMs);
          expect(isBusinessDay(day)).toBe(true);
          expect(settlementCutOff(day)).toBeGreaterThan(instantMs);
          for (let before = sydneyDate(instantMs); before < day; before = addDays(before, 1)) {
            expect(isBusinessDay(before) && settlementCutOff(before) > instantMs).toBe(false);
          }
        }
      }),
    );
  });
});
