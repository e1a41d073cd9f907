// The schedule operations of the API: payments that happen by themselves on their day.
import type { Clock } from '../../clock/clock.js';
import {
  actingMerchant,
  type Caller,
  type Merchant,
  permittedMerchant,
} from '../../organisations/users/callers.js';
import { dateOf, isOpen, type Schedule, type ScheduledDate, type Terms } from '../../schedules/schedule.js';
import type { Acting, DateCounts, KnownSchedule, Schedules } from '../../schedules/schedules.js';
import { becsFaults } from '../../values/bank-account.js';
import type { Audit } from '../../values/ids.js';
import { cents } from '../../values/money.js';
import { sydneyDate, sydneyTimestamp } from '../../values/time.js';
import type { Tokens } from '../../vault/tokens.js';
import { PAGE_LIMIT } from '../limits.js';
import { operation } from '../operation.js';
import { decodeEnd, listLinks } from '../pages.js';
import { type Problem, problem, RefusedRequest, refused, refusedFor } from '../problems.js';
import { problemOf, refusalOf } from '../refusals.js';
import type { Static } from '../typebox.js';
import { MERCHANT, TIMESTAMP } from './examples.js';
import { BASE_PATH, transactionPath } from './hal.js';
import {
  DATES_SHOWN,
  NewScheduleBody,
  ScheduleChange,
  type ScheduleDate,
  ScheduleList,
  ScheduleObject,
  SchedulePath,
  ScheduleQuery,
} from './schedule-schemas.js';
import { customerPath, tokenPath } from './vault-access.js';

export interface ScheduleServices {
  readonly schedules: Schedules;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

export function schedulePath(id: string): string {
  return `${BASE_PATH}/schedules/${id}`;
}

const BODY = ['body', 'schedule'];

/** Rules that a schema cannot express. */
function reviewNew(body: unknown, problems: Problem[]): Problem[] {
  const details = (body as { schedule?: Partial<NewScheduleBody['schedule']> } | null | undefined)?.schedule;
  if (typeof details !== 'object' || details === null) return problems;
  const { every, count, until, first_date: first } = details;
  const found: Problem[] = [];
  if (typeof every === 'object' && every !== null && !Array.isArray(every)) {
    const { days, weeks, months } = every;
    const named = [days, weeks, months].filter((each) => each !== undefined).length;
    const message = 'Exactly one of days, weeks and months is needed.';
    if (named !== 1)
      found.push(problem(named === 0 ? 'field_missing' : 'field_format', [...BODY, 'every'], message));
  }
  if (count !== undefined && until !== undefined)
    found.push(
      problem('field_format', [...BODY, 'until'], 'A schedule ends by count or until, not by both.'),
    );
  else if (typeof until === 'string' && typeof first === 'string' && until < first)
    found.push(problem('field_out_of_range', [...BODY, 'until'], 'This must not be before first_date.'));
  return [...problems, ...found];
}

function reviewChange(body: unknown, problems: Problem[]): Problem[] {
  const details = (body as { schedule?: object } | null | undefined)?.schedule;
  if (typeof details !== 'object' || details === null || problems.length > 0) return problems;
  const { amount_details, next_date } = details as { amount_details?: unknown; next_date?: unknown };
  if (amount_details !== undefined || next_date !== undefined) return problems;
  return [problem('field_missing', BODY, 'At least one of amount_details and next_date is needed.')];
}

function bankProblems(amountCents: number, currency: string): Problem[] {
  const member = { amount: 'total_amount', currency: 'currency' } as const;
  return becsFaults({ amountCents, currency }).map((reason) => ({
    ...problemOf(reason, true),
    location: [...BODY, 'amount_details', member[reason.about as 'amount' | 'currency']],
  }));
}

function dayProblems(name: string, date: string, today: string): Problem[] {
  if (date >= today) return [];
  return [problem('field_out_of_range', [...BODY, name], 'This day is over in Sydney.')];
}

interface Shown {
  readonly dates: readonly ScheduledDate[];
  readonly counts: DateCounts;
}

function scheduleObject(schedule: Schedule, shown?: Shown): ScheduleObject {
  const { id, status, createdMs, merchantId, terms, nextN } = schedule;
  const self = schedulePath(id);
  const next = isOpen(schedule) ? dateOf(terms, nextN) : undefined;
  const audit = shown?.dates.find((date) => date.audit !== null)?.audit;
  return {
    id,
    status,
    created: sydneyTimestamp(createdMs),
    merchant: { id: merchantId },
    schedule: {
      reference: terms.reference,
      virtual_pan: terms.virtualPan,
      amount_details: { total_amount: String(terms.amountCents), currency: terms.currency },
      first_date: terms.anchors[0]?.date ?? '',
      every: { ...terms.every },
      ...(terms.count !== undefined && { count: terms.count }),
      ...(terms.until !== undefined && { until: terms.until }),
      on_failure: terms.onFailure,
    },
    customer_id: terms.customerId,
    ...(next !== undefined && { next_date: next }),
    ...(shown && { dates: shown.dates.map(dateObject), counts: shown.counts }),
    _links: {
      self: { href: self },
      customer: { href: `${customerPath(terms.customerId)}?merchant_id=${merchantId}` },
      token: { href: `${tokenPath(terms.customerId, terms.tokenId)}?merchant_id=${merchantId}` },
      ...(status === 'active' && { pause: { href: `${self}/pause` } }),
      ...(status === 'paused' && { resume: { href: `${self}/resume` } }),
      ...(isOpen(schedule) && { cancel: { href: `${self}/cancel` } }),
      ...(audit != null && { transaction: { href: transactionPath(audit) } }),
    },
  };
}

function dateObject({ dueOn, status, audit, reason, lookMs }: ScheduledDate): Static<typeof ScheduleDate> {
  return {
    date: dueOn,
    status,
    ...(audit !== null && { audit: audit as Audit }),
    ...(reason !== null && { reason }),
    ...(status === 'retrying' && lookMs !== null && { next_try: sydneyTimestamp(lookMs) }),
  };
}

async function whole(schedule: KnownSchedule, { schedules }: Pick<ScheduleServices, 'schedules'>) {
  const [dates, counts] = await Promise.all([
    schedules.dates(schedule, DATES_SHOWN),
    schedules.counts(schedule),
  ]);
  return scheduleObject(schedule, { dates, counts });
}

interface OfSchedule {
  readonly caller: Caller;
  readonly correlationId: string;
  readonly address: string;
  readonly path: { id: string };
}

async function found({ caller, path }: Pick<OfSchedule, 'caller' | 'path'>, { schedules }: ScheduleServices) {
  const schedule = await schedules.ofMerchants(path.id, caller.organisationId, caller.merchants.keys());
  if (schedule === undefined) throw refused('schedule_not_found', ['path', 'id']);
  return schedule;
}

/** To be changed: with the merchant, which must not be suspended. */
async function foundToChange(request: OfSchedule, services: ScheduleServices) {
  const schedule = await found(request, services);
  actingMerchant(request.caller, schedule.merchantId);
  const { correlationId, address, caller } = request;
  return { schedule, acting: { actor: `user:${caller.username}`, address, correlationId } };
}

async function changed(
  change: Promise<KnownSchedule | undefined>,
  services: ScheduleServices,
): Promise<{ status: number; merchantId: Schedule['merchantId']; body: ScheduleObject }> {
  const schedule = await change;
  if (schedule === undefined) throw refused('schedule_not_open');
  return { status: 200, merchantId: schedule.merchantId, body: await whole(schedule, services) };
}

/** In the body. */
function merchantNamed(caller: Caller, merchantId: number): Merchant {
  try {
    return actingMerchant(caller, merchantId);
  } catch (error) {
    throw refusalOf(error, true) ?? error;
  }
}

const ID = 'sc_bcdfghjkmnpqrstvwxyzbcdfghjk';
const SELF = `${BASE_PATH}/schedules/${ID}`;
const DETAILS = {
  reference: 'subscription-1001',
  virtual_pan: '9217664744023758',
  amount_details: { total_amount: '1995', currency: 'AUD' },
  first_date: '2036-12-01',
  every: { months: 1 },
};
const LISTED = {
  id: ID,
  status: 'active',
  created: TIMESTAMP,
  merchant: MERCHANT,
  schedule: { ...DETAILS, on_failure: 'continue' },
  customer_id: 1,
  next_date: '2036-12-01',
  _links: {
    self: { href: SELF },
    customer: { href: `${BASE_PATH}/customers/1?merchant_id=1` },
    token: { href: `${BASE_PATH}/customers/1/tokens/1?merchant_id=1` },
    pause: { href: `${SELF}/pause` },
    cancel: { href: `${SELF}/cancel` },
  },
};
const EXAMPLE = { ...LISTED, dates: [], counts: { paid: 0, failed: 0, skipped: 0 } };
const { pause: _pause, cancel: _cancel, ...OF_CANCELLED } = LISTED._links;
const PAUSED = {
  ...EXAMPLE,
  status: 'paused',
  _links: { ...OF_CANCELLED, resume: { href: `${SELF}/resume` }, cancel: { href: `${SELF}/cancel` } },
};
const { next_date: _next, ...WITHOUT_NEXT } = EXAMPLE;
const CANCELLED = { ...WITHOUT_NEXT, status: 'cancelled', _links: OF_CANCELLED };

const OF_CHANGING = ['schedule_not_found', 'schedule_not_open', 'merchant_suspended'] as const;

const TURNING = {
  tag: 'Schedules',
  method: 'POST',
  permission: 'payments',
  path: SchedulePath,
  problems: [...OF_CHANGING],
} as const;

export const SCHEDULE_OPERATIONS = [
  operation({
    id: 'createSchedule',
    tag: 'Schedules',
    method: 'POST',
    route: '/schedules',
    summary: 'Create a schedule',
    description:
      'Payments with a token that happen by themselves on their day. Each is a purchase under the correlation ID `schedule:ID:DATE`.',
    permission: 'payments',
    body: NewScheduleBody,
    reviewBody: reviewNew,
    success: { status: 201, description: 'Created, and active.', schema: ScheduleObject, located: true },
    problems: [
      'correlation_id_already_used',
      'merchant_not_permitted',
      'merchant_suspended',
      'vault_not_enabled',
      'token_not_usable',
    ],
    example: { merchant: { id: 1 }, schedule: DETAILS },
    exampleAnswer: EXAMPLE,
    async handle({ caller, correlationId, address, body }, services: ScheduleServices) {
      const { schedules, clock, tokens } = services;
      const merchant = merchantNamed(caller, body.merchant.id);
      const { organisationId, userId, username } = caller;
      const merchantId = merchant.id;
      const earlier = await schedules.byCorrelationId(organisationId, merchantId, correlationId);
      // A request that comes again is told so, whatever else could be said of it.
      if (earlier !== undefined) throw takenBy(earlier);
      if (!merchant.vault) throw refused('vault_not_enabled', ['body', 'merchant', 'id']);
      const { schedule } = body;
      const nowMs = Math.round(clock.now());
      const amountCents = cents(schedule.amount_details.total_amount);
      const { currency } = schedule.amount_details;
      const token = await tokens.openForPayment(organisationId, merchantId, schedule.virtual_pan);
      const method = token?.accountType === 'general_bankaccount' ? 'bankaccount' : 'creditcard';
      const problems = [
        ...(token === undefined ? [problem('token_not_usable', [...BODY, 'virtual_pan'])] : []),
        ...dayProblems('first_date', schedule.first_date, sydneyDate(nowMs)),
        ...(method === 'bankaccount' ? bankProblems(amountCents, currency) : []),
      ];
      if (problems.length > 0 || token === undefined) throw refusedFor(problems);
      const terms: Terms = {
        standing: 'active',
        reference: schedule.reference,
        virtualPan: schedule.virtual_pan,
        tokenId: token.tokenId,
        customerId: token.customerId,
        method,
        amountCents,
        currency,
        every: schedule.every,
        anchors: [{ n: 1, date: schedule.first_date }],
        ...(schedule.count !== undefined && { count: schedule.count }),
        ...(schedule.until !== undefined && { until: schedule.until }),
        onFailure: schedule.on_failure ?? 'continue',
      };
      const wish = { organisationId, merchantId, correlationId, nowMs, terms, userId };
      const acting: Acting = { actor: `user:${username}`, address, correlationId };
      const { schedule: made, isNew } = await schedules.create(wish, acting);
      // guard(schedule: a correlation ID makes one): if (!isNew) throw takenBy(made); ⇒
      if (!isNew) throw takenBy(made);
      const answer = scheduleObject(made, { dates: [], counts: { paid: 0, failed: 0, skipped: 0 } });
      return { status: 201, merchantId, body: answer, location: schedulePath(made.id) };
    },
  }),
  operation({
    id: 'lookUpSchedule',
    tag: 'Schedules',
    method: 'GET',
    route: '/schedules/{id}',
    summary: 'Look up a schedule',
    description: 'What it pays, when next, and what has come of its dates.',
    permission: 'read',
    path: SchedulePath,
    success: { status: 200, description: 'The schedule.', schema: ScheduleObject },
    problems: ['schedule_not_found'],
    exampleAnswer: EXAMPLE,
    async handle(request, services: ScheduleServices) {
      const schedule = await found(request, services);
      return { status: 200, merchantId: schedule.merchantId, body: await whole(schedule, services) };
    },
  }),
  operation({
    id: 'listSchedules',
    tag: 'Schedules',
    method: 'GET',
    route: '/schedules',
    summary: 'List schedules',
    description: 'The newest first; every filter must hold.',
    permission: 'read',
    query: ScheduleQuery,
    success: { status: 200, description: 'A page of schedules.', schema: ScheduleList },
    problems: ['merchant_not_permitted'],
    exampleAnswer: { _links: { first: { href: `${BASE_PATH}/schedules` } }, results: [LISTED] },
    async handle({ caller, query }, { schedules }: ScheduleServices) {
      const { id: merchantId } = permittedMerchant(caller, query.merchant_id ?? caller.assignedMerchantId);
      const page = await schedules.list(
        { organisationId: caller.organisationId, merchantId },
        {
          limit: query.limit ?? PAGE_LIMIT,
          after: decodeEnd(query.after, PLACES),
          customerId: query.customer_id,
          status: query.status,
          correlationId: query.correlation_id_lookup,
        },
      );
      const results = page.items.flatMap((each) => ('isChanged' in each ? [] : [scheduleObject(each)]));
      const body = { _links: listLinks(`${BASE_PATH}/schedules`, query, page.end), results };
      return { status: 200, merchantId, body };
    },
  }),
  operation({
    id: 'changeSchedule',
    tag: 'Schedules',
    method: 'PATCH',
    route: '/schedules/{id}',
    summary: 'Change a schedule',
    description:
      'The amount of everything that is not yet sent, or the day of the next date. The correlation IDs of dates that were begun stay.',
    permission: 'payments',
    path: SchedulePath,
    body: ScheduleChange,
    reviewBody: reviewChange,
    success: { status: 200, description: 'Changed.', schema: ScheduleObject },
    problems: [...OF_CHANGING],
    example: {
      schedule: { amount_details: { total_amount: '2495', currency: 'AUD' }, next_date: '2036-12-05' },
    },
    exampleAnswer: {
      ...EXAMPLE,
      schedule: { ...EXAMPLE.schedule, amount_details: { total_amount: '2495', currency: 'AUD' } },
      next_date: '2036-12-05',
    },
    async handle(request, services: ScheduleServices) {
      const { schedule, acting } = await foundToChange(request, services);
      const { amount_details: amount, next_date: nextDate } = request.body.schedule;
      const { terms, nextN } = schedule;
      const { count, until } = terms;
      const problems: Problem[] = [];
      if (nextDate !== undefined) {
        problems.push(...dayProblems('next_date', nextDate, sydneyDate(services.clock.now())));
        const begun = dateOf(terms, nextN - 1);
        const isTaken = begun !== undefined && nextDate <= begun;
        if (isTaken || (count !== undefined && nextN > count) || (until !== undefined && nextDate > until))
          problems.push(
            problem(
              'field_out_of_range',
              [...BODY, 'next_date'],
              'This must be after the date before it, and not after the end of the schedule.',
            ),
          );
      }
      if (amount !== undefined) {
        if (amount.currency !== terms.currency)
          problems.push(
            problem(
              'field_out_of_range',
              [...BODY, 'amount_details', 'currency'],
              'A schedule keeps its currency.',
            ),
          );
        else if (terms.method === 'bankaccount')
          problems.push(...bankProblems(Number(amount.total_amount), amount.currency));
      }
      if (!isOpen(schedule)) throw refused('schedule_not_open');
      if (problems.length > 0) throw refusedFor(problems);
      const amountCents = amount && cents(amount.total_amount);
      return changed(services.schedules.amend(schedule, acting, { amountCents, nextDate }), services);
    },
  }),
  operation({
    id: 'pauseSchedule',
    ...TURNING,
    route: '/schedules/{id}/pause',
    summary: 'Pause a schedule',
    description: 'Nothing is begun or tried again until it is resumed. A payment that is under way goes on.',
    success: { status: 200, description: 'Paused.', schema: ScheduleObject },
    exampleAnswer: PAUSED,
    async handle(request, services: ScheduleServices) {
      const { schedule, acting } = await foundToChange(request, services);
      return changed(services.schedules.pause(schedule, acting), services);
    },
  }),
  operation({
    id: 'resumeSchedule',
    ...TURNING,
    route: '/schedules/{id}/resume',
    summary: 'Resume a schedule',
    description: 'Dates that have passed meanwhile are skipped. One that was to be tried again is tried.',
    success: { status: 200, description: 'Active again.', schema: ScheduleObject },
    exampleAnswer: EXAMPLE,
    async handle(request, services: ScheduleServices) {
      const { schedule, acting } = await foundToChange(request, services);
      const today = sydneyDate(services.clock.now());
      return changed(services.schedules.resume(schedule, acting, today), services);
    },
  }),
  operation({
    id: 'cancelSchedule',
    ...TURNING,
    route: '/schedules/{id}/cancel',
    summary: 'Cancel a schedule',
    description: 'Nothing is begun or tried again any more. A payment that is under way goes on.',
    success: { status: 200, description: 'Cancelled.', schema: ScheduleObject },
    exampleAnswer: CANCELLED,
    async handle(request, services: ScheduleServices) {
      const { schedule, acting } = await foundToChange(request, services);
      return changed(services.schedules.cancel(schedule, acting), services);
    },
  }),
];

/** The end of a page, in milliseconds since 1970. */
const PLACES = /^[0-9]{1,16}$/;

function takenBy({ id }: Schedule): RefusedRequest {
  const location = ['header', 'X-Correlation-Id'];
  const message = 'This X-Correlation-Id belongs to an earlier request; see _links.schedule.';
  return new RefusedRequest([problem('correlation_id_already_used', location, message)], {
    schedule: schedulePath(id),
  });
}
