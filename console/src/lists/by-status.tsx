// Lists of a merchant by status: which one is chosen stands in the address, and further pages are loaded at the end of the list.
import { NativeSelect } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { Failure, Loading } from '../states.js';
import type { Column } from './column.js';
import { DataTable } from './data-table.js';

const PAGE = 100;

export interface StatusChoice {
  /** Undefined: any. */
  readonly status: string | undefined;
  readonly chooser: ReactNode;
}

export function useStatusChoice(statuses: readonly string[]): StatusChoice {
  const [search, setSearch] = useSearchParams();
  const status = statuses.find((one) => one === search.get('status'));
  const choose = (chosen: string) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      if (chosen === '') after.delete('status');
      else after.set('status', chosen);
      return after;
    });
  const chooser = (
    <div className="filters">
      <NativeSelect
        label="State"
        value={status ?? ''}
        data={[{ value: '', label: 'any' }, ...statuses]}
        onChange={(event) => choose(event.currentTarget.value)}
      />
    </div>
  );
  return { status, chooser };
}

export interface PagesByStatusProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** What the list depends on, its route first. */
  readonly queryKey: readonly unknown[];
  load(page: { limit: number; after: string | undefined }, signal: AbortSignal): Promise<readonly Row[]>;
  /** Shown where there is none. */
  readonly empty: ReactNode;
}

export function PagesByStatus<Row extends { readonly id: string }>({
  caption,
  columns,
  queryKey,
  load,
  empty,
}: PagesByStatusProps<Row>): ReactNode {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => load({ limit: PAGE, after: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: readonly Row[]) => (page.length < PAGE ? undefined : page.at(-1)?.id),
  });
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const rows = useMemo(() => (data?.pages ?? []).flat(), [data]);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  if (query.isError) return <Failure error={query.error} again={() => void query.refetch()} />;
  if (data === undefined) return <Loading />;
  if (rows.length === 0) return empty;
  return <DataTable caption={caption} columns={columns} rows={rows} keyOf={({ id }) => id} onEnd={onEnd} />;
}
