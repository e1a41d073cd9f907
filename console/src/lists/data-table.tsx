// A table of any length: only visible rows are rendered. It sorts the rows it has, and loads more at its end.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { type Column, classOf } from './column.js';

const ROW_PX = 37;
/** Shorter tables are rendered whole. */
const MANY = 60;
const AHEAD = 20;

export interface DataTableProps<Row> {
  /** Said to screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** When the end of the list comes in sight. */
  readonly onEnd?: (() => void) | undefined;
  readonly wrapping?: boolean;
}

interface Order {
  readonly key: string;
  readonly falling: boolean;
}

export function DataTable<Row>(props: DataTableProps<Row>): ReactNode {
  const { caption, columns, rows, keyOf, onEnd, wrapping = false } = props;
  const [order, setOrder] = useState<Order>();
  const sorted = useMemo(() => inOrder(rows, columns, order), [rows, columns, order]);
  const scroll = useRef<HTMLElement>(null);
  const isMany = sorted.length > MANY && !wrapping;
  const virtual = useVirtualizer({
    count: isMany ? sorted.length : 0,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: AHEAD,
  });
  const seen = virtual.getVirtualItems();
  const first = seen[0]?.index ?? 0;
  const last = isMany ? (seen.at(-1)?.index ?? 0) : sorted.length - 1;
  useEffect(() => {
    if (last >= sorted.length - 1) onEnd?.();
  }, [last, sorted.length, onEnd]);
  const shown = isMany ? sorted.slice(first, last + 1) : sorted;
  return (
    <section
      className={`table-scroll ${isMany ? 'tall' : ''}`}
      ref={scroll}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={caption}
    >
      <table className={`table ${wrapping ? 'wrapping' : ''}`} aria-rowcount={sorted.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.key} column={column} order={order} setOrder={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Filler rows={isMany ? first : 0} columns={columns.length} />
          {shown.map((row, index) => (
            <tr key={keyOf(row)} aria-rowindex={first + index + 2}>
              {columns.map((column) => (
                <td key={column.key} className={classOf(column)}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
          <Filler rows={isMany ? sorted.length - 1 - last : 0} columns={columns.length} />
        </tbody>
      </table>
    </section>
  );
}

function Heading<Row>({
  column,
  order,
  setOrder,
}: {
  readonly column: Column<Row>;
  readonly order: Order | undefined;
  setOrder(order: Order): void;
}): ReactNode {
  const { key, title, sortBy } = column;
  const isChosen = order?.key === key;
  const direction = !isChosen ? 'none' : order.falling ? 'descending' : 'ascending';
  if (sortBy === undefined)
    return (
      <th scope="col" className={classOf(column)}>
        {title}
      </th>
    );
  return (
    <th scope="col" className={classOf(column)} aria-sort={direction}>
      <button type="button" onClick={() => setOrder({ key, falling: isChosen && !order.falling })}>
        {title}
        {isChosen && <span aria-hidden="true">{order.falling ? ' ↓' : ' ↑'}</span>}
      </button>
    </th>
  );
}

/** In place of the rows that are out of sight. */
function Filler({ rows, columns }: { readonly rows: number; readonly columns: number }): ReactNode {
  if (rows <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus
    <tr className="filler" aria-hidden="true">
      <td colSpan={columns} style={{ height: rows * ROW_PX }} />
    </tr>
  );
}

function inOrder<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: Order | undefined,
): readonly Row[] {
  const sortBy = columns.find(({ key }) => key === order?.key)?.sortBy;
  if (order === undefined || sortBy === undefined) return rows;
  const sorted = rows.toSorted((one, other) => compare(sortBy(one), sortBy(other)));
  return order.falling ? sorted.toReversed() : sorted;
}

function compare(one: string | number | null, other: string | number | null): number {
  if (one === null || other === null) return Number(other === null) - Number(one === null);
  return typeof one === 'number' && typeof other === 'number'
    ? one - other
    : String(one).localeCompare(String(other));
}
