// Connections that organisations share in turns: one that asks for much waits for itself, and not the others for it.
import { fault } from '../values/faults.js';
import type { OrganisationId } from '../values/ids.js';
import type { Database, Queryable } from './database.js';

export interface FairConnectionsOptions {
  /** How many statements or transactions may be under way at once. */
  readonly connections: number;
  /** How many of them for one organisation. */
  readonly perOrganisation: number;
  /** How many of one organisation may wait; more are refused. */
  readonly maxWaiting: number;
  /** Who has waited for longer than this is refused: its client has given up, or will. */
  readonly maxWaitMs: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly begin: () => void;
  readonly refuse: (error: unknown) => void;
}

export class FairConnections {
  #underWay = 0;
  readonly #underWayOf = new Map<OrganisationId, number>();
  /** By organisation, in the order in which they have their turns. None is empty. */
  readonly #waiting = new Map<OrganisationId, Waiting[]>();

  constructor(
    private readonly database: Database,
    private readonly options: FairConnectionsOptions,
  ) {}

  /** The database, for work of this organisation. */
  of(organisationId: OrganisationId): Queryable {
    return {
      query: (statement, values) => this.#run(organisationId, () => this.database.query(statement, values)),
      transaction: (work) => this.#run(organisationId, () => this.database.transaction(work)),
    };
  }

  async #run<Result>(organisationId: OrganisationId, work: () => Promise<Result>): Promise<Result> {
    if (this.#hasRoom(organisationId)) this.#begin(organisationId);
    else await this.#wait(organisationId);
    try {
      return await work();
    } finally {
      this.#end(organisationId);
    }
  }

  #hasRoom(organisationId: OrganisationId): boolean {
    const { connections, perOrganisation } = this.options;
    return this.#underWay < connections && (this.#underWayOf.get(organisationId) ?? 0) < perOrganisation;
  }

  #begin(organisationId: OrganisationId): void {
    this.#underWay += 1;
    this.#underWayOf.set(organisationId, (this.#underWayOf.get(organisationId) ?? 0) + 1);
  }

  #wait(organisationId: OrganisationId): Promise<void> {
    const line = this.#waiting.get(organisationId) ?? [];
    if (line.length >= this.options.maxWaiting) throw fault('not_processed');
    this.#waiting.set(organisationId, line);
    return new Promise((begin, refuse) => {
      line.push({ sinceMs: performance.now(), begin, refuse });
    });
  }

  #end(organisationId: OrganisationId): void {
    this.#underWay -= 1;
    const left = (this.#underWayOf.get(organisationId) ?? 0) - 1;
    if (left > 0) this.#underWayOf.set(organisationId, left);
    else this.#underWayOf.delete(organisationId);
    for (const [next, line] of this.#waiting) {
      if (!this.#hasRoom(next)) continue;
      // Behind the others for its next turn.
      this.#waiting.delete(next);
      const first = this.#firstInTime(line);
      if (line.length > 0) this.#waiting.set(next, line);
      if (first === undefined) continue;
      this.#begin(next);
      first.begin();
      return;
    }
  }

  #firstInTime(line: Waiting[]): Waiting | undefined {
    const earliestMs = performance.now() - this.options.maxWaitMs;
    for (;;) {
      const first = line.shift();
      if (first === undefined || first.sinceMs >= earliestMs) return first;
      first.refuse(fault('not_processed'));
    }
  }
}
