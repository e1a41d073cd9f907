import { columns, integer, optionalText, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import { isNotElsewhere } from '../../postgres/elsewhere.js';
import type { LateAnswer } from './wire/outstanding.js';

const BEGUN = `stan, response_code AS "responseCode", authorisation_code AS "authorisationCode"`;

const OF_ORDER = `organisation_id = $1 AND acquirer = $2 AND reference = $3`;

export const FIND_REVERSAL: Statement = {
  name: 'find-acquirer-reversal',
  text: `
    SELECT ${BEGUN} FROM acquirer_reversal WHERE ${OF_ORDER}`,
};

/**
 * Stored before anything is sent, so that any process can repeat it. A row without a STAN was answered, and the answer did not count: it
 * begins again as a further reversal.
 */
export const BEGIN_REVERSAL: Statement = {
  name: 'begin-acquirer-reversal',
  text: `
    INSERT INTO acquirer_reversal (organisation_id, acquirer, reference, stan, response_code, authorisation_code, terminal,
      original_stan, retrieval_reference)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (organisation_id, acquirer, reference) DO UPDATE SET stan = excluded.stan,
      authorisation_code = coalesce(acquirer_reversal.approval_code, acquirer_reversal.authorisation_code)
    WHERE acquirer_reversal.stan IS NULL
    RETURNING ${BEGUN}`,
};

/**
 * "Never seen" ($5) does not count if the host has approved the order. The next reversal is a new one, because a host may answer a
 * repetition as it did before.
 */
export const ACKNOWLEDGE_REVERSAL: Statement = {
  name: 'acknowledge-acquirer-reversal',
  // guard(ISO 8583: 25 is no answer to the reversal of what the host has approved): (approved_at IS NOT NULL OR response_code IS NOT NULL) ⇒ false
  text: `
    UPDATE acquirer_reversal SET
      acknowledged_at = CASE WHEN approved THEN NULL ELSE now() END,
      code = CASE WHEN approved THEN NULL ELSE $4::text END,
      unseen = $5::boolean,
      stan = CASE WHEN approved THEN NULL ELSE stan END,
      again_at = CASE WHEN approved THEN least(again_at, now()) END
    FROM (SELECT $5::boolean AND (approved_at IS NOT NULL OR response_code IS NOT NULL) AS approved FROM acquirer_reversal
      WHERE ${OF_ORDER} FOR UPDATE) seen
    WHERE ${OF_ORDER}
    RETURNING acknowledged_at IS NOT NULL AS acknowledged`,
};

/** After the link's name. */
export const APPROVALS = columns<LateAnswer>(
  'approval',
  {
    terminal: text(({ terminal }) => terminal),
    stan: integer(({ stan }) => stan),
    retrieval_reference: optionalText(({ retrievalReference }) => retrievalReference),
    authorisation_code: optionalText(({ response }) => response.authorisationCode),
  },
  { after: 1 },
);

/**
 * Approvals of orders whose reversal has begun. While the reversal is under way, its answer tells whether the host reversed the order.
 * After that, the order is reversed again at once.
 */
export const NOTE_APPROVALS: Statement = {
  name: 'note-approvals-after-reversal',
  text: `
    UPDATE acquirer_reversal r SET
      approved_at = now(), approval_code = nullif(approval.authorisation_code, ''),
      again_at = CASE WHEN r.acknowledged_at IS NULL THEN coalesce(r.again_at, 'infinity') ELSE now() END,
      again_attempts = CASE WHEN r.acknowledged_at IS NULL THEN r.again_attempts ELSE 0 END,
      stan = CASE WHEN r.acknowledged_at IS NULL THEN r.stan END,
      acknowledged_at = NULL, code = NULL, unseen = false
    FROM ${APPROVALS.rows}
    WHERE r.acquirer = $1 AND r.terminal = approval.terminal AND r.original_stan = approval.stan
      AND r.retrieval_reference = coalesce(approval.retrieval_reference, r.retrieval_reference)
    RETURNING r.reference`,
};

export const REVERSAL_AGAIN_IS_DUE = `EXISTS (SELECT FROM acquirer_reversal WHERE again_at <= now())`;

/** Leases orders to be reversed again, for the time in $2. */
export const TAKE_REVERSALS_AGAIN: Statement = {
  name: 'take-reversals-again',
  text: `
    UPDATE acquirer_reversal r SET again_attempts = r.again_attempts + 1, again_at = now() + $2 * interval '1 millisecond'
    FROM (
      SELECT organisation_id, acquirer, reference FROM acquirer_reversal
      WHERE again_at <= now() AND ${isNotElsewhere('organisation_id')} ORDER BY again_at LIMIT $1 FOR UPDATE SKIP LOCKED) due
    WHERE r.organisation_id = due.organisation_id AND r.acquirer = due.acquirer AND r.reference = due.reference
    RETURNING r.organisation_id AS "organisationId", r.acquirer, r.reference, r.again_attempts AS attempt`,
};

export const POSTPONE_REVERSAL_AGAIN: Statement = {
  name: 'postpone-reversal-again',
  text: `
    UPDATE acquirer_reversal SET again_at = now() + $5 * interval '1 millisecond'
    WHERE ${OF_ORDER} AND again_attempts = $4 AND again_at IS NOT NULL`,
};

/** The outcome of the transaction is stored by then. Reversals that the host answered with "never seen" are kept for reconciliation. */
export const FORGET_REVERSALS: Statement = {
  name: '',
  text: `
    DELETE FROM acquirer_reversal
    WHERE acknowledged_at < now() - CASE WHEN unseen THEN interval '90 days' ELSE interval '7 days' END AND ${isNotElsewhere('organisation_id')}`,
};
