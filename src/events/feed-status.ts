// How far the feed of events has come, and what may hold it up.
import type { Queryable } from '../postgres/database.js';
import { EVENT_STATUS } from './feed-status.sql.js';

export interface EventStatus {
  /** Events without a position yet, and how long ago the oldest of them was written. */
  readonly waiting: number;
  readonly oldestWaitingSeconds: number | null;
  /** Events that can be read, and when the oldest of them was made. */
  readonly kept: number;
  readonly since: Date | null;
  /** For how long the oldest transaction of the database has been open that has written something: its events are not seen yet. */
  readonly longestWritingSeconds: number | null;
}

export async function eventStatus(database: Queryable): Promise<EventStatus> {
  const { rows } = await database.query<EventStatus>(EVENT_STATUS);
  if (rows[0] === undefined) throw new Error('the row of the sequencer is not there');
  return rows[0];
}
