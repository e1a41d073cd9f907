// How far a move is, as both databases say, and what holds it at a step that would be over in a moment.
import type pg from 'pg';
import type { Cell } from './cell.js';

/** In their order, and what ends a move that is not to be. */
export const STEPS = ['begun', 'copying', 'closing', 'closed', 'open', 'taking back'] as const;
export type Step = (typeof STEPS)[number];
/** A move that is over, or has not begun: the organisation is at its source, or has left it. */
export type Place = Step | 'here' | 'moved';

const AT_SOURCE = `
  SELECT o.residence, m.id FROM organisation o
  LEFT JOIN organisation_move m ON m.organisation_id = o.id AND NOT m.arrives AND m.ended_at IS NULL
  WHERE o.id = $1`;

const AT_DESTINATION = 'SELECT state FROM organisation_move WHERE id = $1';

export class MoveWatch {
  #sessions: Partial<Record<'source' | 'destination', pg.Client>> = {};

  constructor(
    private readonly organisation: number,
    private readonly cells: { readonly source: Cell; readonly destination: Cell },
  ) {}

  /** Undefined while a database does not answer. */
  async place(): Promise<Place | undefined> {
    try {
      const [here] = await this.#ask<{ residence: string; id: string | null }>('source', AT_SOURCE, [
        this.organisation,
      ]);
      if (here === undefined) return undefined;
      const { residence, id } = here;
      if (id === null) return residence === 'moved' ? 'moved' : 'here';
      const [there] = await this.#ask<{ state: string }>('destination', AT_DESTINATION, [id]);
      if (there === undefined) return 'begun';
      if (there.state === 'taken back') return 'taking back';
      if (there.state === 'open') return 'open';
      return residence === 'closing' || residence === 'closed' ? residence : 'copying';
    } catch {
      await this.close();
      return undefined;
    }
  }

  /** Returns what lets it go on. Undefined where a database does not answer. */
  async hold(step: 'begun' | 'open' | 'taking back'): Promise<(() => Promise<void>) | undefined> {
    try {
      const { source, destination } = this.cells;
      const session = await (step === 'begun' ? destination : source).session();
      await session.query('BEGIN');
      // The destination cannot say that the organisation arrives; the source cannot say that it has left, or is back.
      if (step === 'begun') await session.query('LOCK TABLE organisation_move IN EXCLUSIVE MODE');
      else await session.query('SELECT FROM organisation WHERE id = $1 FOR UPDATE', [this.organisation]);
      return () => session.end().catch(() => {});
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    const sessions = Object.values(this.#sessions);
    this.#sessions = {};
    await Promise.all(sessions.map((session) => session.end().catch(() => {})));
  }

  async #ask<Row extends pg.QueryResultRow>(
    which: 'source' | 'destination',
    text: string,
    values: unknown[],
  ): Promise<Row[]> {
    this.#sessions[which] ??= await this.cells[which].session();
    return (await this.#sessions[which].query<Row>(text, values)).rows;
  }
}
