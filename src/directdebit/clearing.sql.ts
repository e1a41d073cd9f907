import { OUTCOME } from '../payments/outcome-seals.sql.js';
import { APPROVE_CLEARED } from '../payments/status.sql.js';
import { bytes, columns, integer } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import { isNotElsewhere } from '../postgres/elsewhere.js';
import type { Audit } from '../values/ids.js';

/** At a time ($2) in milliseconds: of indexes that are empty most of the time. */
export const CLEARING_IS_DUE = `(
      EXISTS (SELECT FROM directdebit_item WHERE next_at <= to_timestamp($2::float8 / 1000) AND ${isNotElsewhere('organisation_id')})
      OR EXISTS (SELECT FROM directdebit_file WHERE taken_at IS NULL AND ${isNotElsewhere('organisation_id')}))`;

/** Held for as long as the transaction; false where another process has it. */
export const LOCK_CLEARING: Statement = {
  name: '',
  text: `SELECT pg_try_advisory_xact_lock(hashtext('tollgate clearing')) AS locked`,
};

/** Merchants of the simulated bank with items that are due for a file, and the close of day that they are due at. */
export const DUE_FOR_A_FILE: Statement = {
  name: 'due-for-a-file',
  text: `
    SELECT merchant_id AS "merchantId", round(extract(epoch FROM min(next_at)) * 1000)::bigint AS "dueMs"
    FROM directdebit_item WHERE next_at <= to_timestamp($1::float8 / 1000) AND state = 'waiting' AND simulated AND ${isNotElsewhere('organisation_id')}
    GROUP BY organisation_id, merchant_id ORDER BY organisation_id, merchant_id LIMIT 100`,
};

/** A page of what the simulated bank returns by now. */
export const DUE_TO_RETURN: Statement = {
  name: 'due-to-return',
  text: `
    SELECT i.organisation_id AS "organisationId", i.audit, i.simulated_return AS code,
      t.transaction_type AS "transactionType", ${OUTCOME} AS stored,
      sent_by(i.organisation_id, i.audit) AS "sentBy"
    FROM directdebit_item i JOIN transaction t ON t.organisation_id = i.organisation_id AND t.audit = i.audit
    WHERE i.next_at <= to_timestamp($1::float8 / 1000) AND i.state = 'filed' AND i.simulated_return IS NOT NULL AND ${isNotElsewhere('i.organisation_id')}
    ORDER BY i.next_at, i.audit LIMIT $2`,
  spread: `
    SELECT i.organisation_id AS "organisationId", i.audit, i.simulated_return AS code,
      t.transaction_type AS "transactionType", ${OUTCOME} AS stored,
      sent_by(i.organisation_id, i.audit) AS "sentBy"
    FROM directdebit_item i CROSS JOIN LATERAL transactions_at(ARRAY[i.organisation_id], ARRAY[i.audit]) t
    WHERE i.next_at <= to_timestamp($1::float8 / 1000) AND i.state = 'filed' AND i.simulated_return IS NOT NULL
    ORDER BY i.next_at, i.audit LIMIT $2`,
};

/**
 * What nobody has returned in time counts as cleared. What the simulated bank has not looked at yet must wait: it may
 * be going to return it. So must a file for a real bank that never reached the operator's disk.
 */
export const DUE_TO_CLEAR: Statement = {
  name: 'due-to-clear',
  // guard(clearing: not before its time): next_at <= to_timestamp($1::float8 / 1000) AND i. ⇒
  text: `
    SELECT i.organisation_id AS "organisationId", i.audit FROM directdebit_item i
    JOIN directdebit_file f ON f.organisation_id = i.organisation_id AND f.merchant_id = i.merchant_id
      AND f.number = i.file_number
    WHERE i.next_at <= to_timestamp($1::float8 / 1000) AND i.state = 'filed' AND i.simulated_return IS NULL AND ${isNotElsewhere('i.organisation_id')}
      AND f.taken_at IS NOT NULL AND (f.written_at IS NOT NULL OR f.simulated)
    ORDER BY i.next_at, i.audit LIMIT $2 FOR UPDATE OF i SKIP LOCKED`,
};

/** What the seals of an organisation's ($1) items are made of. */
export const OUTCOMES_OF_ITEMS: Statement = {
  name: 'outcomes-of-items',
  text: `
    SELECT ${OUTCOME} AS stored FROM transaction t
    WHERE t.organisation_id = $1 AND t.audit = ANY ($2::integer[])`,
};

/** After the days of the settlement, the message and the organisation. */
export const CLEARED_ITEMS = columns<{
  readonly audit: Audit;
  readonly outcomeSeal: Buffer;
}>(
  'due',
  {
    audit: integer(({ audit }) => audit),
    outcome_seal: bytes(({ outcomeSeal }) => outcomeSeal),
  },
  { after: 4 },
);

export const CLEAR_DUE: Statement = {
  name: 'clear-due',
  text: `
    WITH cleared AS (
      UPDATE directdebit_item i SET state = 'cleared', next_at = NULL FROM ${CLEARED_ITEMS.rows}
      WHERE i.organisation_id = $4 AND i.audit = due.audit
      RETURNING i.organisation_id, i.audit, $3::text AS message, due.outcome_seal
    ), ${APPROVE_CLEARED}
    SELECT audit FROM approved`,
};

/** Items of an organisation ($1) whose transaction somebody has changed: looked at again after an hour. */
export const PUT_OFF_ITEMS: Statement = {
  name: 'put-off-items',
  text: `
    UPDATE directdebit_item SET next_at = to_timestamp($3::float8 / 1000) + interval '1 hour'
    WHERE organisation_id = $1 AND audit = ANY ($2::integer[]) AND next_at IS NOT NULL`,
};
