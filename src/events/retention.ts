// How long events are kept. The table is a ring of days; those that are over are emptied, and nothing has to be made ahead.
import type { Database } from '../postgres/database.js';
import { FORGET_EVENTS } from './events.sql.js';

/** The ring has 64 days: these, today, tomorrow, and some in which to empty a day before it is needed again. */
export const MOST_DAYS_KEPT = 60;

export class EventRetention {
  constructor(
    private readonly database: Database,
    private readonly keptDays: number,
  ) {}

  /** Any number of processes may do it, as often as they like. Returns how many days were emptied. */
  async run(): Promise<number> {
    const { rows } = await this.database.query<{ emptied: number }>(FORGET_EVENTS, [this.keptDays]);
    return rows[0]?.emptied ?? 0;
  }
}
