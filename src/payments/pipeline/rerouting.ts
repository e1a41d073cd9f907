// A payment that was certainly not sent goes over another link. That is stored before the other link is asked: whoever resolves it,
// in whatever process and after whatever crash, asks the link that it may have been sent over.
import { openPenOf } from '../../journal/pen.js';
import { Batcher } from '../../postgres/batches.js';
import type { Database } from '../../postgres/database.js';
import type { JournalledMove, Move } from '../transaction.js';
import type { BatchOptions } from './claim.js';
import { MOVES, REROUTE } from './rerouting.sql.js';

export class Rerouting {
  readonly #moves: Batcher<Move, boolean>;

  constructor(
    private readonly database: Database,
    batches: BatchOptions,
  ) {
    const options = { ...batches, database };
    this.#moves = new Batcher((moves) => this.#store(moves), options);
  }

  /** False where it is not this process's to decide any more, or nobody knows whether it was stored: the other link is not asked then. */
  async move(move: Move): Promise<boolean> {
    // guard(routes: a link that could not be stored is not asked): false ⇒ true
    return this.#moves.submit(move).catch(() => false);
  }

  #journalled(move: Move): JournalledMove {
    const { organisationId, audit, before, acquirer } = move;
    const detail = `not sent over ${before}, moved to ${acquirer}`;
    const entry = { actor: 'gateway:routes', action: 'transaction.rerouted', organisationId, audit, detail };
    return { ...move, detail, mark: openPenOf(this.database)?.mark(entry) };
  }

  async #store(moves: readonly Move[]): Promise<readonly boolean[]> {
    const { rows } = await this.database.query<Pick<Move, 'organisationId' | 'audit'>>(
      REROUTE,
      MOVES.encode(moves.map((move) => this.#journalled(move))),
    );
    const moved = new Set(rows.map(({ organisationId, audit }) => `${organisationId}/${audit}`));
    return moves.map(({ organisationId, audit }) => moved.has(`${organisationId}/${audit}`));
  }
}
