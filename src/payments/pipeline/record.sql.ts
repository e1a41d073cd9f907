import type { Statement } from '../../postgres/database.js';
import { OUTCOME } from '../outcome-seals.sql.js';
import { DECIDE_DIRECT, DECIDE_TARGETED, DOUBTS, IN_DOUBT, NOTE_DECLINED } from '../status.sql.js';

/** Returns what was decided, and whether it was stored as answered. */
export const RECORDED = `
    SELECT organisation_id AS "organisationId", audit, as_answered AS "asAnswered" FROM decided`;

/** Commit B of payments with a payment method of their own, and of refunds and completions that succeeded. */
export const RECORD_DIRECT: Statement = {
  name: 'record-direct',
  text: `WITH ${DECIDE_DIRECT} ${RECORDED}`,
};

/** The same where a card was declined. */
export const RECORD_DECLINED: Statement = {
  name: 'record-declined',
  text: `WITH ${DECIDE_DIRECT}, ${NOTE_DECLINED} ${RECORDED}`,
};

/** Commit B of operations on an earlier transaction that change it: voids, and whatever failed. */
export const RECORD_TARGETED: Statement = {
  name: 'record-targeted',
  text: `WITH ${DECIDE_TARGETED} ${RECORDED}`,
};

export const HAND_TO_RESOLVER: Statement = {
  name: 'hand-to-resolver',
  text: `
    WITH doubt AS (SELECT * FROM ${DOUBTS.rows}), ${IN_DOUBT}
    SELECT audit FROM doubted`,
};

export const STORED_OUTCOME: Statement = {
  name: 'stored-outcome',
  text: `SELECT ${OUTCOME} AS stored FROM transaction t WHERE t.organisation_id = $1 AND t.audit = $2`,
};
