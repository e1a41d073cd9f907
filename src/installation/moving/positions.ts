// Positions of events, which stay when an organisation moves: readers go on with the cursors that they have.
import { setTimeout as sleep } from 'node:timers/promises';
import { SEQUENCE_EVENTS } from '../../events/events.sql.js';
import { MOST_DAYS_KEPT } from '../../events/feed.js';
import { DayFigures } from '../../figures/day-figures.js';
import type { Database, Queryable } from '../../postgres/database.js';
import { refuse } from '../../values/refusal.js';
import { LOCK_POSITIONS, POSITIONS, RAISE_POSITIONS, WITHOUT_POSITION } from './moves.sql.js';

const PATIENCE_WITH_EVENTS_MS = 60_000;
const POLL_MS = 100;

/** Every event has its place in the feed of the source: readers go on behind it. */
export async function sequenceAll(source: Database, organisation: number): Promise<void> {
  for (const untilMs = performance.now() + PATIENCE_WITH_EVENTS_MS; ; ) {
    const { rows } = await source.query<{ waiting: boolean }>(WITHOUT_POSITION, [organisation]);
    if (!rows[0]?.waiting) return;
    if (performance.now() > untilMs) refuse('organisation_events_wait', { organisation });
    await source.query(SEQUENCE_EVENTS);
    await sleep(POLL_MS);
  }
}

/** Nothing that comes with the organisation is counted as new at the destination, and no position is given twice. */
export async function raisePositions(
  source: Database,
  destination: Database,
  organisation: number,
): Promise<void> {
  type Positions = { readonly newest: number; readonly counted: number; readonly highest: number };
  const at = async (database: Queryable) =>
    (await database.query<Positions>(POSITIONS, [organisation])).rows[0] as Positions;
  const { highest, newest: given } = await at(source);
  const upTo = Math.max(highest, given);
  for (const untilMs = performance.now() + PATIENCE_WITH_EVENTS_MS; ; ) {
    const here = await at(destination);
    if (here.newest >= upTo && here.counted >= upTo) return;
    const raised = await destination.transaction(async (connection) => {
      await connection.query(LOCK_POSITIONS);
      const { newest, counted } = await at(connection);
      if (counted < newest) return false;
      await connection.query(RAISE_POSITIONS, [upTo]);
      return true;
    });
    if (raised) return;
    if (performance.now() > untilMs) refuse('organisation_events_wait', { organisation });
    await new DayFigures(destination, MOST_DAYS_KEPT).run();
  }
}
