// The figures of days, held against the transactions, and counted anew from the feed of events.
import { gatewayTime } from '../clock/gateway-clock.js';
import { journal } from '../journal/journal.js';
import type { Database } from '../postgres/database.js';
import { DayFigures } from './day-figures.js';
import { COUNT_KEPT_EVENTS, FORGET_FIGURES, TAKE_FIGURES, WRONG_FIGURES } from './figures-check.sql.js';

/** A number of an hour that is not what the transactions come to. */
export interface WrongFigure {
  readonly hour: Date;
  readonly organisation: number;
  readonly transactionType: string;
  readonly status: string;
  readonly currency: string;
  readonly acquirer: string;
  readonly method: string;
  readonly responseCode: string;
  readonly counted: number;
  readonly stored: number;
  readonly countedCents: number;
  readonly storedCents: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What changes while it is looked at is counted a moment later: only what is wrong each time is. */
const LOOKS = 3;

/** Of the last so many days, up to the hour before this one. */
export async function checkFigures(
  database: Database,
  eventDays: number,
  days: number,
): Promise<WrongFigure[]> {
  const untilMs = Math.floor((await gatewayTime(database)) / HOUR_MS) * HOUR_MS;
  let wrong: WrongFigure[] | undefined;
  for (let look = 0; look < LOOKS && wrong?.length !== 0; look += 1) {
    await new DayFigures(database, eventDays).run();
    const { rows } = await database.query<WrongFigure>(WRONG_FIGURES, [untilMs - days * DAY_MS, untilMs]);
    const before = wrong && new Set(wrong.map(keyOf));
    wrong = rows.filter((row) => before === undefined || before.has(keyOf(row)));
  }
  return wrong ?? [];
}

function keyOf({
  hour,
  organisation,
  transactionType,
  status,
  currency,
  acquirer,
  method,
  responseCode,
}: WrongFigure) {
  return [
    hour.getTime(),
    organisation,
    transactionType,
    status,
    currency,
    acquirer,
    method,
    responseCode,
  ].join(' ');
}

/** Forgets what was counted, and counts every event that is kept. Meanwhile pages show what is counted so far. Returns how many events. */
export async function rebuildFigures(
  database: Database,
  operator: string,
  eventDays: number,
  progress: (done: number, total: number) => void = () => {},
): Promise<number> {
  await database.transaction(async (connection) => {
    await connection.query(TAKE_FIGURES);
    await connection.query(FORGET_FIGURES);
    await journal(connection, { actor: operator, action: 'figures.rebuilt' });
  });
  const { rows } = await database.query<{ events: number }>(COUNT_KEPT_EVENTS);
  const figures = new DayFigures(database, eventDays);
  for (;;) {
    await figures.run();
    const { position, newest, first } = await figures.progress();
    progress(position - first, newest - first);
    if (position >= newest) return rows[0]?.events ?? 0;
  }
}
