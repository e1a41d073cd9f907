// Schedules of a merchant: what is due next, and what came of the last date of each.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { read } from '../api/calls.js';
import { PagesByStatus, useStatusChoice } from '../lists/by-status.js';
import type { Column } from '../lists/column.js';
import { Mark } from '../marks.js';
import { Page } from '../shell/page.js';
import { Empty } from '../states.js';
import { money, spaced } from '../words.js';
import { useMerchantChoice } from './merchant-choice.js';
import { ScheduleCalendar } from './schedule-calendar.js';

type Schedule = Answer<'GET /schedules'>[number];

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
  const { status, chooser: states } = useStatusChoice(STATUSES);
  return (
    <Page title="Schedules" beside={chooser}>
      {merchant !== undefined && <ScheduleCalendar merchant={merchant} />}
      {states}
      {isNone && <Empty title="No merchant to choose">Add a merchant first.</Empty>}
      {merchant !== undefined && (
        <PagesByStatus
          caption="Schedules"
          columns={COLUMNS}
          queryKey={['GET /schedules', merchant, status]}
          load={(page, signal) => read('GET /schedules', { query: { merchant, status, ...page } }, signal)}
          empty={
            <Empty title={status === undefined ? 'No schedule' : `No schedule is ${status}`}>
              Merchants make them through the API: payments with a token that happen by themselves on their
              day.
            </Empty>
          }
        />
      )}
    </Page>
  );
}
