// Closes settlement days when their time has come. From then on nothing is dated on them any more.
import type { Queryable } from '../postgres/database.js';
import { lastClosedDay, settlementCutOff, settlementDay } from '../values/time.js';
import { CLOSE_DAY } from './closing.sql.js';

/**
 * Closes the last day whose cut-off has passed, and all before it; false where it has to be tried again: a commit is held up, or
 * the database's clock has not come as far.
 */
export async function closeSettlementDays(database: Queryable, nowMs: number): Promise<boolean> {
  const day = lastClosedDay(nowMs);
  const { rows } = await database.query<{ closed: boolean }>(CLOSE_DAY, [day, settlementCutOff(day)]);
  return rows[0]?.closed === true;
}

/** For every process, once a second. Where another was first, there is nothing left to do. */
export class DayClosing {
  /** From when until when nothing has to be closed: the calendar is not asked once a second. */
  #closed = { fromMs: 0, untilMs: 0 };

  constructor(
    private readonly database: Queryable,
    private readonly clock: { now(): number },
  ) {}

  async run(): Promise<void> {
    const nowMs = this.clock.now();
    if (this.#closed.fromMs <= nowMs && nowMs < this.#closed.untilMs) return;
    if (!(await closeSettlementDays(this.database, nowMs))) return;
    const fromMs = settlementCutOff(lastClosedDay(nowMs));
    this.#closed = { fromMs, untilMs: settlementCutOff(settlementDay(nowMs)) };
  }
}
