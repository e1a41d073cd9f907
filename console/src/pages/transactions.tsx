// Transactions: one search box, every filter, and a list of any length.
import { Button, Menu } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { TransactionsAnswer } from '../../../src/console/interface.js';
import { useSave } from '../acting.js';
import { read, withQuery } from '../api/calls.js';
import { useChosenColumns } from '../lists/chosen-columns.js';
import { DataTable } from '../lists/data-table.js';
import { searchOf, transactionsAt } from '../lists/filtered.js';
import { useMode } from '../mode.js';
import { Page } from '../shell/page.js';
import { Empty, Failure, Loading } from '../states.js';
import { count, spaced } from '../words.js';
import { SavedViews } from './saved-views.js';
import { TRANSACTION_COLUMNS } from './transaction-columns.js';
import { type Filters, filtersIn, TransactionFilters } from './transaction-filters.js';

const PAGE = 100;

export function useTransactions(filters: Filters, limit = PAGE) {
  return useInfiniteQuery({
    queryKey: ['GET /transactions', filters, limit],
    queryFn: ({ pageParam, signal }) =>
      read('GET /transactions', { query: { ...filters, limit, after: pageParam } }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: TransactionsAnswer) => next ?? undefined,
    placeholderData: (before) => before,
  });
}

export default function Transactions(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const mode = useMode();
  const filters: Filters = useMemo(() => ({ mode, ...filtersIn(search) }), [search, mode]);
  const query = useTransactions(filters);
  const { chosen, chooser } = useChosenColumns('transactions', TRANSACTION_COLUMNS);
  const apply = (change: Filters) =>
    setSearch((before) => new URLSearchParams(searchOf({ ...Object.fromEntries(before), mode, ...change })));
  return (
    <Page
      title="Transactions"
      actions={
        <>
          {chooser}
          <SavedViews search={searchOf(filters)} />
          <AsFile filters={filters} understood={query.data?.pages[0]?.understood ?? []} />
          <Button variant="default" component={Link} href={`/transactions?mode=${mode}`}>
            Clear
          </Button>
        </>
      }
    >
      <TransactionFilters filters={filters} apply={apply} />
      <Found query={query} columns={chosen} />
    </Page>
  );
}

type Meanings = TransactionsAnswer['understood'];

/** A file of exactly the filter; of a text, everything that one of its meanings finds. */
function AsFile({
  filters,
  understood,
}: {
  readonly filters: Filters;
  readonly understood: Meanings;
}): ReactNode {
  const save = useSave();
  const get = (filter: object) => void save(withQuery('/transactions.csv', filter as Filters));
  if (filters.q === undefined)
    return (
      <Button variant="default" onClick={() => get(filters)}>
        CSV
      </Button>
    );
  const files = understood.flatMap(({ as, filter }) => (filter === undefined ? [] : [{ as, filter }]));
  if (files.length === 0) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default">CSV</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {files.map(({ as, filter }) => (
          <Menu.Item key={JSON.stringify(filter)} onClick={() => get({ mode: filters.mode, ...filter })}>
            By {spaced(as)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Found({
  query,
  columns,
}: {
  readonly query: ReturnType<typeof useTransactions>;
  readonly columns: typeof TRANSACTION_COLUMNS;
}): ReactNode {
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const rows = useMemo(() => data?.pages.flatMap(({ results }) => results) ?? [], [data]);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  if (query.isError) return <Failure error={query.error} again={() => void query.refetch()} />;
  if (data === undefined) return <Loading lines={8} />;
  return (
    <>
      <Understood understood={data.pages[0]?.understood ?? []} />
      {rows.length === 0 && !hasNextPage ? (
        <Empty title="No matching transaction">Remove a filter, or look further back.</Empty>
      ) : (
        <DataTable
          caption="Transactions"
          columns={columns}
          rows={rows}
          keyOf={({ organisation, audit }) => `${organisation}/${audit}`}
          onEnd={onEnd}
        />
      )}
      <p className="dim" role="status">
        {count(rows.length)} shown
        {hasNextPage ? (
          <>
            , there are more.{' '}
            <Button size="compact-xs" variant="default" loading={isFetching} onClick={onEnd}>
              Load more
            </Button>
          </>
        ) : (
          ', that is all.'
        )}
      </p>
    </>
  );
}

/** What the text in the search box was taken for. */
function Understood({ understood }: { readonly understood: Meanings }): ReactNode {
  const mode = useMode();
  if (understood.length === 0) return null;
  return (
    <p>
      Taken for:{' '}
      {understood.map(({ as, found, filter, words }) => {
        const said = `${spaced(as)}${words === undefined ? '' : ` ${words}`} (${count(found)})`;
        return (
          <span key={`${as} ${words ?? ''}`} className="mark">
            {filter === undefined ? said : <Link href={transactionsAt({ mode, ...filter })}>{said}</Link>}
          </span>
        );
      })}
    </p>
  );
}
