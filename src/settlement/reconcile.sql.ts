import { boolean, columns, integer } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { Audit, OrganisationId } from '../values/ids.js';

/** After the day and the acquirer. */
export const LISTED = columns<{
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  readonly isReturn: boolean;
}>(
  'listed',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    audit: integer(({ audit }) => audit),
    is_return: boolean(({ isReturn }) => isReturn),
  },
  { after: 2 },
);

/** What we know of transactions that an acquirer lists: each that is ours, and its entry of the day where it has one. */
export const FIND_LISTED: Statement = {
  name: 'find-listed',
  text: `
    SELECT listed.place::integer AS place, t.merchant_id AS "merchantId", t.status, t.acquirer,
      t.settlement_date::text AS "settlementDate", e.transaction_type AS "transactionType", abs(e.amount_cents) AS "amountCents",
      e.currency, sent_by(t.organisation_id, t.audit) AS "sentBy"
    FROM ${LISTED.places}
    JOIN transaction t ON t.organisation_id = listed.organisation_id AND t.audit = listed.audit
    LEFT JOIN settlement_entry e ON e.settlement_date = $1::date AND e.organisation_id = t.organisation_id
      AND e.merchant_id = t.merchant_id AND e.audit = t.audit AND e.acquirer = $2
      AND (e.transaction_type = 'return') = listed.is_return`,
};

/**
 * A page of what settles on a day over an acquirer, behind the one that is named. The counterpart of a void is what it undoes, and
 * the other way round, where both are of this day: together they come to nothing.
 */
export const SETTLED_OVER_ACQUIRER: Statement = {
  name: '',
  text: `
    SELECT e.organisation_id AS "organisationId", e.merchant_id AS "merchantId", e.audit, e.transaction_type AS "transactionType",
      abs(e.amount_cents) AS "amountCents", e.currency, t.prepared, other.audit AS counterpart,
      sent_by(e.organisation_id, e.audit) AS "sentBy"
    FROM (
      SELECT * FROM settlement_entry
      WHERE settlement_date = $1::date AND acquirer = $2
        AND (organisation_id, merchant_id, audit, transaction_type) > ($3::integer, $4::integer, $5::integer, $6::text)
      ORDER BY organisation_id, merchant_id, audit, transaction_type LIMIT $7) e
    JOIN transaction t ON t.organisation_id = e.organisation_id AND t.audit = e.audit
    LEFT JOIN settlement_entry other ON other.settlement_date = $1::date AND other.organisation_id = e.organisation_id
      AND other.merchant_id = e.merchant_id
      AND other.audit = CASE WHEN e.transaction_type = 'void' THEN e.target_audit ELSE t.voided_by END
      AND (e.transaction_type = 'void') <> (other.transaction_type = 'void')
    ORDER BY e.organisation_id, e.merchant_id, e.audit, e.transaction_type`,
};

/** Whether anything settles on a day over an acquirer. */
export const SETTLED_AT_ALL: Statement = {
  name: '',
  text: `SELECT 1 AS settled FROM settlement_entry WHERE settlement_date = $1::date AND acquirer = $2 LIMIT 1`,
};

export const CLOSED_DAY: Statement = {
  name: '',
  text: `
    SELECT closed_day >= $1::date AS closed, installation,
      ARRAY(SELECT DISTINCT f.installation FROM former_installation f) AS former
    FROM gateway`,
};
