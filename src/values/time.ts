// Time: Sydney's clock, the banks' business days, settlement days, and the texts of periods and durations. Everywhere else time is an
// instant in milliseconds since 1970 UTC.
import { Temporal } from 'temporal-polyfill';
import { BANK_HOLIDAYS } from './bank-holidays.js';

const SYDNEY = 'Australia/Sydney';
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

type Offset = { offsetMs: number; suffix: string };

// Daylight saving begins and ends on a full hour UTC, so one offset holds for a whole hour. Asking the time zone each time would cost
// more than the rest of a timestamp.
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

// Building the date part is expensive, and nearly all timestamps fall into a few minutes: the current minute, the close of the day, and
// recent ones. Each minute has one slot in the table, where it replaces another minute.
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

/** The Monday of its week. */
export function mondayBefore(date: string): string {
  return addDays(date, 1 - Temporal.PlainDate.from(date).dayOfWeek);
}

/** How far apart the dates of something regular are. */
export type Interval = { readonly [Unit in 'days' | 'weeks' | 'months']?: number };

/** So many intervals after the date. In a month that is too short it is the last day: the 31st is the 28th of February, and then the 31st. */
export function dateAfter(date: string, interval: Interval, times: number): string {
  const { days = 0, weeks = 0, months = 0 } = interval;
  const after = { days: days * times, weeks: weeks * times, months: months * times };
  return Temporal.PlainDate.from(date).add(after).toString();
}

const SATURDAY = 6;

/** Whether the banks of New South Wales are open on the date. */
export function isBusinessDay(date: string): boolean {
  const { dayOfWeek, year } = Temporal.PlainDate.from(date);
  // Beyond the table only weekends are known.
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
 * Counts from the first business day on or after the date, as banks do: a weekend counts as the Monday after it, so one business day
 * later is Tuesday.
 */
export function addBusinessDays(date: string, days: number): string {
  if (!Number.isSafeInteger(days) || days < 0) throw new RangeError(`not a number of business days: ${days}`);
  let day = nextBusinessDay(date);
  for (let left = days; left > 0; left--) day = nextBusinessDay(addDays(day, 1));
  return day;
}

/** Sydney time. */
export const SETTLEMENT_CLOSE = '18:00';

// A day stays open until its cut-off, so one result serves every purchase until then.
let openDay = { day: '', fromMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };

/** The business day that is open at the instant. At the cut-off itself, the next day is open. */
export function settlementDay(instantMs: number): string {
  if (instantMs >= openDay.fromMs && instantMs < openDay.untilMs) return openDay.day;
  const day = dayOpenAt(instantMs);
  openDay = { day, fromMs: instantMs, untilMs: settlementCutOff(day) };
  return day;
}

function dayOpenAt(instantMs: number): string {
  const today = sydneyDate(instantMs);
  const closed = isBusinessDay(today) && instantMs >= settlementCutOff(today);
  return nextBusinessDay(closed ? addDays(today, 1) : today);
}

// Nearly every purchase asks about the open day.
let latestCutOff = { day: '', cutOffMs: 0 };

/** The instant at which the day closes. */
export function settlementCutOff(day: string): number {
  if (latestCutOff.day !== day) latestCutOff = { day, cutOffMs: sydneyInstant(day, SETTLEMENT_CLOSE) };
  return latestCutOff.cutOffMs;
}

/** How many days after the open day are listed, in case this process's clock is behind. */
const DAYS_AHEAD = 5;

let calendar: { readonly day: string; readonly parameters: readonly [string, string] } | undefined;

/**
 * The last closed day, the open day and some that follow, with the instant at which each closes. Two arrays for PostgreSQL, whose clock
 * decides which day is open.
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

// Clients give the ends of a period as instants with an offset, or as days in Sydney.
const DATE = '[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])';
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)([.,][0-9]{1,9})?)?';
const OFFSET = '(Z|[-+ ]([01][0-9]|2[0-3])(:?[0-5][0-9])?)';

export const DAY_PATTERN = `^${DATE}$`;
/** A space in place of the offset's plus sign is accepted: URLs decode `+` as a space. */
export const INSTANT_OR_DAY_PATTERN = `^${DATE}(T${TIME}${OFFSET})?$`;

const dayText = new RegExp(DAY_PATTERN);
const instantOrDayText = new RegExp(INSTANT_OR_DAY_PATTERN);

/** Whether the text is a calendar day. */
export function isDay(text: string): boolean {
  return dayText.test(text) && valid(() => Temporal.PlainDate.from(text)) !== undefined;
}

/** The first millisecond of a period; undefined if the text is neither a day nor an instant. */
export function periodStart(text: string): number | undefined {
  return isDay(text) ? sydneyInstant(text, '00:00') : instant(text);
}

/** The exclusive end of a period in milliseconds: the period includes the instant, or the whole day. */
export function periodEnd(text: string): number | undefined {
  if (isDay(text)) return sydneyInstant(addDays(text, 1), '00:00');
  const last = instant(text);
  return last === undefined ? undefined : last + 1;
}

function instant(text: string): number | undefined {
  if (!instantOrDayText.test(text) || !text.includes('T')) return undefined;
  return valid(() => Temporal.Instant.from(text.replace(' ', '+')))?.epochMilliseconds;
}

function valid<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration such as `3d` or `250ms` in milliseconds; undefined if the text is not a positive whole number with a unit. */
export function parseDuration(text: string): number | undefined {
  const parts = /^([1-9][0-9]*)(ms|s|m|h|d)$/.exec(text);
  const unitMs = UNIT_MS[parts?.[2] ?? ''];
  if (unitMs === undefined) return undefined;
  const durationMs = Number(parts?.[1]) * unitMs;
  return Number.isSafeInteger(durationMs) ? durationMs : undefined;
}

/** In the largest unit that it is a whole number of. */
export function durationText(ms: number): string {
  const units = Object.entries(UNIT_MS).reverse();
  const [unit, unitMs] = units.find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / unitMs}${unit}`;
}

// Many log lines share a millisecond.
let isoMs = 0;
let isoText = '';

/** The current time in ISO 8601. */
export function isoNow(): string {
  const nowMs = Date.now();
  if (nowMs !== isoMs) {
    isoMs = nowMs;
    isoText = new Date(nowMs).toISOString();
  }
  return isoText;
}
