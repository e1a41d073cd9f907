// Connections that organisations share fairly.
import { fault } from '../values/faults.js';
import type { OrganisationId } from '../values/ids.js';
import { Shares } from '../values/shares.js';
import type { Database, Queryable } from './database.js';

export interface FairConnectionsOptions {
  /** How many statements or transactions may be under way at once. */
  readonly connections: number;
  /** How many of them for one organisation. */
  readonly perOrganisation: number;
  /** How many may wait for one organisation; more are refused. */
  readonly maxWaiting: number;
  /** Work that waited longer is refused: its client has given up, or will. */
  readonly maxWaitMs: number;
}

export class FairConnections {
  readonly #shares: Shares;

  constructor(
    private readonly database: Database,
    { connections, perOrganisation, maxWaiting, maxWaitMs }: FairConnectionsOptions,
  ) {
    const patience = { maxWaiting, maxWaitMs, refusal: () => fault('not_processed') };
    this.#shares = new Shares({ inAll: connections, perOrganisation, patience });
  }

  /** The database, for work on behalf of this organisation. */
  of(organisationId: OrganisationId): Queryable {
    return {
      query: (statement, values) =>
        this.#shares.run(organisationId, () => this.database.query(statement, values)),
      transaction: (work) => this.#shares.run(organisationId, () => this.database.transaction(work)),
      origin: this.database,
    };
  }
}
