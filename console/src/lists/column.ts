// A column of a list: what it is called, what stands in it, and by what it is sorted.
import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly show: (row: Row) => ReactNode;
  /** Absent: the list cannot be sorted by it. */
  readonly sortBy?: (row: Row) => string | number | null;
  readonly number?: boolean;
  /** Not on narrow screens. */
  readonly wide?: boolean;
  /** Not shown unless it is chosen. */
  readonly extra?: boolean;
}

export function classOf<Row>({ number, wide }: Column<Row>): string {
  return [number === true ? 'number' : '', wide === true ? 'wide-only' : ''].join(' ').trim();
}
