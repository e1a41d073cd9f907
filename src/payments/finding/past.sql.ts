import { columns, integer } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import { TRANSACTION_COLUMNS } from './lookup.sql.js';

export const SUBJECTS = columns<{ readonly organisationId: OrganisationId; readonly audit: Audit }>('asked', {
  of_organisation: integer(({ organisationId }) => organisationId),
  of_audit: integer(({ audit }) => audit),
});

/** Whoever asks may see them: they come from the events of their own merchant. */
export const TRANSACTIONS_OF_EVENTS: Statement = {
  name: 'transactions-of-events',
  text: `
    SELECT place, ${TRANSACTION_COLUMNS}, (SELECT m.mode FROM merchant m WHERE m.id = merchant_id) AS mode
    FROM ${SUBJECTS.places}
    JOIN transaction ON organisation_id = of_organisation AND audit = of_audit`,
  spread: `
    SELECT place, ${TRANSACTION_COLUMNS}, (SELECT m.mode FROM merchant m WHERE m.id = merchant_id) AS mode
    FROM ${SUBJECTS.places}
    JOIN transactions_at($1::integer[], $2::integer[]) ON organisation_id = of_organisation AND audit = of_audit`,
};
