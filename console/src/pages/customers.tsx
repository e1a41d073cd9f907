// Customers: searched by name, reference, number or virtual PAN. A card number is never shown, and cannot be searched for.
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { CustomersAnswer } from '../../../src/console/interface.js';
import { read } from '../api/calls.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { SearchBox } from '../lists/search-box.js';
import { ModeMark } from '../marks.js';
import { useMode } from '../mode.js';
import { Page } from '../shell/page.js';
import { Empty, Failure, Loading } from '../states.js';

type Line = CustomersAnswer['results'][number];

const COLUMNS: readonly Column<Line>[] = [
  {
    key: 'id',
    title: 'Customer',
    show: ({ organisation, id }) => (
      <Link href={`/customers/${organisation}/${id}`} data-row-link>
        {id}
      </Link>
    ),
  },
  { key: 'name', title: 'Name', show: ({ name }) => <div className="cut">{name}</div> },
  { key: 'reference', title: 'Reference', show: ({ reference }) => <div className="cut">{reference}</div> },
  { key: 'merchant', title: 'Merchant', show: ({ merchant }) => merchant, wide: true },
  { key: 'organisation', title: 'Organisation', show: ({ organisation }) => organisation, wide: true },
  { key: 'mode', title: 'Mode', show: ({ mode }) => <ModeMark mode={mode} />, wide: true },
];

export default function Customers(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const q = search.get('q') ?? '';
  const mode = useMode();
  const query = useInfiniteQuery({
    queryKey: ['GET /customers', q, mode],
    queryFn: ({ pageParam, signal }) =>
      read('GET /customers', { query: { q, mode, limit: 100, after: pageParam } }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: CustomersAnswer) => next ?? undefined,
  });
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const rows = useMemo(() => (data?.pages ?? []).flatMap(({ results }) => results), [data]);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  return (
    <Page title="Customers">
      <SearchBox
        label="Search customers"
        placeholder="A part of the name or reference, a customer’s number, or a virtual PAN"
        text={q}
        apply={(wanted) => setSearch(wanted === '' ? {} : { q: wanted })}
      />
      {query.isError && <Failure error={query.error} again={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {data !== undefined &&
        (rows.length === 0 && !hasNextPage ? (
          <Empty title="No matching customer">
            {q === ''
              ? 'Merchants make customers through the API.'
              : 'Try a part of the name, or the whole virtual PAN.'}
          </Empty>
        ) : (
          <DataTable
            caption="Customers"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ organisation, id }) => `${organisation}/${id}`}
            onEnd={onEnd}
          />
        ))}
    </Page>
  );
}
