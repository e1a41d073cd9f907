// In charge of Sydney local time; everywhere else time is an instant in milliseconds since 1970 UTC.

import { Temporal } from 'temporal-polyfill';

const SYDNEY = 'Australia/Sydney';
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

type Offset = { offsetMs: number; suffix: string };

// Daylight saving begins and ends on a full hour UTC, so one answer holds for the whole hour. Asking the time zone
// each time would cost more than all the rest of a timestamp.
const offsets = new Map<number, Offset>();
const OFFSETS_KEPT = 10_000;

function offsetAt(instantMs: number): Offset {
  const hour = Math.floor(instantMs / HOUR_MS);
  const known = offsets.get(hour);
  if (known !== undefined) return known;
  const zoned = Temporal.Instant.fromEpochMilliseconds(hour * HOUR_MS).toZonedDateTimeISO(SYDNEY);
  const offset = { offsetMs: zoned.offsetNanoseconds / 1_000_000, suffix: zoned.offset };
  // A report over years of history must not make the cache grow for ever.
  if (offsets.size >= OFFSETS_KEPT) offsets.clear();
  offsets.set(hour, offset);
  return offset;
}

interface Minute {
  readonly minute: number;
  readonly text: string;
  readonly suffix: string;
}

// Building the date part of a text is what costs. Almost every question is about one of a few minutes: the current one, the close of
// the day, and those of what was asked for lately. Each minute has one place, which it takes from another.
const minutes: (Minute | undefined)[] = new Array(256).fill(undefined);

/** Sydney's clock down to the minute (`2026-11-15T11:07`) and its offset. */
function minuteOf(instantMs: number): Minute {
  const minute = Math.floor(instantMs / MINUTE_MS);
  const place = minute & (minutes.length - 1);
  const known = minutes[place];
  if (known?.minute === minute) return known;
  const { offsetMs, suffix } = offsetAt(instantMs);
  const text = new Date(minute * MINUTE_MS + offsetMs).toISOString().slice(0, -':SS.mmmZ'.length);
  const made = { minute, text, suffix };
  minutes[place] = made;
  return made;
}

/** For example `2026-11-15T11:07:18.123+11:00`. */
export function sydneyTimestamp(instantMs: number): string {
  const { text, suffix } = minuteOf(instantMs);
  const intoMinuteMs = Math.floor(instantMs) - Math.floor(instantMs / MINUTE_MS) * MINUTE_MS;
  // Adding 100000 pads with zeros: 18123 becomes 1 18 123.
  const padded = String(100_000 + intoMinuteMs);
  return `${text}:${padded.slice(1, 3)}.${padded.slice(3)}${suffix}`;
}

/** `YYYY-MM-DD`. */
export function sydneyDate(instantMs: number): string {
  return minuteOf(instantMs).text.slice(0, 'YYYY-MM-DD'.length);
}

export function sydneyYearMonth(instantMs: number): { year: number; month: number } {
  const local = new Date(instantMs + offsetAt(instantMs).offsetMs);
  return { year: local.getUTCFullYear(), month: local.getUTCMonth() + 1 };
}

/** The instant at which Sydney's clocks show this date (`YYYY-MM-DD`) and time (`HH:MM`, seconds if wanted). */
export function sydneyInstant(date: string, time: string): number {
  return Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(SYDNEY).epochMilliseconds;
}

export function addDays(date: string, days: number): string {
  return Temporal.PlainDate.from(date).add({ days }).toString();
}
