import type { Statement } from '../postgres/database.js';

const ENTRY = `id, at, actor, action, organisation_id AS organisation, merchant_id AS merchant, customer_id AS customer,
      token_id AS token, audit, correlation_id AS "correlationId", detail, address`;

/** By merchant, token, who it was, what was done, and when. */
const FILTER = `($1::integer IS NULL OR merchant_id = $1) AND ($2::integer IS NULL OR token_id = $2)
      AND ($3::text IS NULL OR actor = ANY (ARRAY['user:' || $3, 'operator:' || $3, $3]))
      AND ($4::text IS NULL OR action = $4 OR action LIKE $4 || '.%')
      AND ($5::float8 IS NULL OR at >= to_timestamp($5::float8 / 1000)) AND ($6::float8 IS NULL OR at < to_timestamp($6::float8 / 1000))`;

export const READ_JOURNAL: Statement = {
  name: '',
  text: `
    SELECT ${ENTRY} FROM journal WHERE ${FILTER} ORDER BY id DESC LIMIT $7`,
};

/** What was done about a transaction. That a token was opened for it is told by the transaction itself. */
export const JOURNAL_OF_TRANSACTION: Statement = {
  name: '',
  text: `
    SELECT ${ENTRY} FROM journal
    WHERE organisation_id = $1 AND audit = $2 AND action <> 'token.opened' ORDER BY id LIMIT $3`,
};

/** What was done to a customer and its tokens; without the payments. */
export const JOURNAL_OF_CUSTOMER: Statement = {
  name: '',
  text: `
    SELECT ${ENTRY} FROM journal
    WHERE organisation_id = $1 AND customer_id = $2 AND action <> 'token.opened' ORDER BY id DESC LIMIT $3`,
};

/** The oldest first, a page at a time, up to the last entry of a block. */
export const EXPORT_JOURNAL: Statement = {
  name: '',
  text: `
    SELECT ${ENTRY} FROM journal WHERE ${FILTER} AND id > $8 AND id <= $9 ORDER BY id LIMIT $7`,
};

export const END_OF_CHAIN: Statement = {
  name: '',
  text: `
    SELECT g.installation, b.number, b.hash, b.made_ms AS "madeMs", c.chained_up_to AS "chainedUpTo",
      database_lineage() AS lineage
    FROM gateway g CROSS JOIN journal_chain c
    LEFT JOIN LATERAL (SELECT * FROM journal_block ORDER BY number DESC LIMIT 1) b ON true`,
};

export const MERCHANT_IN_JOURNAL: Statement = {
  name: '',
  text: `SELECT FROM merchant WHERE id = $1`,
};
