// What operators do with schedules: see what is due and what has failed, pause, resume and cancel.
import { gatewayTime } from '../clock/gateway-clock.js';
import { reportMisfit } from '../journal/seals.js';
import { choice, count, ID, text } from '../tasks/kinds.js';
import { type Doing, needed, optional, task } from '../tasks/task.js';
import { Fault } from '../values/faults.js';
import type { CustomerId, MerchantId, OrganisationId } from '../values/ids.js';
import { moneyText } from '../values/money.js';
import type { PageEnd } from '../values/page.js';
import { refuse } from '../values/refusal.js';
import { lines, table } from '../values/text-table.js';
import { sydneyDate } from '../values/time.js';
import { calendarOf } from './calendar.js';
import { dateOf, intervalInWords, isOpen, SCHEDULE_STATUSES, type ScheduleStatus } from './schedule.js';
import { type Acting, type KnownSchedule, Schedules } from './schedules.js';
import { MERCHANTS_OF_SCHEDULES } from './schedules.sql.js';

const SCHEDULE = needed(text(64), '<id>', 'the schedule, sc_…');
const WHOSE = needed(ID, '--merchant <id>', 'whose', { names: 'merchants' });
const NAMED = { id: SCHEDULE, merchant: WHOSE };
const DATES_SHOWN = 100;

interface Named {
  readonly id: string;
  readonly merchant: number;
}

interface ScheduleView {
  readonly id: string;
  readonly merchant: MerchantId;
  /** `changed`: by somebody in the database. What else it says is not shown. */
  readonly status: ScheduleStatus | 'changed';
  readonly reference: string | null;
  readonly amountCents: number | null;
  readonly currency: string | null;
  readonly every: string | null;
  /** Null where there is none any more. */
  readonly next: string | null;
  /** Of the last date that was begun. */
  readonly lastDate: string | null;
  readonly lastStatus: string | null;
  readonly reason: string | null;
  readonly audit: number | null;
}

export const SCHEDULES = {
  name: 'schedule',
  help: 'payments that happen by themselves on their day',
  tasks: [
    task({
      name: 'schedule list',
      help: 'list schedules, the newest first, each with its next date and what came of the last',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /schedules',
      input: {
        merchant: WHOSE,
        status: optional(choice(...SCHEDULE_STATUSES), '--status <status>', 'only those'),
        customer: optional(ID, '--customer <id>', 'only with tokens of this customer'),
        after: optional(text(64), '--after <id>', 'only those that are older than this one'),
        limit: optional(count(), '--limit <count>', 'how many at most', { default: 50, onPage: 100 }),
      },
      run: async (doing: Doing, { merchant, status, customer, after, limit }) => {
        const schedules = new Schedules(doing.database);
        const owner = await ownerOf(doing, merchant);
        const wish = { limit, status, customerId: customer as CustomerId | undefined };
        const page = await schedules.list(owner, { ...wish, after: await endOf(schedules, owner, after) });
        return Promise.all(
          page.items.map((each) => ('isChanged' in each ? changedView(each) : viewOf(each, schedules))),
        );
      },
    }),
    task({
      name: 'schedule show',
      help: 'show a schedule, and what has come of its dates',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /schedules/:merchant/:id',
      input: NAMED,
      run: async (doing: Doing, named) => {
        const { schedules, schedule } = await found(doing, named);
        const { terms, organisationId, createdMs } = schedule;
        const {
          lastDate: _date,
          lastStatus: _status,
          reason: _reason,
          audit: _audit,
          ...view
        } = await viewOf(schedule, schedules);
        return {
          ...view,
          organisation: organisationId,
          customer: terms.customerId,
          token: terms.tokenId,
          method: terms.method,
          onFailure: terms.onFailure,
          count: terms.count ?? null,
          until: terms.until ?? null,
          created: new Date(createdMs),
          ...(await schedules.counts(schedule)),
          dates: (await schedules.dates(schedule, DATES_SHOWN)).map((date) => ({
            date: date.dueOn,
            status: date.status,
            audit: date.audit,
            reason: date.reason,
            again: date.status === 'retrying' && date.lookMs !== null ? new Date(date.lookMs) : null,
          })),
        };
      },
      says: ({ dates, ...about }) =>
        [lines(about), ...(dates.length === 0 ? [] : [table(dates)])].join('\n\n'),
    }),
    task({
      name: 'schedule calendar',
      help: 'count what is due by day, from last week on for four weeks; and what has failed and why',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /schedules/calendar',
      input: { merchant: WHOSE },
      run: async (doing: Doing, { merchant }) =>
        calendarOf(doing.database, await ownerOf(doing, merchant), await gatewayTime(doing.database)),
      says: ({ days, failures, paused, leftOutFrom }) =>
        [
          table(
            days.flatMap(({ day, due, failed }) => [
              ...due.map(({ currency, count: number, again, cents }) => ({
                day,
                due: number,
                again,
                amount: moneyText(cents, currency),
              })),
              ...failed.map(({ reason, count: number }) => ({ day, failed: number, reason })),
            ]),
          ),
          ...(leftOutFrom === null ? [] : [`From ${leftOutFrom} on there is more than was counted.`]),
          ...(paused === 0 ? [] : [`Paused: ${paused}`]),
          ...(failures.length === 0 ? [] : [table(failures)]),
        ].join('\n\n'),
    }),
    task({
      name: 'schedule pause',
      help: 'pay nothing of a schedule until it is resumed',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /schedules/:merchant/:id/pause',
      input: NAMED,
      run: (doing: Doing, named) =>
        turn(doing, named, ({ schedules, schedule, acting }) => schedules.pause(schedule, acting)),
      says: ({ id }) => `Nothing of ${id} is paid until it is resumed.`,
    }),
    task({
      name: 'schedule resume',
      help: 'go on with a schedule; dates that have passed are skipped',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /schedules/:merchant/:id/resume',
      input: NAMED,
      run: (doing: Doing, named) =>
        turn(doing, named, async ({ schedules, schedule, acting }) =>
          schedules.resume(schedule, acting, sydneyDate(await gatewayTime(doing.database))),
        ),
      says: ({ id }) => `${id} goes on.`,
    }),
    task({
      name: 'schedule cancel',
      help: 'pay nothing of a schedule any more',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /schedules/:merchant/:id/cancel',
      input: NAMED,
      run: (doing: Doing, named) =>
        turn(doing, named, ({ schedules, schedule, acting }) => schedules.cancel(schedule, acting)),
      says: ({ id }) => `Nothing of ${id} is paid any more.`,
    }),
  ],
} as const;

interface Turning {
  readonly schedules: Schedules;
  readonly schedule: KnownSchedule;
  readonly acting: Acting;
}

async function turn(
  doing: Doing,
  named: Named,
  change: (turning: Turning) => Promise<KnownSchedule | undefined>,
) {
  const { schedules, schedule } = await found(doing, named);
  const changed = await change({ schedules, schedule, acting: { actor: doing.actor } });
  const { id, status } = schedule;
  if (changed === undefined) return refuse('schedule_not_open', { schedule: id, status });
  return { id, status: changed.status };
}

async function found(doing: Doing, { id, merchant }: Named) {
  const { database } = doing;
  const schedules = new Schedules(database);
  const owner = await ownerOf(doing, merchant);
  const schedule = await schedules
    .ofMerchants(id, owner.organisationId, [owner.merchantId])
    .catch(async (error: unknown) => {
      if (!(error instanceof Fault)) throw error;
      await reportMisfit(database, `schedule/${id}`, 'changed');
      return refuse('schedule_changed', { schedule: id });
    });
  return { schedules, schedule: schedule ?? refuse('schedule_not_found', { schedule: id }) };
}

interface Owner {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}

async function ownerOf({ database }: Doing, merchant: number): Promise<Owner> {
  const { rows } = await database.query<Owner>(MERCHANTS_OF_SCHEDULES, [merchant]);
  return rows[0] ?? refuse('merchant_not_found', { merchant });
}

/** Where a page ends that ends with this schedule. */
async function endOf(
  schedules: Schedules,
  { organisationId, merchantId }: Owner,
  id: string | undefined,
): Promise<PageEnd | undefined> {
  if (id === undefined) return undefined;
  const last = await schedules.ofMerchants(id, organisationId, [merchantId]);
  if (last === undefined) return refuse('schedule_not_found', { schedule: id });
  return { place: String(last.createdMs), id: last.number };
}

async function viewOf(schedule: KnownSchedule, schedules: Schedules): Promise<ScheduleView> {
  const { id, merchantId, status, terms, nextN } = schedule;
  const [last] = await schedules.dates(schedule, 1);
  return {
    id,
    merchant: merchantId,
    status,
    reference: terms.reference,
    amountCents: terms.amountCents,
    currency: terms.currency,
    every: intervalInWords(terms.every),
    next: (isOpen(schedule) ? dateOf(terms, nextN) : undefined) ?? null,
    lastDate: last?.dueOn ?? null,
    lastStatus: last?.status ?? null,
    reason: last?.reason ?? null,
    audit: last?.audit ?? null,
  };
}

function changedView({
  id,
  merchantId,
}: {
  readonly id: string;
  readonly merchantId: MerchantId;
}): ScheduleView {
  const nothing = { reference: null, amountCents: null, currency: null, every: null, next: null };
  const last = { lastDate: null, lastStatus: null, reason: null, audit: null };
  return { id, merchant: merchantId, status: 'changed', ...nothing, ...last };
}
