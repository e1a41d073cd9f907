// The schemas of schedules.
import { DATE_STATUSES, ON_FAILURE, SCHEDULE_STATUSES } from '../../schedules/schedule.js';
import type { CustomerId } from '../../values/ids.js';
import { DAY_PATTERN } from '../../values/time.js';
import { OPEN, openEnum } from '../openapi/openapi-components.js';
import { After, Limit, ListLinks } from '../pages.js';
import { CORRELATION_ID, Id, Link, RestrictedText } from '../schemas.js';
import { type Static, Type } from '../typebox.js';
import {
  AmountDetails as AmountSchema,
  Merchant as MerchantSchema,
  TransactionMerchant,
} from './transaction-schemas.js';

export const DATES_SHOWN = 20;
const MOST_DATES = 1_000;

const Day = (description: string) =>
  Type.String({ pattern: DAY_PATTERN, format: 'date', description, examples: ['2036-12-01'] });
const Every = (unit: string, most: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: most, description: `Every so many ${unit}.` }));

const Interval = Type.Object(
  { days: Every('days', 366), weeks: Every('weeks', 104), months: Every('months', 60) },
  {
    title: 'ScheduleInterval',
    description:
      'Exactly one of the three. Months count from the first date: the 31st is the last day of a shorter month.',
  },
);

export const NewScheduleBody = Type.Object(
  {
    merchant: MerchantSchema,
    schedule: Type.Object(
      {
        reference: RestrictedText(1, 128, "The merchant's reference, which each transaction gets, too."),
        virtual_pan: Type.String({
          pattern: '^[0-9]{16}$',
          format: 'no-card-number',
          description: 'Of a token in the vault: a card, or a bank account.',
          examples: ['9217664744023758'],
        }),
        amount_details: AmountSchema,
        first_date: Day('The day in Sydney of the first payment: today, or later.'),
        every: Interval,
        count: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: MOST_DATES,
            description: 'How many dates there are. Not with `until`.',
          }),
        ),
        until: Type.Optional(Day('The last day that a date can be on. Not with `count`.')),
        on_failure: Type.Optional(
          Type.Enum([...ON_FAILURE], {
            default: 'continue',
            description: 'After a date has failed: go on with the next one, or pause.',
          }),
        ),
      },
      { title: 'NewScheduleDetails' },
    ),
  },
  { title: 'ScheduleRequest' },
);
export type NewScheduleBody = Static<typeof NewScheduleBody>;

export const ScheduleChange = Type.Object(
  {
    schedule: Type.Object(
      {
        amount_details: Type.Optional(AmountSchema),
        next_date: Type.Optional(Day('The day of the next date. Those after it are counted from there.')),
      },
      { title: 'ScheduleChangeDetails' },
    ),
  },
  { title: 'ScheduleChange' },
);

export const ScheduleDate = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    status: openEnum(
      [...DATE_STATUSES],
      '`pending`: a direct debit that the bank may still return. `skipped`: it passed while the schedule was paused, or the schedule was cancelled. `paid`, `failed` and `skipped` are final.',
    ),
    audit: Type.Optional(Id('The last payment of this date.')),
    reason: Type.Optional(Type.String({ description: 'Why it is tried again, has failed, or was skipped.' })),
    next_try: Type.Optional(
      Type.String({ format: 'date-time', description: 'When it is tried again. Sydney local time.' }),
    ),
  },
  { title: 'ScheduleDate', ...OPEN },
);

export const ScheduleObject = Type.Object(
  {
    id: Type.String(),
    status: openEnum([...SCHEDULE_STATUSES], '`ended`: its last date was decided.'),
    created: Type.String({ format: 'date-time', description: 'Sydney local time.' }),
    merchant: TransactionMerchant,
    schedule: Type.Object(
      {
        reference: Type.String(),
        virtual_pan: Type.String(),
        amount_details: Type.Object(
          { total_amount: Type.String(), currency: Type.String() },
          { title: 'ScheduleAmount', ...OPEN },
        ),
        first_date: Type.String({ format: 'date' }),
        every: Type.Object(
          {
            days: Type.Optional(Type.Integer()),
            weeks: Type.Optional(Type.Integer()),
            months: Type.Optional(Type.Integer()),
          },
          { title: 'ScheduleEvery', ...OPEN },
        ),
        count: Type.Optional(Type.Integer()),
        until: Type.Optional(Type.String({ format: 'date' })),
        on_failure: openEnum([...ON_FAILURE], 'After a date has failed.'),
      },
      { title: 'ScheduleDetails', ...OPEN },
    ),
    customer_id: Id<CustomerId>('Whose token it is.'),
    next_date: Type.Optional(Type.String({ format: 'date', description: 'Absent where there is none.' })),
    dates: Type.Optional(
      Type.Array(ScheduleDate, {
        description: `The last ${DATES_SHOWN} that were begun, the newest first. Not in lists.`,
      }),
    ),
    counts: Type.Optional(
      Type.Object(
        { paid: Type.Integer(), failed: Type.Integer(), skipped: Type.Integer() },
        { title: 'ScheduleCounts', ...OPEN, description: 'Of all dates. Not in lists.' },
      ),
    ),
    _links: Type.Object(
      {
        self: Link,
        customer: Link,
        token: Link,
        pause: Type.Optional(Link),
        resume: Type.Optional(Link),
        cancel: Type.Optional(Link),
        transaction: Type.Optional(Link),
      },
      {
        title: 'ScheduleLinks',
        ...OPEN,
        description: 'What can be done with it now; `transaction` is the newest payment.',
      },
    ),
  },
  { title: 'Schedule', ...OPEN },
);
export type ScheduleObject = Static<typeof ScheduleObject>;

export const SchedulePath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'The ID of the schedule.' }),
});
export const ScheduleQuery = Type.Object({
  merchant_id: Type.Optional(Id('Of this merchant. Default: the one that the user is assigned to.')),
  customer_id: Type.Optional(Id<CustomerId>('With a token of this customer.')),
  status: Type.Optional(Type.Enum([...SCHEDULE_STATUSES])),
  correlation_id_lookup: Type.Optional(
    Type.String({
      ...CORRELATION_ID,
      description: 'The `X-Correlation-Id` of the request that created it, however long ago.',
    }),
  ),
  limit: Limit,
  after: After,
});
export const ScheduleList = Type.Object(
  { _links: ListLinks, results: Type.Array(ScheduleObject) },
  { title: 'ScheduleList', ...OPEN },
);
