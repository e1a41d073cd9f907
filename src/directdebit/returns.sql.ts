import { OUTCOME } from '../payments/outcome-seals.sql.js';
import { DECLINE_RETURNED, DECLINE_RETURNED_ELSEWHERE, RELEASE_DECLINED } from '../payments/status.sql.js';
import { bytes, columns, integer, smallint, text } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { Audit, OrganisationId } from '../values/ids.js';

/** After today and the days in which a return is taken. Where a reference says nothing, nothing is found. */
export const SENT_BACK = columns<
  { readonly organisationId: OrganisationId; readonly audit: Audit } | undefined
>(
  'asked',
  {
    organisation_id: integer((lodged) => lodged?.organisationId),
    audit: integer((lodged) => lodged?.audit),
  },
  { after: 2 },
);

// guard(return: only of what a bank has): JOIN directdebit_file ⇒ LEFT JOIN directdebit_file
const ASKED_ITEMS = `
    SELECT asked.place::integer AS place, i.state, i.return_code AS "returnCode", t.status, t.transaction_type AS "transactionType",
      t.amount_cents AS "amountCents", t.bank_account AS "bankAccount", t.merchant_id AS "merchantId",
      f.processing_day + coalesce(e.dispute_days, $2) >= $1::date AS "inTime", ${OUTCOME} AS stored,
      coalesce(sent_by(i.organisation_id, i.audit), (SELECT installation FROM gateway)) AS installation
    FROM ${SENT_BACK.places}
    CROSS JOIN LATERAL (
      -- Each by its key, even where no statistics are there yet: by way of its file it would be looked for among all items of that.
      SELECT * FROM directdebit_item item WHERE item.organisation_id = asked.organisation_id AND item.audit = asked.audit OFFSET 0
    ) i
    JOIN directdebit_file f ON f.organisation_id = i.organisation_id AND f.merchant_id = i.merchant_id
      AND f.number = i.file_number
    JOIN`;

const IN_TIME = `t ON t.organisation_id = i.organisation_id AND t.audit = i.audit
    LEFT JOIN direct_entry e ON e.organisation_id = i.organisation_id AND e.merchant_id = i.merchant_id`;

/**
 * What is known of the items that a bank has returned: whether they are ours, whether everything about them agrees, and
 * whether a return can still be taken.
 */
export const FIND_RETURNED: Statement = {
  name: 'find-returned',
  text: `${ASKED_ITEMS} transaction ${IN_TIME}`,
  spread: `${ASKED_ITEMS} transactions_at($3::integer[], $4::integer[]) ${IN_TIME}`,
};

/** After the days of the settlement. */
export const LISTED = columns<{
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  readonly code: number;
  readonly message: string;
  readonly outcomeSeal: Buffer;
}>(
  'listed',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    audit: integer(({ audit }) => audit),
    code: smallint(({ code }) => code),
    message: text(({ message }) => message),
    outcome_seal: bytes(({ outcomeSeal }) => outcomeSeal),
  },
  { after: 2 },
);

// guard(return: by two files at once, with the first one’s code): WHERE i.state IN ('filed', 'cleared') ⇒
// guard(return: once): WHERE i.state IN ('filed', 'cleared') ⇒
// guard(return: only of what a bank has): WHERE i.state IN ('filed', 'cleared') ⇒
const LOCK_LISTED = `SELECT i.organisation_id, i.audit FROM directdebit_item i
    JOIN listed ON listed.organisation_id = i.organisation_id AND listed.audit = i.audit
    WHERE i.state IN ('filed', 'cleared')
    ORDER BY i.organisation_id, i.audit FOR UPDATE OF i`;

/** Without a join: see `DECLINE_RETURNED_ELSEWHERE`. */
const LOCK_LISTED_OF_ONE = `SELECT i.organisation_id, i.audit FROM directdebit_item i
    WHERE i.organisation_id = ($3::integer[])[1] AND i.audit = ANY ($4::integer[]) AND i.state IN ('filed', 'cleared')
    ORDER BY i.audit FOR UPDATE`;

// Rows are locked in the order of the audits, so that two imports of the same file wait for each other and do not deadlock.
const LIST_ITEMS = `
  listed AS (
    SELECT * FROM ${LISTED.rows}
  ), locked AS (`;

const RETURN_LOCKED = `  ), returned AS (
    UPDATE directdebit_item i SET state = 'returned', return_code = listed.code, next_at = NULL
    FROM locked JOIN listed ON listed.organisation_id = locked.organisation_id AND listed.audit = locked.audit
    WHERE i.organisation_id = locked.organisation_id AND i.audit = locked.audit
    RETURNING i.organisation_id, i.audit, listed.code, listed.message, listed.outcome_seal
  ),`;

const TOLD = `
  SELECT organisation_id AS "organisationId", merchant_id AS "merchantId", audit, late,
    refunded_cents AS "refundedCents"
  FROM declined`;

/** Debits and standalone credits that came back. */
export const RETURN_ITEMS: Statement = {
  name: 'return-items',
  text: `WITH ${LIST_ITEMS} ${LOCK_LISTED}
${RETURN_LOCKED} ${DECLINE_RETURNED} ${TOLD}`,
  spread: `WITH ${LIST_ITEMS} ${LOCK_LISTED_OF_ONE}
${RETURN_LOCKED} ${DECLINE_RETURNED_ELSEWHERE} ${TOLD}`,
};

/** Refunds that came back: the amount can be refunded again. Never in one statement with their targets. */
export const RETURN_REFUNDS: Statement = {
  name: 'return-refunds',
  text: `
    WITH ${LIST_ITEMS} ${LOCK_LISTED}
${RETURN_LOCKED} ${DECLINE_RETURNED}, ${RELEASE_DECLINED}
    ${TOLD}`,
  spread: `
    WITH ${LIST_ITEMS} ${LOCK_LISTED_OF_ONE}
${RETURN_LOCKED} ${DECLINE_RETURNED_ELSEWHERE}, ${RELEASE_DECLINED}
    ${TOLD}`,
};

/** After the organisation and the time at which they come back. */
export const PLANNED = columns<{ readonly audit: Audit; readonly code: number }>(
  'planned',
  { audit: integer(({ audit }) => audit), code: smallint(({ code }) => code) },
  { after: 2 },
);

/** What the simulated bank is going to return, and when. */
export const PLAN_RETURNS: Statement = {
  name: 'plan-returns',
  text: `
    UPDATE directdebit_item i SET simulated_return = planned.code, next_at = to_timestamp($2::float8 / 1000)
    FROM ${PLANNED.rows}
    WHERE i.organisation_id = $1 AND i.audit = planned.audit AND i.state = 'filed'`,
};
