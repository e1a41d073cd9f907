// In charge of settlement days: which one is open, and when it closes.

import { addBusinessDays, isBusinessDay, nextBusinessDay, previousBusinessDay } from './business-days.js';
import { addDays, sydneyDate, sydneyInstant } from './sydney.js';

/** Sydney time. */
export const SETTLEMENT_CLOSE = '18:00';

// The day that is open at one instant stays open until its cut-off, so one answer serves every purchase until then.
let open = { day: '', fromMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };

/** The business day that is open at the instant; at the cut-off itself that is already the next one. */
export function settlementDay(instantMs: number): string {
  if (instantMs >= open.fromMs && instantMs < open.untilMs) return open.day;
  const day = openDay(instantMs);
  open = { day, fromMs: instantMs, untilMs: settlementCutOff(day) };
  return day;
}

function openDay(instantMs: number): string {
  const today = sydneyDate(instantMs);
  const closed = isBusinessDay(today) && instantMs >= settlementCutOff(today);
  return nextBusinessDay(closed ? addDays(today, 1) : today);
}

// Nearly every purchase asks for the day that is open.
let latest = { day: '', cutOffMs: 0 };

/** The instant at which the day closes. */
export function settlementCutOff(day: string): number {
  if (latest.day !== day) latest = { day, cutOffMs: sydneyInstant(day, SETTLEMENT_CLOSE) };
  return latest.cutOffMs;
}

/** How many days from the open one on a process names, should its clock be behind. */
const DAYS_AHEAD = 5;

let calendar: { readonly day: string; readonly parameters: readonly [string, string] } | undefined;

/**
 * The last day that has closed, the open one and some that follow, and when each closes: as two arrays for PostgreSQL, whose clock
 * decides which of them is open.
 */
export function settlementCalendar(instantMs: number): readonly [string, string] {
  const day = settlementDay(instantMs);
  if (calendar?.day !== day) {
    const days = [lastClosedDay(instantMs)];
    for (let ahead = 0; ahead <= DAYS_AHEAD; ahead += 1) days.push(addBusinessDays(day, ahead));
    const closes = days.map((each) => new Date(sydneyInstant(each, SETTLEMENT_CLOSE)).toISOString());
    calendar = { day, parameters: [`{${days.join(',')}}`, `{${closes.join(',')}}`] };
  }
  return calendar.parameters;
}

/** The business day before the open one. */
export function lastClosedDay(instantMs: number): string {
  return previousBusinessDay(settlementDay(instantMs));
}
