// Pays schedules on their days. Every process does, and each schedule is taken by one at a time. A date is begun in the database before the
// pipeline hears of it, and is part of the correlation ID of its payment: whatever crashes, and whoever goes on with it, it is paid once.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock/clock.js';
import { actingMerchant, callerFor } from '../organisations/users/callers.js';
import type { Lookup } from '../payments/finding/lookup.js';
import type { SearchFence } from '../payments/finding/search-fence.js';
import type { Creation } from '../payments/pipeline/create.js';
import type { Transaction } from '../payments/transaction.js';
import type { Database } from '../postgres/database.js';
import { Fault, type FaultCode } from '../values/faults.js';
import type { OrganisationId } from '../values/ids.js';
import { type Verdict, verdictOf } from './retries.js';
import { correlationIdOf, dateOf, type Outcome, payMs, type ScheduledDate } from './schedule.js';
import type { KnownSchedule, Schedules } from './schedules.js';
import {
  BEGIN_DATE,
  DECIDE_DATE,
  END_SCHEDULE,
  KEEP_DATE,
  LEAVE_SCHEDULE,
  OPEN_DATES,
  SCHEDULES_ARE_DUE,
  TAKE_SCHEDULES,
  TRY_DATE,
} from './schedules.sql.js';

interface RunnerParts {
  readonly database: Database;
  /** For looks whether there is anything to do. */
  readonly looks: Database;
  readonly schedules: Schedules;
  readonly creation: Pick<Creation, 'create'>;
  readonly lookup: Lookup;
  readonly searchFence: SearchFence;
  readonly clock: Clock;
  /** So long a process keeps a schedule to itself. */
  readonly leaseMs: number;
  /** The database was restored, and what it has lost is not known yet: nothing is paid. */
  readonly isLost: () => boolean;
  readonly onDecided: (outcome: Outcome, lateMs: number) => void;
  /** A date that is not as the schedule says, or whose payments are gone. */
  readonly onBroken: (subject: string) => void;
  readonly onError: (error: unknown) => void;
}

interface Taken {
  readonly organisationId: OrganisationId;
  readonly number: number;
  readonly heldUntil: string;
  readonly dueMs: number;
}

/** So many are in hand at once, and of one organisation: many that are late hold up neither payments nor other organisations. */
const MOST_AT_ONCE = 8;
const MOST_OF_ORGANISATION = 4;
const PAUSE_MS = 250;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Between two dates of a schedule that has to catch up. */
const APART_MS = HOUR_MS;
const IN_DOUBT_AGAIN_MS = 15_000;
const NOT_PROCESSED_AGAIN_MS = 30_000;
const SUSPENDED_AGAIN_MS = 10 * MINUTE_MS;
const PAUSED_AGAIN_MS = 10 * MINUTE_MS;
const PENDING_AGAIN_MS = HOUR_MS;
const BROKEN_AGAIN_MS = HOUR_MS;
const MOST_SKIPPED_AT_ONCE = 100;
/** Of correlation IDs, which are found however old they are. */
const EVER = { nowMs: 0 };
const BY_GATEWAY = { actor: 'gateway:schedules' };

/** With these there is nothing to wait for: the date has failed. */
const FINAL: readonly string[] = [
  'token_not_usable',
  'retry_forbidden',
  'priced_amount_too_large',
  'direct_debit_amount_too_large',
  'direct_debit_currency',
];
/** They say nothing about the payment: it is tried again without counting. */
const WAITS: { readonly [Code in FaultCode]?: number } = {
  not_processed: NOT_PROCESSED_AGAIN_MS,
  merchant_suspended: SUSPENDED_AGAIN_MS,
  merchant_not_permitted: SUSPENDED_AGAIN_MS,
};

export class ScheduleRunner {
  readonly #inHand = new Map<
    string,
    { readonly organisationId: OrganisationId; readonly work: Promise<void> }
  >();
  #stopped = false;

  constructor(private readonly parts: RunnerParts) {}

  /** Begins what there is to do, and does not wait for its end. */
  async run(): Promise<void> {
    const { database, looks, leaseMs, isLost, onError } = this.parts;
    // guard(schedule: nothing is paid while payments may be lost): isLost() ⇒ false
    while (!isLost() && !this.#stopped) {
      const [look] = (await looks.query<{ due: boolean }>(SCHEDULES_ARE_DUE)).rows;
      if (!look?.due) return;
      const room = Math.min(MOST_AT_ONCE - this.#inHand.size, MOST_OF_ORGANISATION);
      const values = [leaseMs, this.#busyOrganisations(), room];
      const { rows } = room > 0 ? await database.query<Taken>(TAKE_SCHEDULES, values) : { rows: [] };
      for (const taken of rows) {
        const { organisationId, number } = taken;
        const key = `${organisationId}/${number}`;
        const work = this.#work(taken)
          .catch(onError)
          .finally(() => this.#inHand.delete(key));
        this.#inHand.set(key, { organisationId, work });
      }
      if (rows.length === 0 && room > 0) return;
      // What is late is made up for, and not in a burst.
      await sleep(PAUSE_MS);
    }
  }

  /** Returns when nothing is in hand any more. */
  async finish(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#inHand.values()].map(({ work }) => work));
  }

  #busyOrganisations(): OrganisationId[] {
    const all = [...this.#inHand.values()].map(({ organisationId }) => organisationId);
    return [...new Set(all)].filter(
      (one) => all.filter((each) => each === one).length >= MOST_OF_ORGANISATION,
    );
  }

  /** What fails here is tried again when the lease is over. */
  async #work(taken: Taken): Promise<void> {
    const { database, schedules, clock, onError } = this.parts;
    let schedule: KnownSchedule | undefined;
    try {
      schedule = await schedules.byNumber(taken);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // It is not as it was sealed, and the journal has said so.
      return;
    }
    if (schedule === undefined) return;
    let nextMs: number | null = clock.now() + NOT_PROCESSED_AGAIN_MS;
    try {
      await this.#step(schedule, taken);
      nextMs = await this.#nextLook(schedule);
    } catch (error) {
      onError(error);
    }
    const { organisationId, number, heldUntil } = taken;
    await database.query(LEAVE_SCHEDULE, [organisationId, number, heldUntil, schedule.stored, nextMs]);
  }

  /** One payment at most. */
  async #step(schedule: KnownSchedule, { dueMs }: Taken): Promise<void> {
    const nowMs = this.parts.clock.now();
    const dates = await this.#openDates(schedule);
    for (const date of dates.filter(isUndecided))
      if (
        (schedule.status === 'cancelled' || (date.lookMs ?? 0) <= nowMs) &&
        (await this.#goOn(schedule, date))
      )
        return;
    // guard(schedule: what is paused or cancelled begins nothing): schedule.status !== 'active' || ⇒
    if (schedule.status !== 'active' || dates.some(keepsOthersWaiting)) return;
    await this.#beginNext(schedule, dates.at(-1), dueMs);
  }

  /** The next date, if its day has come. */
  async #beginNext(schedule: KnownSchedule, last: ScheduledDate | undefined, dueMs: number): Promise<void> {
    const { database, clock, onDecided } = this.parts;
    const { organisationId, number, terms, stored } = schedule;
    for (let n = schedule.nextN; n < schedule.nextN + MOST_SKIPPED_AT_ONCE; n += 1) {
      const dueOn = dateOf(terms, n);
      if (dueOn === undefined) return;
      const begin = async (status: 'processing' | 'skipped', reason: string | null) => {
        const values = [
          organisationId,
          number,
          n,
          dueOn,
          stored,
          status,
          reason,
          dateOf(terms, n + 1) ?? null,
        ];
        return (await database.query(BEGIN_DATE, values)).count > 0;
      };
      // guard(schedule: what passed while it was paused is not paid): terms.from !== undefined && dueOn < terms.from ⇒ false
      if (terms.from !== undefined && dueOn < terms.from) {
        if (!(await begin('skipped', 'paused'))) return;
        onDecided('skipped', 0);
        continue;
      }
      // guard(schedule: nothing is paid before its day): clock.now() < startMs(schedule, dueOn, last) ⇒ false
      if (clock.now() < startMs(schedule, dueOn, last)) return;
      if (!(await begin('processing', null))) return;
      await this.#pay(schedule, { n, dueOn, attempt: 1, refusals: 0 }, [], Math.max(0, clock.now() - dueMs));
      return;
    }
  }

  /** What was begun before: by this process, or by one that is gone. True if it has paid. */
  async #goOn(schedule: KnownSchedule, date: ScheduledDate): Promise<boolean> {
    const { onBroken, clock } = this.parts;
    const made = await this.#madeFor(schedule, date);
    const tried = date.status === 'retrying' ? date.attempt : date.attempt - 1;
    // A further payment is made only beside all those before it.
    // guard(schedule: a further payment is made beside those before it): made.length < tried ⇒ made.length < 0
    if (made.length < tried) {
      onBroken(`schedule/${schedule.id}`);
      await this.#keep(schedule, date, { status: date.status, atMs: clock.now() + BROKEN_AGAIN_MS });
      return false;
    }
    const alive = made.findIndex(isAlive);
    // guard(schedule: what was paid is not paid again): alive >= 0 ⇒ alive > 1_000
    if (alive >= 0) {
      await this.#settle(schedule, { ...date, refusals: 0 }, made.slice(0, alive + 1));
      return false;
    }
    if (date.status !== 'retrying' && made.length >= date.attempt) {
      await this.#settle(schedule, { ...date, refusals: 0 }, made);
      return false;
    }
    // guard(schedule: what is cancelled is not tried again): schedule.status === 'cancelled' ⇒ schedule.id === ''
    if (schedule.status === 'cancelled') {
      await this.#giveUp(schedule, date, made, 'skipped', 'cancelled');
      return false;
    }
    // guard(schedule: what is paused is not tried again): schedule.status === 'paused' ⇒ schedule.id === ''
    if (schedule.status === 'paused') {
      await this.#keep(schedule, date, { status: date.status, atMs: clock.now() + PAUSED_AGAIN_MS });
      return false;
    }
    const dueOn = dateOf(schedule.terms, date.n);
    // guard(schedule: a date that somebody has made up is not paid): dueOn !== date.dueOn ⇒ false
    if (dueOn !== date.dueOn || date.n >= schedule.nextN || clock.now() < payMs(schedule.terms, dueOn)) {
      onBroken(`schedule/${schedule.id}`);
      await this.#keep(schedule, date, { status: date.status, atMs: clock.now() + BROKEN_AGAIN_MS });
      return false;
    }
    const next = { ...date, attempt: made.length + 1 };
    const { organisationId, number, stored } = schedule;
    // Where it does not go on, it was changed meanwhile, or another process is at it.
    const values = [organisationId, number, date.n, next.attempt, stored];
    if ((await this.parts.database.query(TRY_DATE, values)).count > 0)
      await this.#pay(schedule, next, made, 0);
    return true;
  }

  async #pay(
    schedule: KnownSchedule,
    date: Pick<ScheduledDate, 'n' | 'dueOn' | 'attempt' | 'refusals'>,
    made: readonly Transaction[],
    lateMs: number,
  ): Promise<void> {
    const { onError } = this.parts;
    try {
      const transaction = await this.#create(schedule, date);
      await this.#settle(schedule, { ...date, refusals: 0 }, [...made, transaction], lateMs);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      await this.#refused(schedule, date, made, error).catch(onError);
    }
  }

  /** The same path as a client's request, from arrival to answer. */
  async #create(
    schedule: KnownSchedule,
    { dueOn, attempt }: Pick<ScheduledDate, 'dueOn' | 'attempt'>,
  ): Promise<Transaction> {
    const { database, searchFence, creation } = this.parts;
    const { organisationId, merchantId, id, userId, terms } = schedule;
    const inFlight = searchFence.arrive(correlationIdOf(schedule, dueOn, attempt));
    try {
      const acting = { username: `schedule:${id}`, userId: userId ?? 0 };
      const caller = await callerFor(database, { organisationId, merchantId }, acting);
      const merchant = actingMerchant(caller, merchantId);
      if (inFlight.turnedAway || inFlight.heard < caller.arrivedAbsence)
        throw new Fault([{ code: 'not_processed' }]);
      Object.assign(inFlight, { organisationId, merchantId, begun: true });
      return await creation.create({
        operation: 'purchase',
        caller,
        address: '',
        merchant,
        correlationId: inFlight.correlationId,
        inFlight,
        reference: terms.reference,
        kvps: { SCHEDULE: id, 'SCHEDULE.DATE': dueOn },
        method: { kind: 'virtual_pan', virtualPan: terms.virtualPan },
        // Its payer agreed to it before the first payment.
        credential: { initiator: 'merchant', reason: 'recurring', sequence: 'subsequent' },
        amountCents: terms.amountCents,
        currency: terms.currency,
      });
    } finally {
      searchFence.leave(inFlight);
    }
  }

  /** The pipeline has made no payment, or does not know of one yet. */
  async #refused(
    schedule: KnownSchedule,
    date: Pick<ScheduledDate, 'n' | 'dueOn' | 'attempt' | 'refusals'>,
    made: readonly Transaction[],
    { code }: Fault,
  ): Promise<void> {
    const nowMs = this.parts.clock.now();
    const known = await this.#find(schedule, date.dueOn, date.attempt);
    if (known !== undefined) return this.#settle(schedule, { ...date, refusals: 0 }, [...made, known]);
    const waitMs = WAITS[code];
    // It was found out that there is a payment, and now it is not there: it comes to light, or the next look says so.
    if (code === 'correlation_id_already_used' || waitMs !== undefined)
      return this.#keep(schedule, date, {
        status: 'processing',
        atMs: nowMs + (waitMs ?? IN_DOUBT_AGAIN_MS),
      });
    if (FINAL.includes(code)) return this.#giveUp(schedule, date, made, 'failed', code);
    const refusals = date.refusals + 1;
    const verdict = verdictOf(made, schedule.terms, { nowMs, refusals, refusal: code });
    if (verdict.kind !== 'again') return this.#giveUp(schedule, date, made, 'failed', code);
    await this.#keep(schedule, { ...date, refusals }, { status: 'processing', ...verdict });
  }

  /** What the payments of a date have come to. */
  async #settle(
    schedule: KnownSchedule,
    date: Pick<ScheduledDate, 'n' | 'dueOn' | 'attempt' | 'refusals'>,
    made: readonly Transaction[],
    lateMs = 0,
  ): Promise<void> {
    const nowMs = this.parts.clock.now();
    const verdict: Verdict = verdictOf(made, schedule.terms, { nowMs });
    const audit = made.at(-1)?.audit;
    switch (verdict.kind) {
      case 'paid':
        return this.#decide(schedule, date, { outcome: 'paid', reason: null, audit, lateMs });
      case 'pending':
        return this.#keep(schedule, date, { status: 'pending', atMs: nowMs + PENDING_AGAIN_MS, audit });
      case 'in doubt':
        return this.#keep(schedule, date, { status: 'processing', atMs: nowMs + IN_DOUBT_AGAIN_MS, audit });
      case 'again':
        return this.#keep(schedule, date, { status: 'retrying', ...verdict, audit });
      case 'failed':
        return this.#decide(schedule, date, { outcome: 'failed', reason: verdict.reason, audit, lateMs });
    }
  }

  /** Without a payment: no process can make one of it any more. */
  async #giveUp(
    schedule: KnownSchedule,
    date: Pick<ScheduledDate, 'n' | 'dueOn' | 'attempt' | 'refusals'>,
    made: readonly Transaction[],
    outcome: 'failed' | 'skipped',
    reason: string,
  ): Promise<void> {
    const { lookup, searchFence } = this.parts;
    const { organisationId, merchantId } = schedule;
    const attempt = made.length + 1;
    const key = { organisationId, merchantId, correlationId: correlationIdOf(schedule, date.dueOn, attempt) };
    const look = () => lookup.byCorrelationId({ ...EVER, ...key });
    const prove = () => lookup.provenByCorrelationId({ ...EVER, ...key });
    // guard(schedule: a date is given up only behind a fence): await searchFence.findOrFence(key, { look, prove }) ⇒ await look()
    const found = await searchFence.findOrFence(key, { look, prove });
    if (found !== undefined) return this.#settle(schedule, { ...date, refusals: 0 }, [...made, found]);
    await this.#decide(schedule, date, { outcome, reason, audit: made.at(-1)?.audit, lateMs: 0 });
  }

  async #decide(
    schedule: KnownSchedule,
    { n, attempt }: Pick<ScheduledDate, 'n' | 'attempt'>,
    decided: { outcome: Outcome; reason: string | null; audit: number | undefined; lateMs: number },
  ): Promise<void> {
    const { database, schedules, onDecided } = this.parts;
    const { organisationId, number, terms } = schedule;
    const { outcome, reason, audit, lateMs } = decided;
    const values = [organisationId, number, n, attempt, outcome, reason, audit ?? null];
    const pauses = outcome === 'failed' && terms.onFailure === 'pause';
    const isFirst = await database.transaction(async (connection) => {
      const { count } = await connection.query(DECIDE_DATE, values);
      if (count > 0 && pauses) await schedules.pauseIn(connection, schedule, BY_GATEWAY, reason ?? undefined);
      return count > 0;
    });
    if (isFirst) onDecided(outcome, lateMs);
  }

  async #keep(
    { organisationId, number }: KnownSchedule,
    { n, attempt, refusals }: Pick<ScheduledDate, 'n' | 'attempt' | 'refusals'>,
    kept: { status: string; atMs: number; audit?: number | undefined; reason?: string },
  ): Promise<void> {
    const { status, atMs, audit, reason } = kept;
    const values = [
      organisationId,
      number,
      n,
      attempt,
      status,
      atMs,
      refusals,
      audit ?? null,
      reason ?? null,
    ];
    await this.parts.database.query(KEEP_DATE, values);
  }

  /** When there is something to do next. Ends the schedule after its last date. */
  async #nextLook(before: KnownSchedule): Promise<number | null> {
    const { database, schedules } = this.parts;
    const schedule = (await schedules.byNumber(before)) ?? before;
    const { organisationId, number, status, terms, nextN, stored } = schedule;
    const dates = await this.#openDates(schedule);
    const undecided = dates.filter(isUndecided);
    const isWaiting = (date: ScheduledDate) => status === 'paused' && date.status === 'retrying';
    const looks = undecided.filter((date) => !isWaiting(date)).map(({ lookMs }) => lookMs ?? 0);
    if (status === 'active' && !dates.some(keepsOthersWaiting)) {
      const dueOn = dateOf(terms, nextN);
      if (dueOn !== undefined) looks.push(startMs(schedule, dueOn, dates.at(-1)));
      else if (undecided.length === 0) await database.query(END_SCHEDULE, [organisationId, number, stored]);
    }
    return looks.length === 0 ? null : Math.min(...looks);
  }

  async #openDates({ organisationId, number }: KnownSchedule): Promise<ScheduledDate[]> {
    return (await this.parts.database.query<ScheduledDate>(OPEN_DATES, [organisationId, number])).rows;
  }

  /** Every payment of a date, the first one first. */
  async #madeFor(schedule: KnownSchedule, { dueOn }: ScheduledDate): Promise<Transaction[]> {
    const made: Transaction[] = [];
    for (;;) {
      const next = await this.#find(schedule, dueOn, made.length + 1);
      if (next === undefined) return made;
      made.push(next);
    }
  }

  #find(schedule: KnownSchedule, dueOn: string, attempt: number): Promise<Transaction | undefined> {
    const { organisationId, merchantId } = schedule;
    const correlationId = correlationIdOf(schedule, dueOn, attempt);
    return this.parts.lookup.byCorrelationId({ ...EVER, organisationId, merchantId, correlationId });
  }
}

function isUndecided({ status }: ScheduledDate): boolean {
  return status === 'processing' || status === 'pending' || status === 'retrying';
}

/** In order: the next date waits for this one. A direct debit takes days, and the next one does not wait for it. */
function keepsOthersWaiting({ status }: ScheduledDate): boolean {
  return status === 'processing' || status === 'retrying';
}

/** It may have been paid. */
function isAlive({ status }: Transaction): boolean {
  return status !== 'declined' && status !== 'error';
}

/** When the date can be paid: on its day, and some time after the one before. */
function startMs({ terms }: KnownSchedule, dueOn: string, last: ScheduledDate | undefined): number {
  const dayMs = payMs(terms, dueOn);
  return last === undefined || last.status === 'skipped' ? dayMs : Math.max(dayMs, last.begunMs + APART_MS);
}
