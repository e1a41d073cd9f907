// Moving the gateway's clock, where no acquirer is a real one.
import { setTimeout as sleep } from 'node:timers/promises';
import { journal } from '../merchants/journal.js';
import type { Database, Queryable } from '../store/database.js';
import { ADVANCE_CLOCK, ADVANCED, SHOW_CLOCK } from './clock-administration.sql.js';

export class ClockError extends Error {}

export interface ClockView {
  readonly nowMs: number;
  readonly advancedMs: number;
}

interface ClockRow {
  readonly advancedMs: number;
  readonly realAcquirers: string[];
  /** Direct debits to which something should have happened by now. */
  readonly due: number;
  readonly running: number;
  readonly behind: number;
}

/** Every running process looks at the clock once a second, and then does what has become due. */
const WAIT_AT_MOST_MS = 60_000;
/** Enough for every rule of the gateway; a slip of the finger beyond it could not be taken back. */
const MOST_AHEAD_MS = 3_653 * 86_400_000;

export async function showClock(database: Database, simulated: readonly string[]): Promise<ClockView> {
  const { advancedMs } = await read(database, simulated);
  return { nowMs: Date.now() + advancedMs, advancedMs };
}

/** The gateway's time, for a command that acts for the gateway. */
export async function gatewayTime(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ advancedMs: number }>(ADVANCED);
  return Date.now() + (rows[0] as { advancedMs: number }).advancedMs;
}

/** Returns when every running process has the new time, and what became due by it has happened. */
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
  while (underWay(await read(database, simulated)) && performance.now() - startedMs < WAIT_AT_MOST_MS)
    await sleep(50);
  return showClock(database, simulated);
}

function underWay({ behind, due, running }: ClockRow): boolean {
  return behind > 0 || (due > 0 && running > 0);
}

async function read(database: Database, simulated: readonly string[]): Promise<ClockRow> {
  const { rows } = await database.query<ClockRow>(SHOW_CLOCK, [simulated]);
  return rows[0] as ClockRow;
}
