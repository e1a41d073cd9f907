// Times and dates as messages write them.
import { addDays, sydneyDate, sydneyTimestamp } from '../../values/time.js';

interface Second {
  readonly second: number;
  /** MMDDhhmmss, UTC. */
  readonly utc: string;
  /** The merchant's time, hhmmss, and date, MMDD. */
  readonly localTime: string;
  readonly localDate: string;
  /** YDDDhh: the last digit of the year, the day of the year and the hour, UTC. Retrieval references begin with it. */
  readonly hourOfYear: string;
}

// Nearly every message falls into the same second as the one before. Not computed at load: the first use of a time zone takes 25 ms,
// which commands without messages are spared.
let lastSecond: Second | undefined;

function at(instantMs: number): Second {
  const second = Math.floor(instantMs / 1_000);
  if (lastSecond?.second !== second) lastSecond = secondOf(second);
  return lastSecond;
}

function secondOf(second: number): Second {
  const instantMs = second * 1_000;
  const utc = new Date(instantMs);
  const [utcText, localText] = [utc.toISOString(), sydneyTimestamp(instantMs)];
  const year = utc.getUTCFullYear();
  const day = Math.floor((instantMs - Date.UTC(year, 0, 1)) / 86_400_000) + 1;
  return {
    second,
    utc: date(utcText) + clock(utcText),
    localTime: clock(localText),
    localDate: date(localText),
    hourOfYear: `${year % 10}${String(day).padStart(3, '0')}${utcText.slice(11, 13)}`,
  };
}

function date(text: string): string {
  return text.slice(5, 7) + text.slice(8, 10);
}

function clock(text: string): string {
  return text.slice(11, 13) + text.slice(14, 16) + text.slice(17, 19);
}

/** MMDDhhmmss, UTC. */
export function utcTime(instantMs: number): string {
  return at(instantMs).utc;
}

/** The merchant's time, hhmmss. */
export function localTime(instantMs: number): string {
  return at(instantMs).localTime;
}

/** The merchant's date, MMDD. */
export function localDate(instantMs: number): string {
  return at(instantMs).localDate;
}

/** YDDDhh, UTC. */
export function hourOfYear(instantMs: number): string {
  return at(instantMs).hourOfYear;
}

const DAYS_BEHIND = 7;
const DAYS_AHEAD = 14;

// Nearly every answer of a day names the same date.
let last = { today: '', day: '', date: undefined as string | undefined };

/** The date that a host means by MMDD, if it is near; undefined for a distant one, which cannot be a settlement date. */
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
