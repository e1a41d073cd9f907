// Takes what the resolver has to look at. On one server that is one statement. Where organisations are spread over servers, only those are
// asked of which something is in doubt: a look that finds nothing costs one row here, and visits nobody.
import type { Database } from '../../postgres/database.js';
import type { OrganisationId } from '../../values/ids.js';
import {
  FIND_DOUBTS,
  FORGET_DOUBTS_OF,
  HAS_DOUBTS,
  ORGANISATIONS_IN_DOUBT,
  REMEMBER_DOUBTS_OF,
  TAKE_DUE,
  TAKE_DUE_OF,
} from './resolver.sql.js';

/** So often all servers are asked, whatever the list says. */
const FIND_EVERY_MS = 300_000;

export class Due<Row> {
  #findAtMs = 0;

  constructor(private readonly database: Database) {}

  async take(most: number, leaseMs: number): Promise<readonly Row[]> {
    if (this.database.mixesOrganisations)
      return (await this.database.query<Row>(TAKE_DUE, [most, leaseMs])).rows;
    if (performance.now() >= this.#findAtMs) {
      await this.database.query(FIND_DOUBTS);
      this.#findAtMs = performance.now() + FIND_EVERY_MS;
    }
    const { rows } = await this.database.query<{ organisationId: OrganisationId }>(ORGANISATIONS_IN_DOUBT);
    const taken: Row[] = [];
    let failure: unknown;
    for (const { organisationId } of rows) {
      if (taken.length >= most) break;
      try {
        const due = await this.#takeOf(organisationId, most - taken.length, leaseMs);
        for (const row of due) taken.push(row);
      } catch (error) {
        // Its server may be away, which the others do not suffer for.
        failure = error;
      }
    }
    if (failure !== undefined && taken.length === 0) throw failure;
    return taken;
  }

  async #takeOf(organisationId: OrganisationId, most: number, leaseMs: number): Promise<readonly Row[]> {
    const { rows } = await this.database.query<Row>(TAKE_DUE_OF, [most, leaseMs, organisationId]);
    if (rows.length === 0 && !(await this.#hasDoubts(organisationId))) await this.#forget(organisationId);
    return rows;
  }

  async #hasDoubts(
    organisationId: OrganisationId,
    database: Pick<Database, 'query'> = this.database,
  ): Promise<boolean> {
    return (await database.query(HAS_DOUBTS, [organisationId])).rows.length > 0;
  }

  /** Unless something came in between. */
  #forget(organisationId: OrganisationId): Promise<void> {
    return this.database.transaction(async (connection) => {
      await connection.query(FORGET_DOUBTS_OF, [organisationId]);
      if (await this.#hasDoubts(organisationId, connection))
        await connection.query(REMEMBER_DOUBTS_OF, [organisationId]);
    });
  }
}
