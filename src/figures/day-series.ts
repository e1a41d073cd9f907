// A day as a series: one number for each minute or hour, however long the day is.
import { sydneyTimestamp } from '../values/time.js';

/** One number for each minute or hour of a day in Sydney. Future steps are absent. */
export interface DaySeries {
  /** The start of the day, and the length of a step. */
  readonly from: string;
  readonly stepSeconds: number;
  readonly approved: readonly number[];
  readonly declined: readonly number[];
  readonly inDoubt: readonly number[];
  readonly error: readonly number[];
  /** By currency: approved cents taken from customers. */
  readonly volume: readonly { readonly currency: string; readonly cents: readonly number[] }[];
}

/** Of a minute or an hour: the count, and the cents taken from customers. */
export interface MinuteRow {
  readonly atMs: number;
  readonly status: string;
  readonly currency: string;
  readonly count: number;
  readonly takenCents: number;
}

/** As many steps as the day has: two days a year, Sydney's day is an hour shorter or longer. */
export function daySeries(
  rows: readonly MinuteRow[],
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
  stepMs: number,
): DaySeries {
  const steps = Math.round((untilMs - fromMs) / stepMs);
  const place = ({ atMs }: MinuteRow) => Math.floor((atMs - fromMs) / stepMs);
  const series = (wanted: (row: MinuteRow) => boolean, of: (row: MinuteRow) => number) => {
    const numbers = new Array<number>(steps).fill(0);
    for (const row of rows) if (wanted(row)) numbers[place(row)] = (numbers[place(row)] ?? 0) + of(row);
    return numbers;
  };
  const counted = (...statuses: readonly string[]) =>
    series(
      ({ status }) => statuses.includes(status),
      ({ count }) => count,
    );
  const currencies = [
    ...new Set(rows.filter(({ takenCents }) => takenCents !== 0).map((row) => row.currency)),
  ];
  return {
    from: sydneyTimestamp(fromMs),
    stepSeconds: stepMs / 1_000,
    approved: counted('approved'),
    declined: counted('declined'),
    inDoubt: counted('unknown'),
    error: counted('error'),
    volume: currencies.sort().map((currency) => ({
      currency,
      cents: series(
        (row) => row.currency === currency,
        ({ takenCents }) => takenCents,
      ),
    })),
  };
}

/** Without the steps that have not begun. */
export function emptyAfter(series: DaySeries, nowMs: number): DaySeries {
  const { from, stepSeconds, volume } = series;
  const begun = Math.max(0, Math.floor((nowMs - Date.parse(from)) / 1_000 / stepSeconds) + 1);
  const part = (numbers: readonly number[]) => numbers.slice(0, begun);
  return {
    from,
    stepSeconds,
    approved: part(series.approved),
    declined: part(series.declined),
    inDoubt: part(series.inDoubt),
    error: part(series.error),
    volume: volume.map(({ currency, cents }) => ({ currency, cents: part(cents) })),
  };
}
