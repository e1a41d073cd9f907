// The figures that consoles receive each second: read once for all of them, whatever each may see.
import { runningGateways } from '../acquirers/running-gateways.js';
import type { Queryable } from '../postgres/database.js';
import { withShortTimeout } from '../postgres/short-timeout.js';
import type { Mode } from '../values/mode.js';
import { sydneyDate, sydneyInstant, sydneyTimestamp } from '../values/time.js';
import { FIGURES_STATE, LINKS_OF_ORGANISATION, LIVE_DOUBTS, LIVE_FIGURES } from './today.sql.js';

/** The message to a console each second. */
export interface LiveFigures {
  readonly now: string;
  /** Today so far. */
  readonly approved: number;
  readonly declined: number;
  readonly error: number;
  readonly inDoubt: number;
  /** This minute and the one before. */
  readonly thisMinute: number;
  readonly lastMinute: number;
  readonly feedSeconds: number | null;
  readonly linksSignedOn: number;
  readonly links: number;
  /** Changes whenever a transaction, customer or token changes: lists are then worth reading again. */
  readonly changed: number;
}

/** Whose figures: one organisation's or all; of one mode or both. */
export interface LiveScope {
  readonly organisation?: number | undefined;
  readonly mode?: Mode | undefined;
}

interface FigureRow {
  readonly organisation: number;
  readonly mode: Mode;
  readonly status: string;
  readonly count: number;
  readonly thisMinute: number;
  readonly lastMinute: number;
  readonly cents: number;
}

interface DoubtRow {
  readonly organisation: number;
  readonly mode: Mode;
  readonly count: number;
}

const MINUTE_MS = 60_000;
/** At most this many in doubt are counted. */
const DOUBTS_AT_MOST = 10_000;

/** Without `changed`: a caller that polls knows that itself. */
export type Moment = Omit<LiveFigures, 'changed'> & {
  /** Differs whenever any of the figures does. */
  readonly mark: string;
};

/** In the order of the scopes. */
export function readLive(database: Queryable, scopes: readonly LiveScope[]): Promise<Moment[]> {
  return withShortTimeout(database, async (connection) => {
    const { rows: states } = await connection.query<{ nowMs: number; countedUntilMs: number }>(FIGURES_STATE);
    const { nowMs, countedUntilMs } = states[0] as { nowMs: number; countedUntilMs: number };
    const minuteMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    const { rows: figures } = await connection.query<FigureRow>(LIVE_FIGURES, [
      [...new Set(scopes.map(({ organisation = 0 }) => organisation))],
      sydneyInstant(sydneyDate(nowMs), '00:00'),
      minuteMs - MINUTE_MS,
      minuteMs,
    ]);
    const { rows: doubts } = await connection.query<DoubtRow>(LIVE_DOUBTS, [DOUBTS_AT_MOST]);
    const reports = (await runningGateways(connection)).flatMap(({ links }) => links);
    const moments: Moment[] = [];
    for (const { organisation, mode } of scopes) {
      const own = figures.filter(
        (row) => row.organisation === (organisation ?? 0) && row.mode === (mode ?? row.mode),
      );
      const inDoubt = doubts.filter(
        (row) => row.organisation === (organisation ?? row.organisation) && row.mode === (mode ?? row.mode),
      );
      const links = await namesOf(connection, organisation, new Set(reports.map(({ name }) => name)));
      const signedOn = new Set(reports.filter((report) => report.signedOn > 0).map(({ name }) => name));
      const sum = (of: (row: FigureRow) => number, status?: string) =>
        own.filter((row) => row.status === (status ?? row.status)).reduce((all, row) => all + of(row), 0);
      const count = (status: string) => sum((row) => row.count, status);
      const told = {
        approved: count('approved'),
        declined: count('declined'),
        error: count('error'),
        inDoubt: inDoubt.reduce((all, row) => all + row.count, 0),
        thisMinute: sum((row) => row.thisMinute),
        lastMinute: sum((row) => row.lastMinute),
        linksSignedOn: links.filter((name) => signedOn.has(name)).length,
        links: links.length,
      };
      const mark = JSON.stringify([
        told.inDoubt,
        own.map(({ status, count: all, cents }) => [status, all, cents]).sort(),
      ]);
      const feedSeconds = Math.max(0, (nowMs - countedUntilMs) / 1_000);
      moments.push({ now: sydneyTimestamp(nowMs), ...told, feedSeconds, mark });
    }
    return moments;
  });
}

/** The links that an organisation uses, among those with connections. */
async function namesOf(
  connection: Queryable,
  organisation: number | undefined,
  known: ReadonlySet<string>,
): Promise<string[]> {
  if (organisation === undefined) return [...known];
  const { rows } = await connection.query<{ acquirer: string }>(LINKS_OF_ORGANISATION, [organisation]);
  return rows.map(({ acquirer }) => acquirer).filter((name) => known.has(name));
}
