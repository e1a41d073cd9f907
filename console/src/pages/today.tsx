// Today: how payments go, against the same day of the week before. Every number leads to its transactions.
import { Alert, Button } from '@mantine/core';
import { type ReactNode, useCallback } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import type { TodayAnswer } from '../../../src/console/interface.js';
import { useRead } from '../api/queries.js';
import { DayInput } from '../forms/day-input.js';
import { transactionsAt } from '../lists/filtered.js';
import { useLive } from '../live.js';
import { StatusMark } from '../marks.js';
import { useMode } from '../mode.js';
import { Page, Section } from '../shell/page.js';
import { Empty, Shown } from '../states.js';
import { count, dayOf, daysLater, moment, money, seconds, spaced } from '../words.js';
import { DayChart } from './day-chart.js';
import { LinksInTrouble } from './link-condition.js';
import { HoursTable, LatencyTable, LinksTable, RatesTable, ResponseCodesTable } from './today-tables.js';

const AGAIN_MS = 10_000;

export default function Today(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const { aheadMs } = useLive();
  const mode = useMode();
  const today = dayOf(Date.now() + aheadMs);
  const date = search.get('date') ?? today;
  const by = search.get('by') === 'hour' ? 'hour' : 'minute';
  const query = useRead('GET /today', { query: { date, mode } }, { keepPrevious: true, everyMs: AGAIN_MS });
  const set = (name: string, value: string) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      after.set(name, value);
      return after;
    });
  return (
    <Page
      title={date === today ? 'Today' : date}
      beside={
        query.data !== undefined && (
          <span className="dim">counted until {moment(query.data.counted_until)}</span>
        )
      }
      actions={
        <>
          <Button variant="default" onClick={() => set('by', by === 'hour' ? 'minute' : 'hour')}>
            {by === 'hour' ? 'By minute' : 'By hour'}
          </Button>
          <Button
            variant="default"
            onClick={() => set('date', daysLater(date, -1))}
            aria-label="The day before"
          >
            ‹
          </Button>
          <DayInput
            aria-label="Day"
            value={date}
            choose={(day) => day !== '' && day <= today && set('date', day)}
          />
          <Button
            variant="default"
            disabled={date >= today}
            onClick={() => set('date', daysLater(date, 1))}
            aria-label="The day after"
          >
            ›
          </Button>
        </>
      }
    >
      <Shown query={query}>{(day) => <Day day={day} by={by} />}</Shown>
    </Page>
  );
}

function Day({ day, by }: { readonly day: TodayAnswer; readonly by: 'minute' | 'hour' }): ReactNode {
  const [, navigate] = useLocation();
  const mode = useMode();
  const open = useCallback(
    (fromMs: number, untilMs: number) => {
      const from = new Date(fromMs).toISOString();
      navigate(transactionsAt({ mode, from, until: new Date(untilMs).toISOString() }));
    },
    [navigate, mode],
  );
  // Minutes are kept for some days only.
  const shown = by === 'hour' || day.minutes.day === null ? day.hours : day.minutes;
  const isEmpty = day.statuses.every((figure) => figure.count === 0);
  return (
    <>
      {day.lost_time !== null && (
        <Alert variant="outline" color="red" role="status" title="Payments were lost in a restore">
          The database was restored: what was processed from {moment(day.lost_time.from)} to{' '}
          {moment(day.lost_time.until)} is lost, and searches that find nothing are answered 503. Reconcile it
          with the acquirers, then run <code>tollgate restored done</code>.
        </Alert>
      )}
      <LinksInTrouble links={day.links} />
      <Cards day={day} />
      {isEmpty && (
        <Empty title="No payments on this day yet">
          They appear here within seconds of being made. Choose another day, or send one to the API.
        </Empty>
      )}
      <Section title={shown === day.hours ? 'By hour' : 'By minute'}>
        {shown.day !== null && <DayChart day={shown.day} before={shown.week_before} open={open} />}
        {day.hours.day !== null && <HoursTable day={day.hours.day} before={day.hours.week_before} />}
      </Section>
      <div className="columns">
        <RatesTable title="Approval by acquirer" rates={day.acquirers} />
        <RatesTable title="Approval by card type" rates={day.card_types} />
        <ResponseCodesTable codes={day.response_codes} />
        <LatencyTable latency={day.latency} />
        <LinksTable links={day.links} />
        <Lags lags={day.lags} />
      </div>
    </>
  );
}

function Cards({ day: { statuses, volumes } }: { readonly day: TodayAnswer }): ReactNode {
  return (
    <div className="cards">
      {statuses.map(({ status, count: number, week_before, filter }) => (
        <Link key={status} href={transactionsAt(filter)} className="card">
          <StatusMark status={status} />
          <div className="figure">{count(number)}</div>
          <small>
            {week_before === null ? 'not counted a week before' : `${count(week_before)} a week before`}
          </small>
        </Link>
      ))}
      {volumes.map(({ transaction_type, currency, cents, cents_week_before, filter }) => (
        <Link key={`${transaction_type} ${currency}`} href={transactionsAt(filter)} className="card">
          <span>
            {spaced(transaction_type)} {currency}
          </span>
          <div className="figure">{money(cents, currency)}</div>
          <small>
            {cents_week_before === null
              ? 'not counted a week before'
              : `${money(cents_week_before, currency)} a week before`}
          </small>
        </Link>
      ))}
    </div>
  );
}

function Lags({ lags }: { readonly lags: TodayAnswer['lags'] }): ReactNode {
  return (
    <Section title="Feed and webhooks">
      <dl className="facts">
        <dt>Feed behind by</dt>
        <dd>{seconds(lags.feed_seconds)}</dd>
        <dt>Webhooks waiting</dt>
        <dd>
          <Link href="/webhooks">{count(lags.webhooks_waiting)}</Link>
        </dd>
        <dt>Endpoints failing</dt>
        <dd>
          <Link href="/webhooks">{count(lags.webhooks_failing)}</Link>
          {lags.webhooks_failing_seconds !== null && ` for ${seconds(lags.webhooks_failing_seconds)}`}
        </dd>
      </dl>
    </Section>
  );
}
