// The gateway's clock, shown by the operator, and moved where no acquirer is a real one and no merchant live.
import { setTimeout as sleep } from 'node:timers/promises';
import { simulatedLinks } from '../acquirers/registry.js';
import { type JournalEntry, journal } from '../journal/journal.js';
import { isCheckViolation, type Queryable } from '../postgres/database.js';
import { duration, type Kind, TEXT } from '../tasks/kinds.js';
import { needed, task } from '../tasks/task.js';
import { Refusal, refuse } from '../values/refusal.js';
import { settlementDay, sydneyTimestamp } from '../values/time.js';
import { moveClock } from './gateway-clock.js';
import { DATED_AHEAD, SHOW_CLOCK } from './gateway-clock.sql.js';

interface ClockView {
  /** In Sydney. */
  readonly now: string;
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

/** Where a merchant has no other links than these, the clock may be moved. */
const SIMULATED = simulatedLinks();
/** Every running process looks at the clock once a second, and then does what has become due. */
const WAIT_AT_MOST_MS = 60_000;
/** Enough for every rule of the gateway; a slip of the finger beyond it could not be taken back. */
const MOST_AHEAD_MS = 3_653 * 86_400_000;

async function showClock(database: Queryable): Promise<ClockView> {
  const { advancedMs } = await read(database);
  return { now: sydneyTimestamp(Date.now() + advancedMs), advancedMs };
}

/** Returns when every running process has the new time, and what became due by it has happened. */
export async function advanceClock(database: Queryable, operator: string, byMs: number): Promise<ClockView> {
  const entry: JournalEntry = { actor: operator, action: 'clock.advanced', detail: `${byMs} ms` };
  await move(database, byMs, entry, async (connection) => {
    const { realAcquirers, advancedMs } = await read(connection);
    if (realAcquirers.length > 0) refuse('clock_needs_simulated_acquirers', { acquirers: realAcquirers });
    if (advancedMs > MOST_AHEAD_MS) refuse('clock_too_far_ahead');
  });
  await untilFollowed(database);
  return showClock(database);
}

/** Back to real time, if nothing has happened that would be in the future then. */
export async function resetClock(database: Queryable, operator: string): Promise<ClockView> {
  const { advancedMs } = await read(database);
  if (advancedMs > 0) {
    const detail = `${advancedMs} ms`;
    await refuseWhatIsAhead(database);
    await move(database, -advancedMs, { actor: operator, action: 'clock.reset', detail });
    await untilFollowed(database);
    // Until then the running processes have gone on under their old time.
    await refuseWhatIsAhead(database).catch(async (error: unknown) => {
      await move(database, advancedMs, { actor: operator, action: 'clock.advanced', detail });
      throw error;
    });
  }
  return showClock(database);
}

async function refuseWhatIsAhead(database: Queryable): Promise<void> {
  const today = settlementDay(Date.now());
  const { rows } = await database.query<{ transactions: number; files: number }>(DATED_AHEAD, [today]);
  const { transactions, files } = rows[0] as { transactions: number; files: number };
  if (transactions > 0 || files > 0) refuse('clock_has_dates_ahead', { transactions, files });
}

/** Checked once it is moved, and nobody else can move it: a live merchant or a real bank may come at the same moment. */
async function move(
  database: Queryable,
  byMs: number,
  entry: JournalEntry,
  check: (connection: Queryable) => Promise<void> = async () => {},
): Promise<void> {
  await database
    .transaction(async (connection) => {
      await moveClock(connection, byMs);
      await check(connection);
      await journal(connection, entry);
    })
    .catch((error: unknown) => {
      const live = isCheckViolation(error, 'live_keeps_real_time');
      throw live ? new Refusal('clock_has_live_merchant', undefined) : error;
    });
}

async function untilFollowed(database: Queryable): Promise<void> {
  const startedMs = performance.now();
  while (underWay(await read(database)) && performance.now() - startedMs < WAIT_AT_MOST_MS) await sleep(50);
}

function underWay({ behind, due, running }: ClockRow): boolean {
  return behind > 0 || (due > 0 && running > 0);
}

async function read(database: Queryable): Promise<ClockRow> {
  const { rows } = await database.query<ClockRow>(SHOW_CLOCK, [SIMULATED]);
  return rows[0] as ClockRow;
}

/** On the console, too, people write `3d`. */
const BY: Kind<number> = { ...duration(), schema: TEXT.schema };

const says = ({ now, advancedMs }: ClockView) =>
  `It is ${now} in Sydney, ${advancedMs / 1000} seconds ahead of real time.`;

export const CLOCK = {
  name: 'clock',
  help: "the gateway's clock, which can be moved where every acquirer is simulated and no merchant is live",
  tasks: [
    task({
      name: 'clock show',
      help: 'show the time and how far it is advanced',
      role: 'viewer',
      scope: 'nobody',
      route: 'GET /clock',
      input: {},
      run: ({ database }) => showClock(database),
      says,
    }),
    task({
      name: 'clock advance',
      help: 'move every process of the gateway forward',
      role: 'administrator',
      scope: 'installation',
      route: 'POST /clock/advance',
      input: { duration: needed(BY, '<duration>', 'for example 3d, 12h, 30m or 45s') },
      run: ({ database, actor }, given) => advanceClock(database, actor, given.duration),
      says,
    }),
    task({
      name: 'clock reset',
      help: 'back to real time, if nothing has happened that would be in the future then',
      role: 'administrator',
      scope: 'installation',
      route: 'POST /clock/reset',
      input: {},
      run: ({ database, actor }) => resetClock(database, actor),
      says,
    }),
  ],
} as const;
