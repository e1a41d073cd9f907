// The rows of a query, or its loading, error or empty state.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Empty, Shown } from '../states.js';
import { DataTable, type DataTableProps } from './data-table.js';

export interface ListProps<Row> extends Omit<DataTableProps<Row>, 'rows'> {
  readonly query: UseQueryResult<readonly Row[]>;
  readonly empty: string;
  /** What the operator can do about that. */
  readonly emptyAdvice?: string;
  /** Only these. */
  readonly only?: (row: Row) => boolean;
}

export function List<Row>({ query, empty, emptyAdvice, only, ...table }: ListProps<Row>): ReactNode {
  return (
    <Shown query={query}>
      {(all) => {
        const rows = only === undefined ? all : all.filter(only);
        return rows.length === 0 ? (
          <Empty title={empty}>{emptyAdvice}</Empty>
        ) : (
          <DataTable {...table} rows={rows} />
        );
      }}
    </Shown>
  );
}
