// A transaction in doubt that an operator does not want to wait for: its next attempt is made due.
import type { Queryable } from '../../postgres/database.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import { MAKE_DUE } from './resolver.sql.js';

/** A resolver that has taken it has so many deadlines: until then nobody else asks. */
export const DEADLINES_OF_AN_ATTEMPT = 3;

/** Whether it was made due: not where it is not in doubt, under way, or being asked about just now. */
export async function makeDue(
  database: Queryable,
  organisationId: OrganisationId,
  audit: Audit,
  deadlineMs: number,
): Promise<boolean> {
  const values = [organisationId, audit, DEADLINES_OF_AN_ATTEMPT * deadlineMs];
  return (await database.query(MAKE_DUE, values)).count > 0;
}
