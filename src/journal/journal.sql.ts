import type { Statement } from '../postgres/database.js';

/** Followed by the rows, for statements that journal what they do. */
export const INTO_JOURNAL = `
      INSERT INTO journal (organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id)`;

/** The same for what became of transactions, with a text that says more. */
export const INTO_JOURNAL_OF_TRANSACTIONS = `
      INSERT INTO journal (organisation_id, merchant_id, actor, action, audit, detail)`;

export const APPEND_TO_JOURNAL: Statement = {
  name: 'append-to-journal',
  text: `
    INSERT INTO journal (organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, detail)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};
