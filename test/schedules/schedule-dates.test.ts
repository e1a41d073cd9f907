// The dates of a schedule, and what the payments of one come to. Nothing here needs a gateway.
import { expect, test } from 'vitest';
import type { TransactionStatus } from '../../src/payments/transaction.js';
import { verdictOf } from '../../src/schedules/retries.js';
import { dateOf, payDay, type Terms } from '../../src/schedules/schedule.js';
import { sydneyInstant, sydneyTimestamp } from '../../src/values/time.js';

const terms = (change: Partial<Terms>) => ({ method: 'creditcard', count: undefined, ...change }) as Terms;
const dates = (change: Partial<Terms>, count: number) =>
  Array.from({ length: count }, (_, index) => dateOf(terms(change), index + 1));

test.each([
  [
    'the 31st is the last day of a shorter month, and the 31st again',
    { months: 1 },
    '2027-12-31',
    ['2028-01-31', '2028-02-29', '2028-03-31'],
  ],
  [
    'the 29th of February is the 28th in other years',
    { months: 12 },
    '2028-02-29',
    ['2029-02-28', '2030-02-28', '2031-02-28'],
  ],
  [
    'weeks go on over the end of daylight saving',
    { weeks: 2 },
    '2027-03-28',
    ['2027-04-11', '2027-04-25', '2027-05-09'],
  ],
  ['days', { days: 45 }, '2026-12-01', ['2027-01-15', '2027-03-01', '2027-04-15']],
])('%s', (_, every, first, next) => {
  expect(dates({ every, anchors: [{ n: 1, date: first }] }, 4)).toEqual([first, ...next]);
});

// catches(schedule: no more dates than were agreed)
test('it ends by count, or with a day; a date that was put off moves those after it', () => {
  const monthly = { every: { months: 1 }, anchors: [{ n: 1, date: '2027-01-31' }] };
  expect(dates({ ...monthly, count: 2 }, 3)).toEqual(['2027-01-31', '2027-02-28', undefined]);
  expect(dates({ ...monthly, until: '2027-02-28' }, 3)).toEqual(['2027-01-31', '2027-02-28', undefined]);
  const moved = { every: { months: 1 }, anchors: [...monthly.anchors, { n: 3, date: '2027-04-02' }] };
  expect(dates(moved, 4)).toEqual(['2027-01-31', '2027-02-28', '2027-04-02', '2027-05-02']);
});

test('a bank account is debited on the next day that banks are open', () => {
  // Good Friday; Anzac Day is a Sunday in 2027.
  expect(payDay(terms({ method: 'bankaccount' }), '2027-03-26')).toBe('2027-03-30');
  expect(payDay(terms({ method: 'creditcard' }), '2027-03-26')).toBe('2027-03-26');
});

const noon = (day: string) => sydneyInstant(day, '12:00');
const made = (statuses: readonly string[], day = '2027-05-03', bank = false) =>
  statuses.map((each) => {
    const [status, responseCode = '51'] = each.split(' ');
    return {
      status: status as TransactionStatus,
      responseCode,
      createdMs: noon(day),
      ...(bank ? { bankAccount: { bsb: '', mask: '', name: '' } } : {}),
    };
  }) as unknown as Parameters<typeof verdictOf>[0];
const verdict = (statuses: readonly string[], nowDay: string, method: Terms['method'] = 'creditcard') => {
  const found = verdictOf(
    made(statuses, '2027-05-03', method === 'bankaccount'),
    { method },
    { nowMs: noon(nowDay) },
  );
  return found.kind === 'again' ? `again ${sydneyTimestamp(found.atMs).slice(0, 16)}` : found.kind;
};

test('declined → again 1, 3 and 7 days after the first time, and then no more', () => {
  expect(verdict(['declined'], '2027-05-03')).toBe('again 2027-05-04T00:00');
  expect(verdict(['declined', 'declined'], '2027-05-04')).toBe('again 2027-05-06T00:00');
  expect(verdict(['declined', 'declined', 'declined'], '2027-05-06')).toBe('again 2027-05-10T00:00');
  // catches(schedule: tried four times, and no more)
  expect(verdict(Array(4).fill('declined'), '2027-05-10')).toBe('failed');
  // It stood still meanwhile: not two on one day.
  expect(verdict(['declined', 'declined'], '2027-05-20')).toBe('again 2027-05-21T00:00');
});

// catches(schedule: what may not be tried again is not)
test('declined for good, as a stolen card is → failed at once; so is a bank account that is closed', () => {
  expect(verdict(['declined 43'], '2027-05-03')).toBe('failed');
  expect(verdict(['declined 3'], '2027-05-06', 'bankaccount')).toBe('failed');
});

test('returned by the bank as not covered → again on the next of its days that banks are open', () => {
  expect(verdict(['declined 6'], '2027-05-06', 'bankaccount')).toBe('again 2027-05-07T00:00');
  expect(verdict(['declined 6', 'declined 6'], '2027-05-14', 'bankaccount')).toBe('again 2027-05-17T00:00');
});

test('not sent → again the same day, six times, which count as one decline', () => {
  expect(verdict(['error'], '2027-05-03')).toBe('again 2027-05-03T12:10');
  expect(verdict(['declined', ...Array(3).fill('error')], '2027-05-04')).toBe('again 2027-05-04T13:00');
  expect(verdict(Array(7).fill('error'), '2027-05-03')).toBe('again 2027-05-04T00:00');
  expect(verdict(Array(28).fill('error'), '2027-05-12')).toBe('failed');
});

// catches(schedule: what is in doubt is not paid again)
test('paid, pending, in doubt', () => {
  for (const [status, kind] of Object.entries({
    approved: 'paid',
    voided: 'paid',
    pending: 'pending',
    unknown: 'in doubt',
  }))
    expect(verdict(['declined', status], '2027-05-04')).toBe(kind);
});
