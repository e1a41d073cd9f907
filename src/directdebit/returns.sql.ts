import type { Statement } from '../store/database.js';

/**
 * What is known of the items that a bank has returned: whether they are ours, whether everything about them agrees, and
 * whether a return can still be taken.
 */
export const FIND_RETURNED: Statement = {
  name: 'find-returned',
  text: `
    SELECT asked.place::integer AS place, i.state, t.status, t.transaction_type AS "transactionType",
      t.amount_cents AS "amountCents", t.bank_account AS "bankAccount", t.merchant_id AS "merchantId",
      f.processing_day + coalesce(e.dispute_days, $4) >= $3::date AS "inTime"
    FROM unnest($1::integer[], $2::integer[]) WITH ORDINALITY AS asked(organisation_id, audit, place)
    JOIN directdebit_item i ON i.organisation_id = asked.organisation_id AND i.audit = asked.audit
    JOIN directdebit_file f ON f.organisation_id = i.organisation_id AND f.merchant_id = i.merchant_id
      AND f.number = i.file_number
    JOIN transaction t ON t.organisation_id = i.organisation_id AND t.audit = i.audit
    LEFT JOIN direct_entry e ON e.organisation_id = i.organisation_id AND e.merchant_id = i.merchant_id`,
};

const RETURNED = `
  returned AS (
    UPDATE directdebit_item i SET state = 'returned', return_code = asked.code, next_at = NULL
    FROM (
      SELECT * FROM unnest($1::integer[], $2::integer[], $3::smallint[], string_to_array($4, E'\\x1f'))
        AS listed(organisation_id, audit, code, message) ORDER BY audit) asked
    WHERE i.organisation_id = asked.organisation_id AND i.audit = asked.audit AND i.state IN ('filed', 'cleared')
    RETURNING i.organisation_id, i.audit, asked.code, asked.message
  ), before AS (
    SELECT t.organisation_id, t.audit, t.status FROM transaction t
    JOIN returned ON returned.organisation_id = t.organisation_id AND returned.audit = t.audit
  ), declined AS (
    UPDATE transaction t SET status = 'declined', response_code = returned.code::text,
      response_message = returned.message, authorisation_code = NULL, voidable_until = NULL
    FROM returned
    WHERE t.organisation_id = returned.organisation_id AND t.audit = returned.audit
      AND t.status IN ('pending', 'approved')
    RETURNING t.organisation_id, t.audit, t.merchant_id, t.target_audit, t.amount_cents, t.refunded_cents
  )`;

const TOLD = `
  SELECT declined.organisation_id AS "organisationId", declined.merchant_id AS "merchantId", declined.audit,
    before.status = 'approved' AS late, declined.refunded_cents AS "refundedCents"
  FROM declined JOIN before ON before.organisation_id = declined.organisation_id AND before.audit = declined.audit`;

/** Debits and standalone credits that came back. */
export const RETURN_ITEMS: Statement = { name: 'return-items', text: `WITH ${RETURNED} ${TOLD}` };

/** Refunds that came back: the amount can be refunded again. Never in one statement with their targets. */
export const RETURN_REFUNDS: Statement = {
  name: 'return-refunds',
  text: `
    WITH ${RETURNED}, given_back AS (
      UPDATE transaction target SET refunded_cents = target.refunded_cents - back.cents
      FROM (SELECT organisation_id, target_audit, sum(amount_cents) AS cents FROM declined
        GROUP BY organisation_id, target_audit) back
      WHERE target.organisation_id = back.organisation_id AND target.audit = back.target_audit
    )
    ${TOLD}`,
};

/** What the simulated bank is going to return, and when. */
export const PLAN_RETURNS: Statement = {
  name: 'plan-returns',
  text: `
    UPDATE directdebit_item i SET simulated_return = planned.code, next_at = to_timestamp($4::float8 / 1000)
    FROM unnest($2::integer[], $3::smallint[]) AS planned(audit, code)
    WHERE i.organisation_id = $1 AND i.audit = planned.audit AND i.state = 'filed'`,
};
