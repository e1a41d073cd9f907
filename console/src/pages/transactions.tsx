// Transactions: one search box, every filter, and a list of any length.
import { Button, Menu } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { TransactionsAnswer } from '../../../src/console/interface.js';
import { useSave } from '../acting.js';
import { read, withQuery } from '../api/calls.js';
import { useRead } from '../api/queries.js';
import { useChosenColumns } from '../lists/chosen-columns.js';
import { DataTable } from '../lists/data-table.js';
import { searchOf, transactionsAt } from '../lists/filtered.js';
import { useMode } from '../mode.js';
import { Page } from '../shell/page.js';
import { Empty, Failure, Loading } from '../states.js';
import { count, money, spaced } from '../words.js';
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
  // A text that can mean only one thing becomes filters, which can be seen, changed and shared one by one.
  const understood = query.data?.pages[0]?.understood ?? [];
  const only = understood.length === 1 && !query.isPlaceholderData ? understood[0]?.filter : undefined;
  const { q } = filters;
  useEffect(() => {
    if (q !== undefined && only !== undefined)
      setSearch(new URLSearchParams(searchOf({ mode, ...only })), { replace: true });
  }, [q, only, mode, setSearch]);
  return (
    <Page
      title="Transactions"
      actions={
        <>
          {chooser}
          <SavedViews search={searchOf(filters)} />
          <AsFile filters={filters} understood={understood} />
          <Button variant="default" component={Link} href={`/transactions?mode=${mode}`}>
            Clear
          </Button>
        </>
      }
    >
      <TransactionFilters filters={filters} apply={apply} />
      <Totals filters={filters} />
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

/** What the filtered transactions come to. Of everything there ever was, it would say little. */
function Totals({ filters }: { readonly filters: Filters }): ReactNode {
  const { q, ...narrowed } = filters;
  const isNarrowed = Object.keys(narrowed).some((name) => name !== 'mode');
  const { data } = useRead(
    'GET /transactions/totals',
    { query: narrowed },
    { when: isNarrowed && q === undefined },
  );
  if (data === undefined || data.count === 0) return null;
  const sums = data.sums.flatMap(({ currency, taken_cents, given_back_cents }) => [
    ...(taken_cents > 0 ? [`${money(taken_cents, currency)} taken`] : []),
    ...(given_back_cents > 0 ? [`${money(given_back_cents, currency)} given back`] : []),
  ]);
  const transactions = `${data.more ? 'The newest ' : ''}${count(data.count)} ${data.count === 1 ? 'transaction' : 'transactions'}`;
  return <p data-totals>{[transactions, ...sums].join(' · ')}</p>;
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
  const understood = data.pages[0]?.understood ?? [];
  return (
    <>
      <Understood understood={understood} />
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
        ) : understood.some(({ more }) => more) ? (
          ', the newest of each meaning. Choose one of them above for all that it finds.'
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
      {understood.map(({ as, found, more, filter, words }) => {
        const said = `${spaced(as)}${words === undefined ? '' : ` ${words}`} (${count(found)}${more ? ' or more' : ''})`;
        return (
          <span key={`${as} ${words ?? ''}`} className="mark">
            {filter === undefined ? said : <Link href={transactionsAt({ mode, ...filter })}>{said}</Link>}
          </span>
        );
      })}
    </p>
  );
}
