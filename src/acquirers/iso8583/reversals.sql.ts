import type { Statement } from '../../postgres/database.js';

const BEGUN = `stan, response_code AS "responseCode", authorisation_code AS "authorisationCode"`;

export const FIND_REVERSAL: Statement = {
  name: 'find-acquirer-reversal',
  text: `
    SELECT ${BEGUN} FROM acquirer_reversal WHERE organisation_id = $1 AND acquirer = $2 AND reference = $3`,
};

/** Before anything is sent: whoever finds it there repeats it. */
export const BEGIN_REVERSAL: Statement = {
  name: 'begin-acquirer-reversal',
  text: `
    INSERT INTO acquirer_reversal (organisation_id, acquirer, reference, stan, response_code, authorisation_code)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING ${BEGUN}`,
};

export const ACKNOWLEDGE_REVERSAL: Statement = {
  name: 'acknowledge-acquirer-reversal',
  text: `
    UPDATE acquirer_reversal SET acknowledged_at = now()
    WHERE organisation_id = $1 AND acquirer = $2 AND reference = $3 AND acknowledged_at IS NULL`,
};

/** The outcome of the transaction is stored by then. */
export const FORGET_REVERSALS: Statement = {
  name: '',
  text: `DELETE FROM acquirer_reversal WHERE acknowledged_at < now() - interval '7 days'`,
};
