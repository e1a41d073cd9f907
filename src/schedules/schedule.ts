// A schedule: what is paid by itself, on which days, and what has come of each.
import type { SealedRow } from '../journal/seals.js';
import type { Audit, CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { Cents } from '../values/money.js';
import { dateAfter, type Interval, nextBusinessDay, sydneyInstant } from '../values/time.js';
import { makeUnguessableId, unguessableIdPattern } from '../values/unguessable-id.js';

export const SCHEDULE_STATUSES = ['active', 'paused', 'ended', 'cancelled'] as const;
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];
export const ON_FAILURE = ['continue', 'pause'] as const;
export type OnFailure = (typeof ON_FAILURE)[number];
export type Standing = 'active' | 'paused' | 'cancelled';

/** From this date on, which is the nth, they are counted by the interval. */
interface Anchor {
  readonly n: number;
  readonly date: string;
}

/** What is sealed: nobody who writes to the database changes what is paid, from which account, or when. */
export interface Terms {
  readonly standing: Standing;
  readonly reference: string;
  readonly virtualPan: string;
  readonly tokenId: TokenId;
  readonly customerId: CustomerId;
  readonly method: 'creditcard' | 'bankaccount';
  readonly amountCents: Cents;
  readonly currency: string;
  readonly every: Interval;
  /** The first date, and each that a date was put off to. */
  readonly anchors: readonly Anchor[];
  /** How many dates there are; or the last day that one can be on. */
  readonly count?: number;
  readonly until?: string;
  readonly onFailure: OnFailure;
  /** Dates before it have passed while the schedule was paused: they are not paid. */
  readonly from?: string;
}

export const DATE_STATUSES = ['processing', 'pending', 'retrying', 'paid', 'failed', 'skipped'] as const;
export type DateStatus = (typeof DATE_STATUSES)[number];
export type Outcome = Extract<DateStatus, 'paid' | 'failed' | 'skipped'>;

/** A date that was begun. */
export interface ScheduledDate {
  /** Counted from 1. */
  readonly n: number;
  readonly dueOn: string;
  readonly status: DateStatus;
  /** The payment that is under way, or was the last one, counted from 1. */
  readonly attempt: number;
  /** How often the gateway has refused to pay since the last payment that was sent. */
  readonly refusals: number;
  readonly begunMs: number;
  readonly lookMs: number | null;
  readonly reason: string | null;
  readonly audit: Audit | null;
}

export interface Schedule {
  readonly organisationId: OrganisationId;
  /** Within its organisation. */
  readonly number: number;
  readonly merchantId: MerchantId;
  readonly id: string;
  readonly correlationId: string;
  readonly createdMs: number;
  /** The user who made it. */
  readonly userId: number | null;
  readonly terms: Terms;
  readonly status: ScheduleStatus;
  readonly nextN: number;
}

const PREFIX = 'sc_';
export const SCHEDULE_ID_PATTERN = unguessableIdPattern(PREFIX);

export function makeScheduleId(): string {
  return makeUnguessableId(PREFIX);
}

/** The nth date; undefined where there is none. */
export function dateOf({ anchors, every, count, until }: Terms, n: number): string | undefined {
  // guard(schedule: no more dates than were agreed): if (count !== undefined && n > count) return undefined; ⇒
  if (count !== undefined && n > count) return undefined;
  const anchor = anchors.findLast((each) => each.n <= n);
  if (anchor === undefined) return undefined;
  const date = dateAfter(anchor.date, every, n - anchor.n);
  return until !== undefined && date > until ? undefined : date;
}

/** In the currency and by the method, so many days apart (0: months), until the last date if there is one: `AUD creditcard 7 2026-12-31`. */
export function paceOf(terms: Terms): string {
  const { currency, method, every, until, count } = terms;
  const days = every.days ?? 7 * (every.weeks ?? 0);
  const last = until ?? (count === undefined ? undefined : dateOf(terms, count));
  return [currency, method, days, ...(last === undefined ? [] : [last])].join(' ');
}

/** The day on which a date is paid: banks are closed on some. */
export function payDay({ method }: Pick<Terms, 'method'>, date: string): string {
  return method === 'bankaccount' ? nextBusinessDay(date) : date;
}

/** When that day begins. */
export function payMs(terms: Terms, date: string): number {
  return sydneyInstant(payDay(terms, date), '00:00');
}

/** Under which a payment of a date is one, whoever tries it how often. The first has no number. */
export function correlationIdOf({ id }: Pick<Schedule, 'id'>, date: string, attempt: number): string {
  return attempt === 1 ? `schedule:${id}:${date}` : `schedule:${id}:${date}:${attempt}`;
}

export function isOpen({ status }: Pick<Schedule, 'status'>): boolean {
  return status === 'active' || status === 'paused';
}

/** What the journal seals. `terms`: the text as it is stored. */
export function rowOfSchedule(
  {
    organisationId,
    number,
    merchantId,
    id,
  }: Pick<Schedule, 'organisationId' | 'number' | 'merchantId' | 'id'>,
  terms: string,
): SealedRow {
  // guard(schedule: sealed with what it pays): number, merchantId, terms] ⇒ number, merchantId]
  return { subject: `schedule/${id}`, state: [organisationId, number, merchantId, terms] };
}

export function intervalInWords(every: Interval): string {
  const [[unit, count] = ['days', 1]] = Object.entries(every);
  return count === 1 ? `every ${unit.slice(0, -1)}` : `every ${count} ${unit}`;
}
