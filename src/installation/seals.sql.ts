import { JOURNALLED_SEALS } from '../journal/journal.sql.js';
import type { Statement } from '../postgres/database.js';

/** A page of a merchant's tokens that are there, with what the journal knows of them. */
export const TOKENS_TO_VERIFY: Statement = {
  name: '',
  text: `
    SELECT t.id AS row, t.key_version AS "keyVersion", t.sealed, t.id, t.customer_id AS "customerId",
      t.virtual_pan AS "virtualPan", t.account_type AS "accountType", t.seal_version AS "sealVersion",
      ${JOURNALLED_SEALS} AS journalled,
      coalesce((SELECT true FROM customer c
        WHERE c.organisation_id = t.organisation_id AND c.id = t.customer_id), false) AS owned
    FROM token t
    WHERE t.organisation_id = $1 AND t.merchant_id = $2 AND t.id > $3 AND t.deleted_at IS NULL
    ORDER BY t.id LIMIT $4`,
};

/** Tokens that the journal knows, and that are not even there as empty shells. */
export const TOKENS_REMOVED: Statement = {
  name: '',
  text: `
    SELECT DISTINCT j.token_id AS id FROM journal j
    WHERE j.organisation_id = $1 AND j.merchant_id = $2 AND j.token_id IS NOT NULL AND j.action <> 'token.opened'
      AND j.action = 'token.created'
      AND NOT EXISTS (SELECT FROM token t WHERE t.organisation_id = j.organisation_id AND t.id = j.token_id)
    ORDER BY 1 LIMIT 1000`,
};
