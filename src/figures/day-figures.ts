// Counts transactions by minute and hour from the event feed, for operators. Payments do no work for it. Any number of
// processes may run it: one at a time counts, and the counts and the position are one commit.
import { slotsBetween } from '../events/events.js';
import type { Database } from '../postgres/database.js';
import {
  ANYTHING_TO_COUNT,
  COUNT_EVENTS,
  FIGURES_PROGRESS,
  FORGET_HOURS,
  FORGET_MINUTES,
  FORGET_UNDECIDED,
  LOCK_FIGURES,
  MOVE_FIGURES_ENDS,
} from './day-figures.sql.js';

/** In one commit. */
export const EVENTS_AT_ONCE = 5_000;
/** In a row, before other work runs. */
const BATCHES_AT_MOST = 40;
/** Today, the same weekday a week before, and the days by which a clock or an operator's time zone may be off. */
const MINUTES_KEPT_DAYS = 9;
const FORGOTTEN_AT_ONCE = 5_000;

export class DayFigures {
  constructor(
    private readonly database: Database,
    /** As long as events. */
    private readonly keptDays: number,
    private readonly eventsAtOnce: number = EVENTS_AT_ONCE,
  ) {}

  /** Counts the events since the last run. */
  async run(): Promise<void> {
    for (let batch = 0; batch < BATCHES_AT_MOST; batch += 1) {
      const { rows } = await this.database.query<{ any: boolean }>(ANYTHING_TO_COUNT);
      if (!rows[0]?.any || (await this.#countBatch())) return;
    }
  }

  /** True when nothing is left, or another process is counting. */
  #countBatch(): Promise<boolean> {
    return this.database.transaction(async (connection) => {
      const { rows: tried } = await connection.query<{ locked: boolean }>(LOCK_FIGURES);
      if (!tried[0]?.locked) return true;
      const { rows } = await connection.query<{ position: number; newest: number }>(FIGURES_PROGRESS);
      const { position, newest } = rows[0] as { position: number; newest: number };
      const values = [slotsBetween(position, newest), position, newest, this.eventsAtOnce];
      const counted = await connection.query<{ allTaken: boolean }>(COUNT_EVENTS, values);
      return counted.rows[0]?.allTaken !== false;
    });
  }

  /** The position up to which the kept events are counted. */
  async progress(): Promise<{ first: number; position: number; newest: number }> {
    const { rows } = await this.database.query<{ first: number; position: number; newest: number }>(
      FIGURES_PROGRESS,
    );
    return rows[0] as { first: number; position: number; newest: number };
  }

  /** Deletes old figures, a few at a time. */
  async forget(): Promise<void> {
    const minutes = Math.min(MINUTES_KEPT_DAYS, this.keptDays);
    await this.database.query(MOVE_FIGURES_ENDS, [minutes, this.keptDays]);
    for (const statement of [FORGET_MINUTES, FORGET_HOURS, FORGET_UNDECIDED]) {
      let removed: number;
      do removed = (await this.database.query(statement, [FORGOTTEN_AT_ONCE])).count;
      while (removed === FORGOTTEN_AT_ONCE);
    }
  }
}
