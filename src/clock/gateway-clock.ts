// How far the gateway's clock is ahead of real time, as the database has it for every process: read, held and moved.
import type { Queryable } from '../postgres/database.js';
import { lastClosedDay } from '../values/time.js';
import { ADVANCED, HOLD_CLOCK, MOVE_CLOCK } from './gateway-clock.sql.js';

interface Advanced {
  readonly advancedMs: number;
}

/** The gateway's time, for an operator's work. */
export async function gatewayTime(database: Queryable): Promise<number> {
  const { rows } = await database.query<Advanced>(ADVANCED);
  return Date.now() + (rows[0] as Advanced).advancedMs;
}

/** Keeps the clock where it is until the end of the transaction, and says how far it is ahead. */
export async function holdClock(connection: Queryable): Promise<number> {
  const { rows } = await connection.query<Advanced>(HOLD_CLOCK);
  return (rows[0] as Advanced).advancedMs;
}

/** Never behind real time. */
export async function moveClock(connection: Queryable, byMs: number): Promise<void> {
  await connection.query(MOVE_CLOCK, [byMs, lastClosedDay(Date.now())]);
}
