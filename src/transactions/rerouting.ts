// A payment that was certainly not sent goes over another link. That is stored before the other link is asked: whoever resolves it,
// in whatever process and after whatever crash, asks the link that it may have been sent over.
import { Batcher } from '../postgres/batcher.js';
import type { Database } from '../postgres/database.js';
import type { BatchOptions } from './claim.js';
import { MOVES, REROUTE } from './rerouting.sql.js';
import type { Move } from './transaction.js';

export class Rerouting {
  readonly #moves: Batcher<Move, boolean>;

  constructor(
    private readonly database: Database,
    options: BatchOptions,
  ) {
    this.#moves = new Batcher((moves) => this.#store(moves), options);
  }

  /** False where it is not this process's to decide any more, or nobody knows whether it was stored: the other link is not asked then. */
  async move(move: Move): Promise<boolean> {
    return this.#moves.submit(move).catch(() => false);
  }

  async #store(moves: readonly Move[]): Promise<readonly boolean[]> {
    const { rows } = await this.database.query<Pick<Move, 'organisationId' | 'audit'>>(
      REROUTE,
      MOVES.encode(moves),
    );
    const moved = new Set(rows.map(({ organisationId, audit }) => `${organisationId}/${audit}`));
    return moves.map(({ organisationId, audit }) => moved.has(`${organisationId}/${audit}`));
  }
}
