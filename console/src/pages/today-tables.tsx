// The tables of Today: by hour, approval rates, response codes, latency and links.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { TodayAnswer } from '../../../src/console/interface.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { transactionsAt } from '../lists/filtered.js';
import { Mark } from '../marks.js';
import { useMode } from '../mode.js';
import { Section } from '../shell/page.js';
import { clock, count, percent, spaced } from '../words.js';
import type { DaySeries } from './day-chart.js';
import { ConditionMark } from './link-condition.js';

function Nothing(): ReactNode {
  return <p className="dim">Nothing on this day.</p>;
}

interface Hour {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly approved: number;
  readonly declined: number;
  readonly inDoubt: number;
  readonly error: number;
  readonly before: number | null;
}

export function HoursTable({
  day,
  before,
}: {
  readonly day: DaySeries;
  readonly before: DaySeries | null;
}): ReactNode {
  const mode = useMode();
  const stepMs = day.step_seconds * 1_000;
  const rows = day.approved.map((approved, index): Hour => {
    const fromMs = Date.parse(day.from) + index * stepMs;
    return {
      fromMs,
      untilMs: fromMs + stepMs,
      approved,
      declined: day.declined[index] ?? 0,
      inDoubt: day.in_doubt[index] ?? 0,
      error: day.error[index] ?? 0,
      before: before?.approved[index] ?? null,
    };
  });
  const linked = (status: string, number: number, { fromMs, untilMs }: Hour) => {
    const [from, until] = [new Date(fromMs).toISOString(), new Date(untilMs).toISOString()];
    return number === 0 ? (
      '0'
    ) : (
      <Link href={transactionsAt({ mode, status, from, until })}>{count(number)}</Link>
    );
  };
  const columns: Column<Hour>[] = [
    { key: 'hour', title: 'From', show: ({ fromMs }) => clock(fromMs).slice(0, 5) },
    {
      key: 'approved',
      title: 'Approved',
      number: true,
      show: (row) => linked('approved', row.approved, row),
    },
    {
      key: 'declined',
      title: 'Declined',
      number: true,
      show: (row) => linked('declined', row.declined, row),
    },
    { key: 'in_doubt', title: 'In doubt', number: true, show: (row) => linked('unknown', row.inDoubt, row) },
    { key: 'error', title: 'Error', number: true, show: (row) => linked('error', row.error, row) },
    {
      key: 'before',
      title: 'Approved a week before',
      number: true,
      wide: true,
      show: ({ before }) => (before === null ? '–' : count(before)),
    },
  ];
  return (
    <details>
      <summary>The numbers by hour</summary>
      <DataTable caption="By hour" columns={columns} rows={rows} keyOf={({ fromMs }) => fromMs} />
    </details>
  );
}

type Rate = TodayAnswer['acquirers'][number];

const RATES: readonly Column<Rate>[] = [
  { key: 'name', title: 'Name', show: ({ name }) => spaced(name), sortBy: ({ name }) => name },
  {
    key: 'rate',
    title: 'Approved',
    number: true,
    show: ({ rate }) => percent(rate),
    sortBy: ({ rate }) => rate,
  },
  {
    key: 'before',
    title: 'A week before',
    number: true,
    wide: true,
    show: ({ rate_week_before }) => percent(rate_week_before),
  },
  {
    key: 'approved',
    title: 'Yes',
    number: true,
    show: ({ approved }) => <Link href={transactionsAt(approved.filter)}>{count(approved.count)}</Link>,
    sortBy: ({ approved }) => approved.count,
  },
  {
    key: 'declined',
    title: 'No',
    number: true,
    show: ({ declined }) => <Link href={transactionsAt(declined.filter)}>{count(declined.count)}</Link>,
    sortBy: ({ declined }) => declined.count,
  },
  { key: 'others', title: 'Others', number: true, wide: true, show: ({ others }) => count(others) },
];

export function RatesTable({
  title,
  rates,
}: {
  readonly title: string;
  readonly rates: readonly Rate[];
}): ReactNode {
  return (
    <Section title={title}>
      {rates.length === 0 ? (
        <Nothing />
      ) : (
        <DataTable caption={title} columns={RATES} rows={rates} keyOf={({ name }) => name} />
      )}
    </Section>
  );
}

type ResponseCode = TodayAnswer['response_codes'][number];

const RESPONSE_CODES: readonly Column<ResponseCode>[] = [
  {
    key: 'code',
    title: 'Code',
    show: ({ response_code }) => response_code,
    sortBy: ({ response_code }) => response_code,
  },
  { key: 'status', title: 'Status', show: ({ status }) => <Mark word={status} /> },
  {
    key: 'count',
    title: 'Transactions',
    number: true,
    show: ({ count: number, filter }) => <Link href={transactionsAt(filter)}>{count(number)}</Link>,
    sortBy: ({ count: number }) => number,
  },
];

export function ResponseCodesTable({ codes }: { readonly codes: readonly ResponseCode[] }): ReactNode {
  const keyOf = ({ response_code, status }: ResponseCode) => `${response_code} ${status}`;
  return (
    <Section title="Response codes">
      {codes.length === 0 ? (
        <Nothing />
      ) : (
        <DataTable caption="Response codes" columns={RESPONSE_CODES} rows={codes} keyOf={keyOf} />
      )}
    </Section>
  );
}

type Latency = TodayAnswer['latency'][number];
const milliseconds = (number: number | null) => (number === null ? '–' : `${count(Math.round(number))} ms`);

const LATENCY: readonly Column<Latency>[] = [
  { key: 'name', title: 'Link', show: ({ name }) => name },
  { key: 'count', title: 'Asked', number: true, show: ({ count: number }) => count(number) },
  { key: 'p50', title: 'Median', number: true, show: ({ p50_ms }) => milliseconds(p50_ms) },
  { key: 'p95', title: '95% within', number: true, show: ({ p95_ms }) => milliseconds(p95_ms) },
  { key: 'p99', title: '99% within', number: true, wide: true, show: ({ p99_ms }) => milliseconds(p99_ms) },
];

export function LatencyTable({ latency }: { readonly latency: readonly Latency[] }): ReactNode {
  return (
    <Section title="How fast acquirers answer">
      {latency.length === 0 ? (
        <Nothing />
      ) : (
        <DataTable caption="Latency" columns={LATENCY} rows={latency} keyOf={({ name }) => name} />
      )}
    </Section>
  );
}

type LinkFigure = TodayAnswer['links'][number];

const LINKS: readonly Column<LinkFigure>[] = [
  { key: 'name', title: 'Link', show: ({ name }) => <Link href={`/acquirers/${name}`}>{name}</Link> },
  { key: 'condition', title: 'State', show: ({ condition }) => <ConditionMark condition={condition} /> },
  {
    key: 'signed',
    title: 'Signed on',
    number: true,
    show: ({ signed_on, connections }) => `${count(signed_on)} of ${count(connections)}`,
  },
  { key: 'gateways', title: 'Gateways', number: true, show: ({ gateways }) => count(gateways) },
];

export function LinksTable({ links }: { readonly links: readonly LinkFigure[] }): ReactNode {
  return (
    <Section title="Links to acquirers">
      {links.length === 0 ? (
        <p className="dim">No acquirer link is set up. Cards of test merchants go to the simulator.</p>
      ) : (
        <DataTable caption="Links" columns={LINKS} rows={links} keyOf={({ name }) => name} />
      )}
    </Section>
  );
}
