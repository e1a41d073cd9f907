// The schedules of merchants: made, found, changed. What one pays is sealed in the journal with each change.
import { randomInt } from 'node:crypto';
import { type JournalAction, journal } from '../journal/journal.js';
import { fitNow, type ReadRow } from '../journal/seals.js';
import { type Database, isUniqueViolation, type Queryable, type Statement } from '../postgres/database.js';
import { Fault, fault } from '../values/faults.js';
import type { CustomerId, MerchantId, OrganisationId } from '../values/ids.js';
import { type Cents, moneyText } from '../values/money.js';
import type { Page, PageEnd } from '../values/page.js';
import {
  dateOf,
  intervalInWords,
  isOpen,
  makeScheduleId,
  paceOf,
  payMs,
  rowOfSchedule,
  type Schedule,
  type ScheduledDate,
  type ScheduleStatus,
  type Standing,
  type Terms,
} from './schedule.js';
import {
  ADD_SCHEDULE,
  CHANGE_SCHEDULE,
  COUNT_DATES,
  LATEST_DATES,
  LIST_SCHEDULES,
  LOCK_SCHEDULE,
  SCHEDULE_BY_CORRELATION_ID,
  SCHEDULE_BY_NUMBER,
  SCHEDULE_OF_MERCHANTS,
  SCHEDULES_TO_LOOK_AT,
} from './schedules.sql.js';

export interface NewSchedule {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly correlationId: string;
  /** The gateway's time. */
  readonly nowMs: number;
  readonly terms: Terms;
  readonly userId: number;
}

/** Who makes or changes one, as the journal calls it. */
export interface Acting {
  readonly actor: string;
  readonly address?: string | undefined;
  readonly correlationId?: string | undefined;
}

/** As it is stored. */
export type ScheduleRow = Omit<Schedule, 'terms'> & {
  readonly terms: string;
  readonly newest: Buffer | null;
};

/** With what its terms are in the database: a change since is noticed by that. */
export type KnownSchedule = Schedule & { readonly stored: string };

/** One that is not as it was sealed. */
export interface ChangedSchedule {
  readonly id: string;
  readonly merchantId: MerchantId;
  readonly isChanged: true;
}

export interface ListWish {
  readonly limit: number;
  readonly after?: PageEnd | undefined;
  readonly customerId?: CustomerId | undefined;
  readonly status?: ScheduleStatus | undefined;
  readonly correlationId?: string | undefined;
}

export interface DateCounts {
  readonly paid: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Change {
  readonly action: JournalAction;
  readonly terms: Terms;
  readonly event?: 'paused' | 'ended';
  /** Why the gateway has paused it. */
  readonly reason?: string;
}

const HIGHEST_NUMBER = 2 ** 31 - 1;
const DRAWS = 5;

const PAGE = 500;

/** As the journal is to have sealed them: every one, or those of a merchant. */
export async function* sealedSchedules(
  database: Queryable,
  merchant?: number,
): AsyncGenerator<ReadRow & { readonly merchant: MerchantId }> {
  for (let after: readonly number[] = [0, 0]; ; ) {
    const { rows } = await database.query<ScheduleRow>(SCHEDULES_TO_LOOK_AT, [
      ...after,
      merchant ?? null,
      PAGE,
    ]);
    const last = rows.at(-1);
    if (last === undefined) return;
    for (const row of rows)
      yield { ...rowOfSchedule(row, row.terms), newest: row.newest, merchant: row.merchantId };
    after = [last.organisationId, last.number];
  }
}

export class Schedules {
  constructor(private readonly database: Database) {}

  /** `isNew` is false where the correlation ID has made one before. */
  async create(wish: NewSchedule, acting: Acting): Promise<{ schedule: KnownSchedule; isNew: boolean }> {
    const { organisationId, merchantId, correlationId, nowMs, terms, userId } = wish;
    const { customerId } = terms;
    const stored = JSON.stringify(terms);
    const first = dateOf(terms, 1);
    if (first === undefined) throw new Error('a schedule without dates');
    const firstMs = payMs(terms, first);
    for (let draw = 1; ; draw += 1) {
      const place = {
        organisationId,
        merchantId,
        id: makeScheduleId(),
        number: randomInt(1, HIGHEST_NUMBER),
      };
      const values = [organisationId, place.number, merchantId, customerId, place.id, correlationId, nowMs];
      try {
        const isNew = await this.database.transaction(async (connection) => {
          const { count } = await connection.query(ADD_SCHEDULE, [
            ...values,
            userId,
            stored,
            firstMs,
            ...countedBy(terms, 1),
          ]);
          if (count === 0) return false;
          await this.#journalled(connection, { ...place, terms }, acting, 'schedule.added', stored);
          return true;
        });
        if (isNew) {
          const opened = { correlationId, createdMs: nowMs, terms, userId, status: 'active' } as const;
          return { schedule: { ...place, ...opened, nextN: 1, stored }, isNew };
        }
      } catch (error) {
        // Its number was drawn before.
        if (isUniqueViolation(error, 'schedule_pkey') && draw < DRAWS) continue;
        throw error;
      }
      const schedule = await this.byCorrelationId(organisationId, merchantId, correlationId);
      if (schedule === undefined) throw fault('not_processed');
      return { schedule, isNew: false };
    }
  }

  ofMerchants(
    id: string,
    organisationId: OrganisationId,
    merchants: Iterable<number>,
  ): Promise<KnownSchedule | undefined> {
    return this.#first(SCHEDULE_OF_MERCHANTS, [id, organisationId, [...merchants]]);
  }

  byCorrelationId(
    organisationId: OrganisationId,
    merchantId: MerchantId,
    correlationId: string,
  ): Promise<KnownSchedule | undefined> {
    return this.#first(SCHEDULE_BY_CORRELATION_ID, [organisationId, merchantId, correlationId]);
  }

  byNumber({ organisationId, number }: Pick<Schedule, 'organisationId' | 'number'>) {
    return this.#first(SCHEDULE_BY_NUMBER, [organisationId, number]);
  }

  /** Newest first. One that somebody has changed in the database is listed as such: it hides no other. */
  async list(
    { organisationId, merchantId }: Pick<Schedule, 'organisationId' | 'merchantId'>,
    { limit, after, customerId, status, correlationId }: ListWish,
  ): Promise<Page<KnownSchedule | ChangedSchedule>> {
    const place = after === undefined ? [null, null] : [Number(after.place), after.id];
    const filters = [customerId ?? null, status ?? null, correlationId ?? null];
    const values = [organisationId, merchantId, limit + 1, ...place, ...filters];
    const { rows } = await this.database.query<ScheduleRow>(LIST_SCHEDULES, values);
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1) : undefined;
    const items = await Promise.all(
      shown.map((row) =>
        this.#asSealed(this.database, row).catch((error: unknown) => {
          if (error instanceof Fault)
            return { id: row.id, merchantId: row.merchantId, isChanged: true } as const;
          throw error;
        }),
      ),
    );
    return { items, end: last && { place: String(last.createdMs), id: last.number } };
  }

  /** The last ones that were begun, the last one first. */
  async dates(
    { organisationId, number }: Pick<Schedule, 'organisationId' | 'number'>,
    limit: number,
  ): Promise<ScheduledDate[]> {
    return (await this.database.query<ScheduledDate>(LATEST_DATES, [organisationId, number, limit])).rows;
  }

  async counts({ organisationId, number }: Schedule): Promise<DateCounts> {
    const { rows } = await this.database.query<DateCounts>(COUNT_DATES, [organisationId, number]);
    return rows[0] as DateCounts;
  }

  /** What it pays from now on, and on which date next. Undefined where it is not open any more. */
  amend(
    schedule: Schedule,
    acting: Acting,
    {
      amountCents,
      nextDate,
    }: { amountCents?: Terms['amountCents'] | undefined; nextDate?: string | undefined },
  ): Promise<KnownSchedule | undefined> {
    return this.#change(schedule, acting, ({ status, terms, nextN }) => {
      if (status !== 'active' && status !== 'paused') return undefined;
      const kept = terms.anchors.filter(({ n }) => n < nextN);
      const anchors = nextDate === undefined ? terms.anchors : [...kept, { n: nextN, date: nextDate }];
      return {
        action: 'schedule.changed',
        terms: { ...terms, anchors, ...(amountCents !== undefined && { amountCents }) },
      };
    });
  }

  /** `reason`: why the gateway does it by itself. */
  pause(schedule: Schedule, acting: Acting, reason?: string): Promise<KnownSchedule | undefined> {
    return this.pauseIn(this.database, schedule, acting, reason);
  }

  /** The same in the transaction of a payment that has failed. */
  pauseIn(connection: Queryable, schedule: Schedule, acting: Acting, reason?: string) {
    const change = ({ status, terms }: Schedule): Change | undefined =>
      status === 'active'
        ? {
            action: 'schedule.paused',
            terms: standing(terms, 'paused'),
            event: 'paused',
            ...(reason !== undefined && { reason }),
          }
        : undefined;
    return this.#changeIn(connection, schedule, acting, change);
  }

  /** Dates before today are not paid any more. `today`: in Sydney. */
  resume(schedule: Schedule, acting: Acting, today: string): Promise<KnownSchedule | undefined> {
    return this.#change(schedule, acting, ({ status, terms }) =>
      status === 'paused'
        ? { action: 'schedule.resumed', terms: { ...standing(terms, 'active'), from: today } }
        : undefined,
    );
  }

  cancel(schedule: Schedule, acting: Acting): Promise<KnownSchedule | undefined> {
    return this.#change(schedule, acting, (now) =>
      isOpen(now)
        ? { action: 'schedule.cancelled', terms: standing(now.terms, 'cancelled'), event: 'ended' }
        : undefined,
    );
  }

  #change(schedule: Schedule, acting: Acting, change: (now: KnownSchedule) => Change | undefined) {
    return this.#changeIn(this.database, schedule, acting, change);
  }

  #changeIn(
    database: Queryable,
    { organisationId, number }: Schedule,
    acting: Acting,
    change: (now: KnownSchedule) => Change | undefined,
  ): Promise<KnownSchedule | undefined> {
    return database.transaction(async (connection) => {
      await connection.query(LOCK_SCHEDULE, [organisationId, number]);
      const { rows } = await connection.query<ScheduleRow>(SCHEDULE_BY_NUMBER, [organisationId, number]);
      const now = rows[0] && (await this.#asSealed(connection, rows[0]));
      const changed = now && change(now);
      if (now === undefined || changed === undefined) return undefined;
      const { action, terms, event, reason } = changed;
      const stored = JSON.stringify(terms);
      const status = terms.standing;
      const data = event && JSON.stringify({ schedule: now.id, status, ...(reason && { reason }) });
      const values = [organisationId, number, stored, event ?? null, data ?? null];
      await connection.query(CHANGE_SCHEDULE, [...values, ...countedBy(terms, now.nextN)]);
      await this.#journalled(connection, { ...now, terms }, acting, action, stored);
      return { ...now, terms, stored, status };
    });
  }

  #journalled(
    connection: Queryable,
    schedule: Pick<Schedule, 'organisationId' | 'number' | 'merchantId' | 'id' | 'terms'> & {
      nextN?: number;
    },
    { actor, address, correlationId }: Acting,
    action: JournalAction,
    stored: string,
  ): Promise<void> {
    const { organisationId, merchantId, id, terms, nextN = 1 } = schedule;
    const { amountCents, currency, every, customerId, tokenId } = terms;
    const next = dateOf(terms, nextN);
    const detail = [
      id,
      `${moneyText(amountCents, currency)} ${intervalInWords(every)}`,
      ...(next === undefined ? [] : [`next ${next}`]),
    ].join(', ');
    const entry = {
      actor,
      action,
      organisationId,
      merchantId,
      customerId,
      tokenId,
      address,
      correlationId,
      detail,
    };
    return journal(connection, entry, rowOfSchedule(schedule, stored));
  }

  async #first(statement: Statement, values: unknown[]): Promise<KnownSchedule | undefined> {
    const { rows } = await this.database.query<ScheduleRow>(statement, values);
    return rows[0] && this.#asSealed(this.database, rows[0]);
  }

  /** One that somebody has changed in the database, or set back to what it was, is shown to nobody, and nothing of it is paid. */
  async #asSealed(database: Queryable, { newest, terms, ...row }: ScheduleRow): Promise<KnownSchedule> {
    const fit = await fitNow(database, { ...rowOfSchedule(row, terms), newest });
    // guard(schedule: paid only as it was sealed): fit.kind === 'misfit' ⇒ fit.version < 0
    if (fit.kind === 'misfit') throw fault('not_processed');
    return { ...row, terms: JSON.parse(terms) as Terms, stored: terms };
  }
}

/** What the calendar counts it by: the next date, the amount, and the pace. */
function countedBy(terms: Terms, nextN: number): [string | null, Cents, string] {
  const next = terms.standing === 'active' ? dateOf(terms, nextN) : undefined;
  return [next ?? null, terms.amountCents, paceOf(terms)];
}

function standing(terms: Terms, now: Standing): Terms {
  return { ...terms, standing: now };
}
