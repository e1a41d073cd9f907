import { columns, integer } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';

export const ASKED = columns<{
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}>('asked', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
});

/** A live merchant has no bank before the operator says which. */
export const BANKS: Statement = {
  name: 'banks',
  text: `
    SELECT asked.place, CASE WHEN NOT e.simulated THEN 'directdebit' WHEN m.mode = 'test' THEN 'simulated-bank' END AS bank
    FROM ${ASKED.places}
    JOIN merchant m ON m.organisation_id = asked.organisation_id AND m.id = asked.merchant_id
    LEFT JOIN direct_entry e ON e.organisation_id = m.organisation_id AND e.merchant_id = m.id`,
};
