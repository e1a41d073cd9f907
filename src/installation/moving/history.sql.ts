import type { Statement } from '../../postgres/database.js';

/** A page ($3) of an organisation's ($1) entries after one ($2). */
export const ENTRIES_OF_ORGANISATION: Statement = {
  name: '',
  text: `
    SELECT j.id, coalesce(j.moved_from, (SELECT installation FROM gateway) || '/' || j.id) AS origin, j.at::text AS at,
      j.organisation_id AS "organisationId", j.merchant_id AS "merchantId", j.actor, j.action, j.customer_id AS "customerId",
      j.token_id AS "tokenId", j.audit, j.correlation_id AS "correlationId", j.detail, j.address, j.subject,
      j.subject_version AS "subjectVersion", j.seal, j.mark
    FROM journal j WHERE j.id > $2 AND j.organisation_id = $1 ORDER BY j.id LIMIT $3`,
};

/** Up to here no entry comes any more: those that a block has not found may be of transactions that are still open. */
export const ENTRIES_ARE_COMPLETE_UP_TO: Statement = {
  name: '',
  text: `
    SELECT least(c.chained_up_to, coalesce((SELECT min(first_id) - 1 FROM journal_gap), c.chained_up_to)) AS "upTo"
    FROM journal_chain c`,
};

/** Entries that are there already, by where they come from. */
export const ENTRIES_THAT_CAME: Statement = {
  name: '',
  text: `
    SELECT moved_from AS origin, organisation_id AS "organisationId", actor, action, customer_id AS "customerId",
      token_id AS "tokenId", audit, correlation_id AS "correlationId", detail, address, mark
    FROM journal WHERE moved_from = ANY ($1::text[])`,
};

/** The entries ($1) as JSON, at the time at which they were written. */
export const APPEND_MOVED_ENTRIES: Statement = {
  name: '',
  text: `
    INSERT INTO journal (at, organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, detail,
      address, mark, moved_from)
    SELECT at, organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, detail,
      address, mark, moved_from
    FROM json_populate_recordset(NULL::journal, $1::json)`,
};
