// How amounts, times and names read on the page: amounts always with their currency, times by Sydney's clock.

import { amountText, decimalsOf } from '../../src/values/money.js';

export { amountText, CURRENCIES, centsIn, isAmountText } from '../../src/values/money.js';

const AMOUNTS = new Map<string, Intl.NumberFormat>();

/** `A$12.50`, `US$3.00`, `¥120`. */
export function money(cents: number | string | bigint, currency: string): string {
  let format = AMOUNTS.get(currency);
  if (format === undefined) {
    format = formatFor(currency);
    AMOUNTS.set(currency, format);
  }
  // As a text, since a sum of years may be more than a double holds exactly.
  return format.format(amountText(cents, currency) as Intl.StringNumericLiteral);
}

function formatFor(currency: string): Intl.NumberFormat {
  const decimals = decimalsOf(currency);
  const fraction = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  try {
    return new Intl.NumberFormat('en', {
      style: 'currency',
      currency,
      currencyDisplay: 'symbol',
      ...fraction,
    });
  } catch {
    return new Intl.NumberFormat('en', fraction);
  }
}

const SYDNEY = 'Australia/Sydney';
const MOMENT = new Intl.DateTimeFormat('en-AU', {
  timeZone: SYDNEY,
  day: '2-digit',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const CLOCK = new Intl.DateTimeFormat('en-AU', {
  timeZone: SYDNEY,
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const DAY = new Intl.DateTimeFormat('en-CA', {
  timeZone: SYDNEY,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
});

/** `16 Nov 2026, 22:13:05`. What is no time is shown as it is. */
export function moment(text: string | number | null | undefined): string {
  if (text === null || text === undefined || text === '') return '–';
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? String(text) : MOMENT.format(date);
}

const SHORT = new Intl.DateTimeFormat('en-AU', {
  timeZone: SYDNEY,
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hour12: false,
});

/** `16 Nov, 22:13`, for narrow screens. */
export function shortMoment(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : SHORT.format(date);
}

export function clock(ms: number): string {
  return CLOCK.format(ms);
}

/** The day in Sydney: `2026-11-16`. */
export function dayOf(ms: number): string {
  return DAY.format(ms);
}

const WEEKDAY = new Intl.DateTimeFormat('en-AU', {
  timeZone: 'UTC',
  weekday: 'short',
  day: 'numeric',
  month: 'short',
});

/** A day with its weekday: `Mon 16 Nov`. */
export function weekday(day: string): string {
  return WEEKDAY.format(new Date(`${day}T12:00:00Z`)).replace(',', '');
}

export function isDay(text: string): boolean {
  const date = new Date(`${text}T12:00:00Z`);
  return (
    /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
  );
}

/** The last second of a day in Sydney, which is ten or eleven hours ahead. */
export function endOfDay(day: string): string {
  const ends = [10, 11].map((hours) => `${day}T23:59:59+${hours}:00`);
  return ends.find((end) => clock(Date.parse(end)) === '23:59:59') ?? `${day}T23:59:59Z`;
}

export function daysLater(day: string, days: number): string {
  return new Date(Date.parse(`${day}T12:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

const COUNTS = new Intl.NumberFormat('en-AU');

export function count(number: number): string {
  return COUNTS.format(number);
}

export function percent(rate: number | null | undefined): string {
  return rate === null || rate === undefined ? '–' : `${(rate * 100).toFixed(1)}%`;
}

/** `standalone_refund` → `standalone refund`. */
export function spaced(name: string | null | undefined): string {
  return name === null || name === undefined || name === '' ? '–' : name.replaceAll('_', ' ');
}

export function seconds(number: number | null): string {
  if (number === null) return '–';
  if (number < 120) return `${Math.round(number)} s`;
  return number < 7_200 ? `${Math.round(number / 60)} min` : `${Math.round(number / 3_600)} h`;
}
