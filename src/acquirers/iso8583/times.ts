// Times and dates as they stand in messages.
import { addDays, sydneyDate, sydneyTimestamp } from '../../values/sydney.js';

/** MMDDhhmmss, UTC. */
export function utcTime(instantMs: number): string {
  const text = new Date(instantMs).toISOString();
  return `${text.slice(5, 7)}${text.slice(8, 10)}${clock(text)}`;
}

/** The merchant's time, hhmmss, and date, MMDD. */
export function localTime(instantMs: number): { readonly time: string; readonly date: string } {
  const text = sydneyTimestamp(instantMs);
  return { time: clock(text), date: `${text.slice(5, 7)}${text.slice(8, 10)}` };
}

function clock(text: string): string {
  return `${text.slice(11, 13)}${text.slice(14, 16)}${text.slice(17, 19)}`;
}

/** YDDDhh: the last digit of the year, the day of the year and the hour, UTC, as retrieval references begin. */
export function hourOfYear(instantMs: number): string {
  const at = new Date(instantMs);
  const year = at.getUTCFullYear();
  const day = Math.floor((instantMs - Date.UTC(year, 0, 1)) / 86_400_000) + 1;
  return `${year % 10}${String(day).padStart(3, '0')}${String(at.getUTCHours()).padStart(2, '0')}`;
}

const DAYS_BEHIND = 7;
const DAYS_AHEAD = 14;

// Almost every answer of a day names the same one.
let last = { today: '', day: '', date: undefined as string | undefined };

/** The day that a host means by MMDD, if it is near: one that is not is no settlement date. */
export function settlementDate(day: string | undefined, nowMs: number): string | undefined {
  if (day === undefined) return undefined;
  const today = sydneyDate(nowMs);
  if (last.today !== today || last.day !== day) last = { today, day, date: nearest(today, day) };
  return last.date;
}

function nearest(today: string, day: string): string | undefined {
  const ending = `-${day.slice(0, 2)}-${day.slice(2)}`;
  for (let away = -DAYS_BEHIND; away <= DAYS_AHEAD; away += 1) {
    const near = addDays(today, away);
    if (near.endsWith(ending)) return near;
  }
  return undefined;
}
