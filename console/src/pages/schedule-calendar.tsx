// The calendar of a merchant's schedules: what is due on which day, what has failed and why, and how many are paused.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useRead } from '../api/queries.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { transactionAt } from '../lists/filtered.js';
import { When } from '../marks.js';
import { Section } from '../shell/page.js';
import { Shown } from '../states.js';
import { count, money, spaced, weekday } from '../words.js';

type Calendar = Answer<'GET /schedules/calendar'>;
type Day = Calendar['days'][number];
type Failure = Calendar['failures'][number];

const AGAIN_MS = 30_000;

export function ScheduleCalendar({ merchant }: { readonly merchant: number }): ReactNode {
  const query = useRead(
    'GET /schedules/calendar',
    { query: { merchant } },
    { everyMs: AGAIN_MS, keepPrevious: true },
  );
  return (
    <Shown query={query}>
      {(calendar) => (
        <>
          <Section title="Four weeks">
            <ol className="weeks">
              {calendar.days.map((day) => (
                <DayOfCalendar key={day.day} day={day} calendar={calendar} />
              ))}
            </ol>
            <Paused merchant={merchant} paused={calendar.paused} />
          </Section>
          {calendar.failures.length > 0 && <Failures merchant={merchant} calendar={calendar} />}
        </>
      )}
    </Shown>
  );
}

function DayOfCalendar({
  day: { day, due, failed },
  calendar: { today, left_out_from },
}: {
  readonly day: Day;
  readonly calendar: Calendar;
}): ReactNode {
  const isMore = left_out_from !== null && day >= left_out_from;
  const isEmpty = due.length === 0 && failed.length === 0 && !isMore;
  const when = day === today ? 'today' : day < today ? 'past' : 'ahead';
  return (
    <li data-when={when} data-empty={isEmpty && when !== 'today'}>
      <h3>
        <time dateTime={day}>{weekday(day)}</time>
        {when === 'today' && ' – today'}
      </h3>
      {due.map(({ currency, count: number, again, cents }) => (
        <p key={currency}>
          <strong>{money(cents, currency)}</strong> {count(number)} due
          {again > 0 && `, ${count(again)} tried again`}
        </p>
      ))}
      {isMore && <p className="dim">and more, which were not counted</p>}
      {failed.map(({ reason, count: number }) => (
        <p key={reason} className="bad">
          {count(number)} failed: {spaced(reason)}
        </p>
      ))}
    </li>
  );
}

function Paused({ merchant, paused }: { readonly merchant: number; readonly paused: number }): ReactNode {
  if (paused === 0) return null;
  const said = paused === 1 ? '1 schedule is paused' : `${count(paused)} schedules are paused`;
  return (
    <p>
      <Link href={`/schedules?merchant=${merchant}&status=paused`}>{said}</Link>: nothing is paid until it is
      resumed.
    </p>
  );
}

function Failures({
  merchant,
  calendar: { organisation, failures },
}: {
  readonly merchant: number;
  readonly calendar: Calendar;
}): ReactNode {
  const columns: readonly Column<Failure>[] = [
    {
      key: 'reference',
      title: 'Schedule',
      show: ({ id, reference }) => (
        <div className="cut" title={reference}>
          <Link href={`/schedules/${merchant}/${id}`} data-row-link>
            {reference}
          </Link>
        </div>
      ),
    },
    { key: 'date', title: 'Date', show: ({ date }) => date },
    {
      key: 'reason',
      title: 'Why',
      show: ({ reason, message }) => (message === null ? spaced(reason) : `${spaced(reason)}: ${message}`),
    },
    {
      key: 'audit',
      title: 'Transaction',
      show: ({ audit }) =>
        audit === null ? '–' : <Link href={transactionAt({ organisation, audit })}>{audit}</Link>,
    },
    { key: 'failed', title: 'Failed', show: ({ failed }) => <When at={failed} />, wide: true },
  ];
  return (
    <Section title="Failed since last week">
      <DataTable
        caption="Failed since last week"
        columns={columns}
        rows={failures}
        keyOf={({ id, date }) => `${id} ${date}`}
        wrapping
      />
    </Section>
  );
}
