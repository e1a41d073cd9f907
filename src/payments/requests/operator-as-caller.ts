// An operator who acts on behalf of a merchant, as the pipeline of payments and the vault know their callers.
import type { Caller, Merchant } from '../../organisations/users/callers.js';
import { FIND_MERCHANT } from '../../organisations/users/callers.sql.js';
import { bitsOf, PERMISSIONS } from '../../organisations/users/permissions.js';
import type { Queryable } from '../../postgres/database.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';

export async function operatorAsCaller(
  database: Queryable,
  { name, id }: { readonly name: string; readonly id: number },
  organisationId: OrganisationId,
  merchantId: MerchantId,
): Promise<Caller> {
  const { rows } = await database.query<Merchant>(FIND_MERCHANT, [organisationId, merchantId]);
  return {
    username: name,
    // Users have positive numbers.
    userId: -id,
    permissions: bitsOf(PERMISSIONS),
    networks: undefined,
    organisationId,
    assignedMerchantId: merchantId,
    merchants: new Map(rows.map((merchant) => [merchant.id, merchant])),
  };
}
