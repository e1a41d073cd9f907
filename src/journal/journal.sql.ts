import type { Statement } from '../postgres/database.js';

export const APPEND_TO_JOURNAL: Statement = {
  name: 'append-to-journal',
  text: `
    INSERT INTO journal (organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, detail)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

export const READ_JOURNAL: Statement = {
  name: '',
  text: `
    SELECT id, at, actor, action, organisation_id AS organisation, merchant_id AS merchant, customer_id AS customer,
      token_id AS token, audit, correlation_id AS "correlationId", detail
    FROM journal
    WHERE ($1::integer IS NULL OR merchant_id = $1) AND ($2::integer IS NULL OR token_id = $2)
    ORDER BY id DESC LIMIT $3`,
};
