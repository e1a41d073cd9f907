// Four weeks of a merchant's schedules by day: what is due, what is tried again, and what has failed and why.
import type { Queryable } from '../postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import { addDays, mondayBefore, nextBusinessDay, sydneyDate, sydneyInstant } from '../values/time.js';
import {
  DATES_AHEAD,
  DATES_LEFT_OUT,
  DATES_TRIED_AGAIN,
  FAILED_BY_DAY,
  LATEST_FAILURES,
  PAUSED_SCHEDULES,
} from './calendar.sql.js';

/** What is due on a day in a currency, and how much of it is tried again after a decline. */
interface Due {
  readonly currency: string;
  readonly count: number;
  readonly again: number;
  /** A sum may be more than a number holds exactly. */
  readonly cents: string;
}

interface CalendarDay {
  readonly day: string;
  readonly due: readonly Due[];
  readonly failed: readonly { readonly reason: string; readonly count: number }[];
}

interface Failure {
  readonly id: string;
  readonly reference: string;
  readonly date: string;
  readonly failed: Date;
  readonly reason: string;
  /** What the acquirer or the bank said. */
  readonly message: string | null;
  readonly audit: Audit | null;
}

export interface Calendar {
  readonly organisation: OrganisationId;
  readonly today: string;
  readonly days: readonly CalendarDay[];
  /** From this day on there is more than was counted. */
  readonly leftOutFrom: string | null;
  readonly paused: number;
  readonly failures: readonly Failure[];
}

interface Owner {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}

const WEEKS_BEHIND = 1;
const WEEKS = 4;
/** To count more schedules takes too long. */
const MOST_COUNTED = 200_000;
const MOST_PAUSED = 10_000;
const MOST_FAILURES = 100;

/** From the Monday of last week on. What is late is due today. */
export async function calendarOf(
  database: Queryable,
  { organisationId, merchantId }: Owner,
  nowMs: number,
): Promise<Calendar> {
  const today = sydneyDate(nowMs);
  const first = addDays(mondayBefore(today), -7 * WEEKS_BEHIND);
  const days = Array.from({ length: 7 * WEEKS }, (_, n) => addDays(first, n));
  const starts = [...days, addDays(first, days.length)].map((day) => new Date(sydneyInstant(day, '00:00')));
  const [begin, end] = [starts[0], starts.at(-1)];
  const last = addDays(first, days.length - 1);
  const rows = async <Row>(statement: typeof DATES_AHEAD, ...values: unknown[]) =>
    (await database.query<Row>(statement, [organisationId, merchantId, ...values])).rows;
  const ahead = await rows<Counted & { day: string }>(DATES_AHEAD, last, MOST_COUNTED);
  const isAll = ahead.reduce((sum, { count }) => sum + count, 0) < MOST_COUNTED;
  const [leftOut] = isAll ? [] : await rows<{ day: string }>(DATES_LEFT_OUT, last, MOST_COUNTED);
  const again = await rows<Counted & { day: number }>(DATES_TRIED_AGAIN, end, starts);
  const failed = await rows<{ day: number; reason: string; count: number }>(FAILED_BY_DAY, begin, starts);
  const failures = await rows<Failure>(LATEST_FAILURES, begin, MOST_FAILURES);
  const [paused] = await rows<{ paused: number }>(PAUSED_SCHEDULES, MOST_PAUSED);
  // What has passed is made up for.
  const onDay = (day: string) => (day < today ? today : day);
  const due = [
    ...ahead.flatMap(({ day, pace, count, cents }) => {
      const { currency, method, dates } = paced(pace, day, last);
      const dayOf = (date: string) => onDay(method === 'bankaccount' ? nextBusinessDay(date) : date);
      return dates.map((date) => ({ day: dayOf(date), currency, count, again: 0, cents }));
    }),
    ...again.map(({ day, pace, count, cents }) => {
      const [currency = ''] = pace.split(' ');
      return { day: onDay(days[day - 1] ?? today), currency, count, again: count, cents };
    }),
  ];
  return {
    organisation: organisationId,
    today,
    days: days.map((day, n) => ({
      day,
      due: byCurrency(due.filter((each) => each.day === day)),
      failed: failed.filter((each) => each.day === n + 1).map(({ reason, count }) => ({ reason, count })),
    })),
    leftOutFrom: leftOut === undefined ? null : onDay(leftOut.day),
    paused: paused?.paused ?? 0,
    failures,
  };
}

interface Counted {
  readonly pace: string;
  readonly count: number;
  readonly cents: string;
}

/** The dates from the next one on, up to a day. A month does not come twice in a calendar. */
function paced(pace: string, next: string, until: string) {
  const [currency = '', method = '', days = '', end = until] = pace.split(' ');
  const dates = [next];
  const last = end < until ? end : until;
  for (let day = next; Number(days) > 0; dates.push(day)) {
    day = addDays(day, Number(days));
    if (day > last) break;
  }
  return { currency, method, dates };
}

function byCurrency(all: readonly Due[]): Due[] {
  return [...new Set(all.map(({ currency }) => currency))].toSorted().map((currency) => {
    const own = all.filter((each) => each.currency === currency);
    return {
      currency,
      count: own.reduce((sum, { count }) => sum + count, 0),
      again: own.reduce((sum, { again }) => sum + again, 0),
      cents: String(own.reduce((sum, { cents }) => sum + BigInt(cents), 0n)),
    };
  });
}
