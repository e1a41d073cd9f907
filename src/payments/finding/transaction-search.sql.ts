import type { Statement } from '../../postgres/database.js';
import { TRANSACTION_COLUMNS } from './lookup.sql.js';

/** By number, in every organisation of these merchants; `$2` are the merchants. */
export const TRANSACTIONS_BY_AUDIT: Statement = {
  name: '',
  text: `
    SELECT ${TRANSACTION_COLUMNS} FROM transaction
    JOIN unnest($1::integer[]) AS of_organisation ON organisation_id = of_organisation
    WHERE audit = $3 AND merchant_id = ANY ($2::integer[]) ORDER BY organisation_id LIMIT $4`,
};

/** However old. */
export const TRANSACTIONS_BY_CORRELATION_ID: Statement = {
  name: '',
  text: `
    SELECT ${TRANSACTION_COLUMNS} FROM unnest($1::integer[], $2::integer[]) AS lane(of_organisation, of_merchant)
    JOIN transaction ON organisation_id = of_organisation AND merchant_id = of_merchant AND correlation_id = $3
    ORDER BY organisation_id, merchant_id LIMIT $4`,
};
