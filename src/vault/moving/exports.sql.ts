import { JOURNALLED_SEALS } from '../../journal/journal.sql.js';
import type { Statement } from '../../postgres/database.js';

export const COUNT_TOKENS: Statement = {
  name: '',
  text: `
    SELECT count(*) AS tokens FROM token WHERE organisation_id = $1 AND merchant_id = $2 AND deleted_at IS NULL`,
};

/** Of merchant `$2`, `$4` of them behind number `$3`, with whom they belong to and what they were called in other vaults. */
export const TOKENS_TO_EXPORT: Statement = {
  name: 'tokens-to-export',
  text: `
    SELECT t.id, t.customer_id AS "customerId", c.reference, c.name AS "customerName", t.virtual_pan AS "virtualPan",
      t.preferred_name AS "preferredName", t.active, t.account_type AS "accountType", t.shown, t.sealed,
      t.seal_version AS "sealVersion", t.key_version AS "keyVersion", t.network_transaction_id AS "networkTransactionId",
      t.network_transaction_mark AS "networkTransactionMark", ${JOURNALLED_SEALS} AS journalled,
      ARRAY (SELECT f.former_id FROM former_token_id f WHERE f.organisation_id = t.organisation_id AND f.token_id = t.id
        ORDER BY f.imported_at, f.former_id) AS "formerIds"
    FROM token t
    JOIN customer c ON c.organisation_id = t.organisation_id AND c.id = t.customer_id
    WHERE t.organisation_id = $1 AND t.merchant_id = $2 AND t.id > $3 AND t.deleted_at IS NULL
    ORDER BY t.id LIMIT $4`,
};
