// Figures from the hourly counts: by status, volume, acquirer, card type and response code, each with the filter that lists its
// transactions.
import type { TransactionFilter } from '../payments/finding/transaction-search.js';
import type { MinuteRow } from './day-series.js';

/** A number, and the transactions that it counts. */
export interface CountedTransactions {
  readonly count: number;
  readonly filter: TransactionFilter;
}

export interface StatusFigure extends CountedTransactions {
  readonly status: string;
  /** The same part of the same weekday, a week before. Null if nothing was counted then. */
  readonly weekBefore: number | null;
}

export interface VolumeFigure extends CountedTransactions {
  readonly transactionType: string;
  readonly currency: string;
  readonly cents: number;
  readonly centsWeekBefore: number | null;
}

export interface Rate {
  /** The acquirer link, or the card type: `bankaccount` for direct debits, empty for an unknown card scheme. */
  readonly name: string;
  readonly approved: CountedTransactions;
  readonly declined: CountedTransactions;
  readonly others: number;
  /** The share of approved among approved and declined: 0 to 1. Null if there were neither. */
  readonly rate: number | null;
  readonly rateWeekBefore: number | null;
}

export interface ResponseCodeFigure extends CountedTransactions {
  readonly responseCode: string;
  readonly status: string;
}

export interface HourRow {
  readonly atMs: number;
  readonly currency: string;
  readonly transactionType: string;
  readonly status: string;
  readonly acquirer: string;
  readonly method: string;
  readonly responseCode: string;
  readonly count: number;
  readonly cents: number;
}

const STATUSES = ['approved', 'declined', 'unknown', 'pending', 'error', 'voided'] as const;

export function asMinute(row: HourRow): MinuteRow {
  const { atMs, status, currency, count, cents, transactionType } = row;
  const takes = status === 'approved' && (transactionType === 'purchase' || transactionType === 'completion');
  return { atMs, status, currency, count, takenCents: takes ? cents : 0 };
}

export function sumOf<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  return rows.reduce((sum, row) => sum + of(row), 0);
}

function countOf(rows: readonly { readonly count: number }[]): number {
  return sumOf(rows, ({ count }) => count);
}

export function statusesOf(
  hours: readonly HourRow[],
  before: readonly MinuteRow[] | undefined,
  filter: TransactionFilter,
): StatusFigure[] {
  return STATUSES.map((status) => {
    const has = (row: { readonly status: string }) => row.status === status;
    const weekBefore = before === undefined ? null : countOf(before.filter(has));
    return { status, count: countOf(hours.filter(has)), weekBefore, filter: { ...filter, status } };
  });
}

/** Approved amounts by type and currency. */
export function volumesOf(
  hours: readonly HourRow[],
  before: readonly HourRow[] | undefined,
  filter: TransactionFilter,
): VolumeFigure[] {
  const approved = hours.filter(({ status, count }) => status === 'approved' && count > 0);
  const kinds = new Map(approved.map((row) => [`${row.transactionType} ${row.currency}`, row]));
  return [...kinds.values()].map(({ transactionType, currency }) => {
    const same = (row: HourRow) =>
      row.status === 'approved' && row.transactionType === transactionType && row.currency === currency;
    const cents = (row: HourRow) => row.cents;
    return {
      transactionType,
      currency,
      count: countOf(hours.filter(same)),
      cents: sumOf(hours.filter(same), cents),
      centsWeekBefore: before === undefined ? null : sumOf(before.filter(same), cents),
      filter: { ...filter, status: 'approved', transactionType, currency },
    };
  });
}

export function ratesOf(
  hours: readonly HourRow[],
  before: readonly HourRow[],
  by: 'acquirer' | 'method',
  filter: TransactionFilter,
  filterBy: (name: string) => TransactionFilter,
): Rate[] {
  const names = [...new Set(hours.filter(({ count }) => count > 0).map((row) => row[by]))].sort();
  return names.map((name) => {
    const of = (rows: readonly HourRow[], status: string) =>
      countOf(rows.filter((row) => row[by] === name && row.status === status));
    const figure = (status: string) => ({
      count: of(hours, status),
      filter: { ...filter, ...filterBy(name), status },
    });
    const rate = (rows: readonly HourRow[]) => {
      const decided = of(rows, 'approved') + of(rows, 'declined');
      return decided === 0 ? null : of(rows, 'approved') / decided;
    };
    const all = countOf(hours.filter((row) => row[by] === name));
    const [approved, declined] = [figure('approved'), figure('declined')];
    const others = all - approved.count - declined.count;
    return { name, approved, declined, others, rate: rate(hours), rateWeekBefore: rate(before) };
  });
}

export function responseCodesOf(hours: readonly HourRow[], filter: TransactionFilter): ResponseCodeFigure[] {
  const counts = new Map<string, ResponseCodeFigure>();
  for (const { responseCode, status, count } of hours) {
    if (responseCode === '') continue;
    const key = `${status} ${responseCode}`;
    const all = (counts.get(key)?.count ?? 0) + count;
    counts.set(key, { responseCode, status, count: all, filter: { ...filter, status, responseCode } });
  }
  return [...counts.values()].filter(({ count }) => count > 0).sort((one, other) => other.count - one.count);
}
