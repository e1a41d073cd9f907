import { columns, integer, optionalBytes, optionalText, text } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { SignedJournalEntry } from './entry.js';

/** For statements that journal their own changes; the rows follow. */
export const INTO_JOURNAL = `
      INSERT INTO journal (organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, address,
        mark)`;

/** The same for outcomes of transactions, with a detail. */
export const INTO_JOURNAL_OF_TRANSACTIONS = `
      INSERT INTO journal (organisation_id, merchant_id, actor, action, audit, detail, mark)`;

/** The same for operators' payment operations. */
export const INTO_JOURNAL_OF_OPERATORS = `
      INSERT INTO journal (organisation_id, merchant_id, actor, action, audit, correlation_id, detail, address, mark)`;

/**
 * For a token `t`: the number of the last seal in the journal. -1 if the token was deleted; NULL if the token has not changed since seals
 * have numbers.
 */
export const JOURNALLED_SEAL = `(
      SELECT CASE WHEN j.action = 'token.deleted' THEN -1 ELSE substring(j.detail FROM 'seal ([0-9]+)$')::integer END
      FROM journal j
      WHERE j.organisation_id = t.organisation_id AND j.token_id = t.id AND j.action <> 'token.opened'
        AND (j.action IN ('token.created', 'token.deleted') OR (j.action = 'token.updated' AND j.detail LIKE '%seal %'))
      ORDER BY j.id DESC LIMIT 1)`;

/** Whether version $3 of the data key of a merchant ($1, $2) was destroyed. */
export const KEY_DESTROYED = `EXISTS (
      SELECT FROM journal j WHERE j.organisation_id = $1 AND j.merchant_id = $2 AND j.action = 'keys.destroyed'
        AND j.detail = 'version ' || $3::text)`;

/** For the schema of a release without MACs. */
export const APPEND_TO_EARLIER_JOURNAL: Statement = {
  name: '',
  text: `INSERT INTO journal (actor, action, detail) VALUES ($1, $2, $3)`,
};

export const APPEND_TO_JOURNAL: Statement = {
  name: 'append-to-journal',
  text: `
    INSERT INTO journal (organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, detail,
      address, mark, subject, subject_version, seal)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
};

export const ENTRIES = columns<SignedJournalEntry>('entry', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
  actor: text(({ actor }) => actor),
  action: text(({ action }) => action),
  customer_id: integer(({ customerId }) => customerId),
  token_id: integer(({ tokenId }) => tokenId),
  audit: integer(({ audit }) => audit),
  correlation_id: optionalText(({ correlationId }) => correlationId),
  detail: optionalText(({ detail }) => detail),
  address: optionalText(({ address }) => address),
  mark: optionalBytes(({ mac }) => mac),
});

export const APPEND_ALL_TO_JOURNAL: Statement = {
  name: 'append-all-to-journal',
  text: `
    INSERT INTO journal (organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, detail,
      address, mark)
    SELECT organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, detail, address,
      decode(mark, 'base64')
    FROM ${ENTRIES.rows}`,
};
