// Whose a thing is: asked before an operator of one organisation sees or changes it.
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { HAS_LIVE_MERCHANT, ORGANISATION_OF_MERCHANT } from './fence.sql.js';

/** Undefined where there is no such merchant. */
export async function organisationOfMerchant(
  database: Queryable,
  merchant: MerchantId,
): Promise<OrganisationId | undefined> {
  const { rows } = await database.query<{ organisation: OrganisationId }>(ORGANISATION_OF_MERCHANT, [
    merchant,
  ]);
  return rows[0]?.organisation;
}

/** Live as soon as one merchant is: of this organisation, or of all. */
export async function modeOf(database: Queryable, organisation?: OrganisationId): Promise<Mode> {
  return (await database.query(HAS_LIVE_MERCHANT, [organisation ?? null])).count > 0 ? 'live' : 'test';
}
