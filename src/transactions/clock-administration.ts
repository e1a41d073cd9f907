// Moving the gateway's clock, where no acquirer is a real one and no merchant live.
import { setTimeout as sleep } from 'node:timers/promises';
import { type JournalEntry, journal } from '../journal/journal.js';
import { type Database, isCheckViolation, type Queryable } from '../postgres/database.js';
import { settlementDay } from '../values/settlement.js';
import { ADVANCE_CLOCK, ADVANCED, DATED_AHEAD, HOLD_CLOCK, SHOW_CLOCK } from './clock-administration.sql.js';

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

/** Keeps the clock where it is until the end of the transaction, and says how far it is ahead. */
export async function holdClock(connection: Queryable): Promise<number> {
  const { rows } = await connection.query<{ advancedMs: number }>(HOLD_CLOCK);
  return (rows[0] as { advancedMs: number }).advancedMs;
}

/** Returns when every running process has the new time, and what became due by it has happened. */
export async function advanceClock(
  database: Database,
  simulated: readonly string[],
  byMs: number,
  actor: string,
): Promise<ClockView> {
  const entry: JournalEntry = { actor, action: 'clock.advanced', detail: `${byMs} ms` };
  await move(database, byMs, entry, async (connection) => {
    const { realAcquirers, advancedMs } = await read(connection, simulated);
    if (realAcquirers.length > 0) {
      throw new ClockError(
        `the clock can be moved only where every acquirer is simulated, not with ${realAcquirers.join(', ')}`,
      );
    }
    if (advancedMs > MOST_AHEAD_MS) throw new ClockError('the clock can be at most ten years ahead');
  });
  await untilFollowed(database, simulated);
  return showClock(database, simulated);
}

/** Back to real time, if nothing has happened that would be in the future then. */
export async function resetClock(
  database: Database,
  simulated: readonly string[],
  actor: string,
): Promise<ClockView> {
  const { advancedMs } = await read(database, simulated);
  if (advancedMs > 0) {
    await refuseWhatIsAhead(database);
    await move(database, -advancedMs, { actor, action: 'clock.reset', detail: `${advancedMs} ms` });
    await untilFollowed(database, simulated);
    // Until then the running processes have gone on under their old time.
    await refuseWhatIsAhead(database).catch(async (error: unknown) => {
      await move(database, advancedMs, { actor, action: 'clock.advanced', detail: `${advancedMs} ms` });
      throw error;
    });
  }
  return showClock(database, simulated);
}

async function refuseWhatIsAhead(database: Database): Promise<void> {
  const today = settlementDay(Date.now());
  const { rows } = await database.query<{ transactions: number; files: number }>(DATED_AHEAD, [today]);
  const { transactions, files } = rows[0] as { transactions: number; files: number };
  if (transactions === 0 && files === 0) return;
  throw new ClockError(
    `the clock cannot go back: ${transactions} transactions and ${files} direct-debit files are dated ahead of real ` +
      'time. Wait until then, or begin a new installation',
  );
}

/** Checked once it is moved, and nobody else can move it: a live merchant or a real bank may come at the same moment. */
async function move(
  database: Database,
  byMs: number,
  entry: JournalEntry,
  check: (connection: Queryable) => Promise<void> = async () => {},
): Promise<void> {
  await database
    .transaction(async (connection) => {
      await connection.query(ADVANCE_CLOCK, [byMs]);
      await check(connection);
      await journal(connection, entry);
    })
    .catch((error: unknown) => {
      if (!isCheckViolation(error, 'live_keeps_real_time')) throw error;
      throw new ClockError('the clock cannot be moved while a live merchant exists');
    });
}

async function untilFollowed(database: Database, simulated: readonly string[]): Promise<void> {
  const startedMs = performance.now();
  while (underWay(await read(database, simulated)) && performance.now() - startedMs < WAIT_AT_MOST_MS)
    await sleep(50);
}

function underWay({ behind, due, running }: ClockRow): boolean {
  return behind > 0 || (due > 0 && running > 0);
}

async function read(database: Queryable, simulated: readonly string[]): Promise<ClockRow> {
  const { rows } = await database.query<ClockRow>(SHOW_CLOCK, [simulated]);
  return rows[0] as ClockRow;
}
