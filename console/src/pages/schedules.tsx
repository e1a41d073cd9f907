// Schedules of a merchant: what is due next, and what came of the last date of each.
import { NativeSelect } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { read } from '../api/calls.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { Mark } from '../marks.js';
import { Page } from '../shell/page.js';
import { Empty, Failure, Loading } from '../states.js';
import { money, spaced } from '../words.js';
import { useMerchantChoice } from './merchant-choice.js';
import { ScheduleCalendar } from './schedule-calendar.js';

type Schedule = Answer<'GET /schedules'>[number];

const PAGE = 100;
/** Those that stand in the address. */
const STATUSES = ['active', 'paused', 'ended', 'cancelled'];

const TONES: Readonly<Record<string, 'good' | 'bad' | 'doubt'>> = {
  active: 'good',
  paid: 'good',
  failed: 'bad',
  retrying: 'bad',
  changed: 'bad',
  processing: 'doubt',
  pending: 'doubt',
};

export function toneOf(status: string): 'good' | 'bad' | 'doubt' | undefined {
  return TONES[status];
}

const COLUMNS: readonly Column<Schedule>[] = [
  {
    key: 'reference',
    title: 'Reference',
    show: ({ id, merchant, reference }) => (
      <div className="cut" title={reference ?? id}>
        <Link href={`/schedules/${merchant}/${id}`} data-row-link>
          {reference ?? id}
        </Link>
      </div>
    ),
  },
  { key: 'status', title: 'State', show: ({ status }) => <StateMark word={status} /> },
  {
    key: 'amount',
    title: 'Amount',
    number: true,
    show: ({ amount_cents, currency }) => (amount_cents === null ? '–' : money(amount_cents, currency ?? '')),
  },
  { key: 'every', title: 'How often', show: ({ every }) => every ?? '–', wide: true },
  { key: 'next', title: 'Next date', show: ({ next }) => next ?? '–' },
  { key: 'last_date', title: 'Last date', show: ({ last_date }) => last_date ?? '–', wide: true },
  {
    key: 'last_status',
    title: 'Came to',
    show: ({ last_status }) => (last_status === null ? '–' : <StateMark word={last_status} />),
  },
  { key: 'reason', title: 'Why', show: ({ reason }) => (reason === null ? '–' : spaced(reason)), wide: true },
];

export function StateMark({ word }: { readonly word: string }): ReactNode {
  const tone = toneOf(word);
  return tone === undefined ? <Mark word={word} /> : <Mark word={word} tone={tone} />;
}

export default function Schedules(): ReactNode {
  const { merchant, chooser, isNone } = useMerchantChoice();
  const [search, setSearch] = useSearchParams();
  const status = STATUSES.find((one) => one === search.get('status'));
  const choose = (chosen: string) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      if (chosen === '') after.delete('status');
      else after.set('status', chosen);
      return after;
    });
  return (
    <Page title="Schedules" beside={chooser}>
      {merchant !== undefined && <ScheduleCalendar merchant={merchant} />}
      <div className="filters">
        <NativeSelect
          label="State"
          value={status ?? ''}
          data={[{ value: '', label: 'any' }, ...STATUSES]}
          onChange={(event) => choose(event.currentTarget.value)}
        />
      </div>
      {isNone && <Empty title="No merchant to choose">Add a merchant first.</Empty>}
      {merchant !== undefined && <Listed merchant={merchant} status={status} />}
    </Page>
  );
}

function Listed({
  merchant,
  status,
}: {
  readonly merchant: number;
  readonly status: string | undefined;
}): ReactNode {
  const query = useInfiniteQuery({
    queryKey: ['GET /schedules', merchant, status],
    queryFn: ({ pageParam, signal }) =>
      read('GET /schedules', { query: { merchant, status, limit: PAGE, after: pageParam } }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: readonly Schedule[]) => (page.length < PAGE ? undefined : page.at(-1)?.id),
  });
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const rows = useMemo(() => (data?.pages ?? []).flat(), [data]);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  if (query.isError) return <Failure error={query.error} again={() => void query.refetch()} />;
  if (data === undefined) return <Loading />;
  if (rows.length === 0)
    return (
      <Empty title={status === undefined ? 'No schedule' : `No schedule is ${status}`}>
        Merchants make them through the API: payments with a token that happen by themselves on their day.
      </Empty>
    );
  return <DataTable caption="Schedules" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} onEnd={onEnd} />;
}
