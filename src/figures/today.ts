// A day in figures, from the background counts: by minute and hour against the same weekday a week before, rates, latency,
// links and lags. Each figure comes with the filter that lists its transactions.
import { readAcquirers } from '../acquirers/configured.js';
import {
  conditionOf,
  gatewaysOf,
  type LinkCondition,
  runningGateways,
} from '../acquirers/running-gateways.js';
import type { TransactionFilter } from '../payments/finding/transaction-search.js';
import { lostTime } from '../payments/processes/lost-time.js';
import type { Queryable } from '../postgres/database.js';
import { withShortTimeout } from '../postgres/short-timeout.js';
import { DAY, ID } from '../tasks/kinds.js';
import { optional, task } from '../tasks/task.js';
import type { Mode } from '../values/mode.js';
import { table } from '../values/text-table.js';
import { addDays, sydneyDate, sydneyInstant, sydneyTimestamp } from '../values/time.js';
import { type DaySeries, daySeries, emptyAfter, type MinuteRow } from './day-series.js';
import {
  asMinute,
  type HourRow,
  type Rate,
  type ResponseCodeFigure,
  ratesOf,
  responseCodesOf,
  type StatusFigure,
  statusesOf,
  sumOf,
  type VolumeFigure,
  volumesOf,
} from './hour-figures.js';
import {
  FEED_AND_WEBHOOK_LAGS,
  FIGURES_STATE,
  HOURS_OF_DAY,
  LINKS_OF_ORGANISATION,
  MINUTES_OF_DAY,
} from './today.sql.js';

export interface LatencyFigure {
  /** The acquirer link. */
  readonly name: string;
  readonly count: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

export interface LinkFigure extends LinkCondition {
  readonly name: string;
  readonly signedOn: number;
  readonly connections: number;
  /** Running gateways with this link, and those that have taken it out for some organisation. */
  readonly gateways: number;
  readonly failing: number;
}

export interface Lags {
  /** Events without a place in the feed, or not counted yet. */
  readonly feedSeconds: number | null;
  readonly webhooksWaiting: number;
  readonly webhooksFailing: number;
  readonly webhooksFailingSeconds: number | null;
}

export interface Today {
  readonly date: string;
  readonly now: string;
  /** The figures include everything up to here. */
  readonly countedUntil: string;
  readonly organisation: number | null;
  readonly mode: Mode | null;
  /** Null if that day's figures are not kept. Minutes are kept for a good week, hours as long as events. */
  readonly minutes: { readonly day: DaySeries | null; readonly weekBefore: DaySeries | null };
  readonly hours: { readonly day: DaySeries | null; readonly weekBefore: DaySeries | null };
  /** A point of a series is listed by one of these filters, with `from` and `until` of its step. */
  readonly statuses: readonly StatusFigure[];
  readonly volumes: readonly VolumeFigure[];
  readonly acquirers: readonly Rate[];
  readonly cardTypes: readonly Rate[];
  readonly responseCodes: readonly ResponseCodeFigure[];
  /** The last minutes, as far as they were scraped. */
  readonly latency: readonly LatencyFigure[];
  readonly links: readonly LinkFigure[];
  readonly lags: Lags;
  /** Lost time that nobody has reconciled. */
  readonly lostTime: { readonly from: string; readonly until: string } | null;
}

export interface TodayWish {
  /** A day in Sydney; today if absent. */
  readonly date?: string | undefined;
  readonly organisation?: number | undefined;
  readonly mode?: Mode | undefined;
  readonly transactionType?: string | undefined;
}

interface State {
  readonly nowMs: number;
  readonly countedUntilMs: number;
  readonly minutesFromMs: number;
  readonly hoursFromMs: number;
}

/** A day, or its part so far, and the stored figures. */
interface Day {
  readonly date: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

export const FIGURES_OF_DAY = task({
  name: 'transaction figures',
  help: 'show a day in figures, beside the same day of the week before',
  role: 'viewer',
  scope: 'organisation',
  input: {
    date: optional(DAY, '--date <day>', 'a day in Sydney; today if it is not named'),
    organisation: optional(ID, '--organisation <id>', 'of this organisation', { names: 'organisations' }),
  },
  run: ({ database }, wish) => showToday(database, wish),
  says: ({ date, now, statuses }) => {
    const rows = statuses.map(({ status, count, weekBefore }) => ({ status, count, weekBefore }));
    return `${date}, until ${now}\n\n${table(rows)}`;
  },
});

/** `latency` comes from the gateways, not the database. */
export function showToday(
  database: Queryable,
  wish: TodayWish,
  latency: readonly LatencyFigure[] = [],
): Promise<Today> {
  return withShortTimeout(database, async (connection) => {
    const state = (await connection.query<State>(FIGURES_STATE)).rows[0] as State;
    const date = wish.date ?? sydneyDate(state.nowMs);
    const day = dayOf(date);
    const before = dayOf(addDays(date, -7));
    // An unfinished day is compared with the same part of the other day.
    const goneMs = Math.min(Math.max(state.nowMs - day.fromMs, 0), day.untilMs - day.fromMs);
    const soFar = { ...before, untilMs: before.fromMs + Math.ceil(goneMs / MINUTE_MS) * MINUTE_MS };
    const read = new Reading(connection, wish);
    const minutes = await read.minutes(day);
    const minutesBefore = await read.minutes(before);
    const hours = await read.hours(day);
    const hoursBefore = await read.hours({ ...before, untilMs: Math.min(before.untilMs, soFar.untilMs) });
    const kept = { minutes: day.fromMs >= state.minutesFromMs, hours: day.fromMs >= state.hoursFromMs };
    const keptBefore = {
      minutes: before.fromMs >= state.minutesFromMs,
      hours: before.fromMs >= state.hoursFromMs,
    };
    const filter = filterOf(wish, date);
    const lost = await lostTime(connection);
    const links = await linksFor(connection, wish.organisation, hours);
    return {
      date,
      now: sydneyTimestamp(state.nowMs),
      countedUntil: sydneyTimestamp(state.countedUntilMs),
      organisation: wish.organisation ?? null,
      mode: wish.mode ?? null,
      minutes: {
        day: kept.minutes ? emptyAfter(daySeries(minutes, day, MINUTE_MS), state.nowMs) : null,
        weekBefore: keptBefore.minutes ? daySeries(minutesBefore, before, MINUTE_MS) : null,
      },
      hours: {
        day: kept.hours ? emptyAfter(daySeries(hours.map(asMinute), day, HOUR_MS), state.nowMs) : null,
        weekBefore: keptBefore.hours
          ? daySeries((await read.hours(before)).map(asMinute), before, HOUR_MS)
          : null,
      },
      // Minutes are kept for a shorter time; for a finished day, whole hours give the same.
      statuses: statusesOf(
        hours,
        keptBefore.minutes
          ? within(minutesBefore, soFar)
          : keptBefore.hours
            ? hoursBefore.map(asMinute)
            : undefined,
        filter,
      ),
      volumes: volumesOf(hours, keptBefore.hours ? hoursBefore : undefined, filter),
      acquirers: ratesOf(hours, hoursBefore, 'acquirer', filter, (acquirer) => ({ acquirer })),
      cardTypes: ratesOf(hours, hoursBefore, 'method', filter, (method) =>
        method === 'bankaccount' ? { paymentMethod: method } : { cardType: method },
      ),
      responseCodes: responseCodesOf(hours, filter),
      latency: latency.filter(({ name }) => links.shown(name)),
      links: links.figures,
      lags: await lagsOf(connection, wish.organisation, state),
      lostTime:
        lost === undefined
          ? null
          : { from: sydneyTimestamp(lost.fromMs), until: sydneyTimestamp(lost.untilMs) },
    };
  });
}

class Reading {
  constructor(
    private readonly connection: Queryable,
    private readonly wish: TodayWish,
  ) {}

  async minutes({ fromMs, untilMs }: Day): Promise<readonly MinuteRow[]> {
    return (await this.connection.query<MinuteRow>(MINUTES_OF_DAY, this.#values(fromMs, untilMs))).rows;
  }

  async hours({ fromMs, untilMs }: Day): Promise<readonly HourRow[]> {
    return (await this.connection.query<HourRow>(HOURS_OF_DAY, this.#values(fromMs, untilMs))).rows;
  }

  #values(fromMs: number, untilMs: number): unknown[] {
    const { organisation = 0, mode, transactionType } = this.wish;
    return [organisation, fromMs, untilMs, mode ?? null, transactionType ?? null];
  }
}

function dayOf(date: string): Day {
  return { date, fromMs: sydneyInstant(date, '00:00'), untilMs: sydneyInstant(addDays(date, 1), '00:00') };
}

/** Lists the transactions of the whole day: each is counted at its creation time. */
function filterOf({ organisation, mode, transactionType }: TodayWish, date: string): TransactionFilter {
  return { organisation, mode, transactionType, from: date, until: date };
}

function within(rows: readonly MinuteRow[], { fromMs, untilMs }: Day): MinuteRow[] {
  return rows.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
}

interface Links {
  readonly figures: readonly LinkFigure[];
  shown(name: string): boolean;
}

/** An operator of one organisation sees only the links that it uses. */
async function linksFor(
  connection: Queryable,
  organisation: number | undefined,
  hours: readonly HourRow[],
): Promise<Links> {
  const running = await runningGateways(connection);
  const reports = running.flatMap(({ links }) => links);
  const added = await readAcquirers(connection);
  let shown = (_name: string) => true;
  if (organisation !== undefined) {
    const { rows } = await connection.query<{ acquirer: string }>(LINKS_OF_ORGANISATION, [organisation]);
    const own = new Set([...rows, ...hours].map(({ acquirer }) => acquirer));
    shown = (name) => own.has(name);
  }
  const names = [...new Set([...added, ...reports].map(({ name }) => name))].filter(shown).sort();
  const figures = names.map((name) => {
    const same = reports.filter((report) => report.name === name);
    return {
      name,
      signedOn: sumOf(same, (report) => report.signedOn),
      connections: sumOf(same, (report) => report.connections),
      gateways: same.length,
      failing: same.filter(({ failingFor = 0 }) => failingFor > 0).length,
      ...conditionOf(gatewaysOf(name, 0, running)),
    };
  });
  return { figures, shown };
}

interface LagRow extends Omit<Lags, 'feedSeconds'> {
  readonly unplacedSeconds: number | null;
}

async function lagsOf(
  connection: Queryable,
  organisation: number | undefined,
  { nowMs, countedUntilMs }: State,
): Promise<Lags> {
  const { rows } = await connection.query<LagRow>(FEED_AND_WEBHOOK_LAGS, [
    organisation ?? null,
    LAGS_LOOK_AT,
  ]);
  const { unplacedSeconds, ...webhooks } = rows[0] as LagRow;
  const behindSeconds = Math.max(0, (nowMs - countedUntilMs) / 1_000);
  return { feedSeconds: Math.max(unplacedSeconds ?? 0, behindSeconds), ...webhooks };
}

/** The most waiting rows that are examined. */
const LAGS_LOOK_AT = 10_000;
