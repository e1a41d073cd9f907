// In charge of which days the banks of New South Wales work.

import { Temporal } from 'temporal-polyfill';
import { BANK_HOLIDAYS } from './bank-holidays.js';
import { addDays } from './sydney.js';

const SATURDAY = 6;

export function isBusinessDay(date: string): boolean {
  const { dayOfWeek, year } = Temporal.PlainDate.from(date);
  // Of years beyond the table only the weekends are known.
  return dayOfWeek < SATURDAY && !BANK_HOLIDAYS[year]?.includes(date.slice('YYYY-'.length));
}

/** The first business day on or after the date. */
export function nextBusinessDay(date: string): string {
  let day = date;
  while (!isBusinessDay(day)) day = addDays(day, 1);
  return day;
}

/** The last business day before the date. */
export function previousBusinessDay(date: string): string {
  let day = addDays(date, -1);
  while (!isBusinessDay(day)) day = addDays(day, -1);
  return day;
}

/**
 * Counts from the first business day on or after the date, as banks do: what comes in at the weekend came in on
 * Monday, and one business day later is Tuesday.
 */
export function addBusinessDays(date: string, days: number): string {
  if (!Number.isSafeInteger(days) || days < 0) throw new RangeError(`not a number of business days: ${days}`);
  let day = nextBusinessDay(date);
  for (let left = days; left > 0; left--) day = nextBusinessDay(addDays(day, 1));
  return day;
}
