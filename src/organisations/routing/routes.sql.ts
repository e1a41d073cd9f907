import type { Statement } from '../../postgres/database.js';

export const ROUTES_OF_MERCHANT: Statement = {
  name: 'routes-of-merchant',
  text: `
    SELECT acquirer, card_type AS "cardType", bin_from AS "binFrom", bin_to AS "binTo", currency, share, place
    FROM route WHERE organisation_id = $1 AND merchant_id = $2`,
};
