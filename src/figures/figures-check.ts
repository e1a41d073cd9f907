// The figures of days, held against the transactions, and counted anew from the feed of events.
import { gatewayTime } from '../clock/gateway-clock.js';
import { journal } from '../journal/journal.js';
import { count } from '../tasks/kinds.js';
import { type Doing, optional, task } from '../tasks/task.js';
import { table } from '../values/text-table.js';
import { DayFigures } from './day-figures.js';
import { COUNT_KEPT_EVENTS, FORGET_FIGURES, TAKE_FIGURES, WRONG_FIGURES } from './figures-check.sql.js';

/** A number of an hour that is not what the transactions come to. */
interface WrongFigure {
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
async function checkFigures({ database, settings }: Doing, { days }: { readonly days: number }) {
  const untilMs = Math.floor((await gatewayTime(database)) / HOUR_MS) * HOUR_MS;
  let wrong: WrongFigure[] | undefined;
  for (let look = 0; look < LOOKS && wrong?.length !== 0; look += 1) {
    await new DayFigures(database, settings.eventDays).run();
    const { rows } = await database.query<WrongFigure>(WRONG_FIGURES, [untilMs - days * DAY_MS, untilMs]);
    const before = wrong && new Set(wrong.map(keyOf));
    wrong = rows.filter((row) => before === undefined || before.has(keyOf(row)));
  }
  return { days, wrong: wrong ?? [] };
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

/** Forgets what was counted, and counts every event that is kept. Meanwhile pages show what is counted so far. */
async function rebuildFigures({ database, actor, settings, progress }: Doing) {
  const show = progress('figures', 'positions');
  await database.transaction(async (connection) => {
    await connection.query(TAKE_FIGURES);
    await connection.query(FORGET_FIGURES);
    await journal(connection, { actor, action: 'figures.rebuilt' });
  });
  const { rows } = await database.query<{ events: number }>(COUNT_KEPT_EVENTS);
  const figures = new DayFigures(database, settings.eventDays);
  for (;;) {
    await figures.run();
    const { position, newest, first } = await figures.progress();
    show(position - first, newest - first);
    if (position >= newest) return { events: rows[0]?.events ?? 0 };
  }
}

export const FIGURES = {
  name: 'figures',
  help: 'the figures of each hour that the console shows',
  tasks: [
    task({
      name: 'figures check',
      help: 'hold the figures of whole hours against the transactions; ends with 1 where one is wrong',
      // Reads, and counts what is not counted yet: every gateway does so by itself.
      role: 'viewer',
      scope: 'installation',
      byAccount: true,
      input: { days: optional(count(365), '--days <days>', 'how many days back', { default: 2 }) },
      run: checkFigures,
      says: ({ days, wrong }) =>
        wrong.length === 0
          ? `The figures of the last ${days} days are what the transactions come to.`
          : `${wrong.length} figures are wrong; \`tollgate figures rebuild\` counts them anew.\n${table(wrong)}`,
      fails: ({ wrong }) => wrong.length > 0,
    }),
    task({
      name: 'figures rebuild',
      help: 'count the figures anew, from every event that is kept, while the gateway serves',
      role: 'operator',
      scope: 'installation',
      input: {},
      run: rebuildFigures,
      says: ({ events }) => `${events} events are counted anew.`,
    }),
  ],
} as const;
