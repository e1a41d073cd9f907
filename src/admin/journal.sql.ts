import type { Statement } from '../postgres/database.js';

export const READ_JOURNAL: Statement = {
  name: '',
  text: `
    SELECT id, at, actor, action, organisation_id AS organisation, merchant_id AS merchant, customer_id AS customer,
      token_id AS token, audit, correlation_id AS "correlationId", detail
    FROM journal
    WHERE ($1::integer IS NULL OR merchant_id = $1) AND ($2::integer IS NULL OR token_id = $2)
    ORDER BY id DESC LIMIT $3`,
};
