// In charge of which days the banks of New South Wales work.

import { createRequire } from 'node:module';
import type Holidays from 'date-holidays';
import { Temporal } from 'temporal-polyfill';
import { addDays } from './sydney.js';

const SATURDAY = 6;

// The holiday rules of the whole world come with the library and take a tenth of a second to load: many a command
// never asks for a business day, so they are loaded at the first question, which has to be answered synchronously.
let calendar: Holidays | undefined;

function newSouthWales(): Holidays {
  if (calendar === undefined) {
    const Calendar = createRequire(import.meta.url)('date-holidays') as typeof Holidays;
    calendar = new Calendar('AU', 'NSW');
  }
  return calendar;
}

const holidaysByYear = new Map<number, ReadonlySet<string>>();

function holidaysOf(year: number): ReadonlySet<string> {
  let holidays = holidaysByYear.get(year);
  if (holidays === undefined) {
    holidays = new Set(
      newSouthWales()
        .getHolidays(year)
        // `bank` is the August bank holiday: shops are open, banks are not.
        .filter((holiday) => holiday.type === 'public' || holiday.type === 'bank')
        .map((holiday) => holiday.date.slice(0, 10)),
    );
    holidaysByYear.set(year, holidays);
  }
  return holidays;
}

export function isBusinessDay(date: string): boolean {
  const day = Temporal.PlainDate.from(date);
  return day.dayOfWeek < SATURDAY && !holidaysOf(day.year).has(date);
}

/** The first business day on or after the date. */
export function nextBusinessDay(date: string): string {
  let day = date;
  while (!isBusinessDay(day)) day = addDays(day, 1);
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
