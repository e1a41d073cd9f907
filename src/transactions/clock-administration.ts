// Moving the gateway's clock, where no acquirer is a real one.
import { setTimeout as sleep } from 'node:timers/promises';
import { journal } from '../merchants/journal.js';
import type { Database } from '../store/database.js';
import { ADVANCE_CLOCK, SHOW_CLOCK } from './clock-administration.sql.js';

export class ClockError extends Error {}

export interface ClockView {
  readonly nowMs: number;
  readonly advancedMs: number;
}

interface ClockRow {
  readonly advancedMs: number;
  readonly realAcquirers: string[];
  readonly behind: number;
}

/** Every running process looks at the clock once a second. */
const WAIT_AT_MOST_MS = 10_000;
/** Enough for every rule of the gateway; a slip of the finger beyond it could not be taken back. */
const MOST_AHEAD_MS = 3_653 * 86_400_000;

export async function showClock(database: Database, simulated: readonly string[]): Promise<ClockView> {
  const { advancedMs } = await read(database, simulated);
  return { nowMs: Date.now() + advancedMs, advancedMs };
}

/** Returns when every running process has the new time. */
export async function advanceClock(
  database: Database,
  simulated: readonly string[],
  byMs: number,
  actor: string,
): Promise<ClockView> {
  const { realAcquirers, advancedMs } = await read(database, simulated);
  if (realAcquirers.length > 0) {
    throw new ClockError(
      `the clock can be moved only where every acquirer is simulated, not with ${realAcquirers.join(', ')}`,
    );
  }
  if (advancedMs + byMs > MOST_AHEAD_MS) {
    throw new ClockError('the clock can be at most ten years ahead, and never goes back');
  }
  await database.transaction(async (connection) => {
    await connection.query(ADVANCE_CLOCK, [byMs]);
    await journal(connection, { actor, action: 'clock.advanced', detail: `${byMs} ms` });
  });
  const startedMs = performance.now();
  while ((await read(database, simulated)).behind > 0 && performance.now() - startedMs < WAIT_AT_MOST_MS)
    await sleep(50);
  return showClock(database, simulated);
}

async function read(database: Database, simulated: readonly string[]): Promise<ClockRow> {
  const { rows } = await database.query<ClockRow>(SHOW_CLOCK, [simulated]);
  return rows[0] as ClockRow;
}
