import { PROVING } from '../payments/finding/lookup.sql.js';
import type { Statement } from '../postgres/database.js';

/** Amounts as text: a day's sum may have more digits than a double holds. */
const LINES = `
    SELECT merchant_id AS "merchantId", acquirer, payment_method AS "paymentMethod", card_type AS "cardType",
      transaction_type AS "transactionType", currency, count(*) AS count, sum(amount_cents)::text AS cents
    FROM settlement_entry`;

const GROUPED = `
    GROUP BY organisation_id, merchant_id, acquirer, payment_method, card_type, transaction_type, currency`;

const IN_ORDER = `
    ORDER BY lines."merchantId", lines.acquirer, lines."paymentMethod", lines."cardType", lines."transactionType", lines.currency`;

/** What a day comes to for some merchants of an organisation, as a server says that can still commit. */
export const LINES_OF_MERCHANTS: Statement = {
  name: 'settlement-lines-of-merchants',
  // guard(settlement: a merchant sees its own day only): = ANY ($3::integer[]) ⇒ <> ALL (ARRAY[0]) AND $3::integer[] IS NOT NULL
  text: `
    ${PROVING}
    SELECT gateway.closed_day >= $1::date AS closed, lines.* FROM proof CROSS JOIN gateway LEFT JOIN (${LINES}
    WHERE settlement_date = $1::date AND organisation_id = $2 AND merchant_id = ANY ($3::integer[]) ${GROUPED}
    ) lines ON true ${IN_ORDER}`,
};

/** The same of every merchant, of one, or of those of a mode, for an operator. */
export const LINES_OF_DAY: Statement = {
  name: '',
  text: `
    ${PROVING}
    SELECT gateway.closed_day >= $1::date AS closed, lines.* FROM proof CROSS JOIN gateway LEFT JOIN (${LINES}
    WHERE settlement_date = $1::date AND ($2::integer IS NULL OR merchant_id = $2)
      AND ($3::text IS NULL OR EXISTS (SELECT 1 FROM merchant m
        WHERE m.organisation_id = settlement_entry.organisation_id AND m.id = settlement_entry.merchant_id AND m.mode = $3)) ${GROUPED}
    ) lines ON true ${IN_ORDER}`,
};

/** A page of the entries of a day, behind the one that is named. */
export const ENTRIES_OF_DAY: Statement = {
  name: '',
  text: `
    SELECT e.organisation_id AS "organisationId", e.merchant_id AS "merchantId", e.audit, e.target_audit AS "targetAudit",
      e.acquirer, e.payment_method AS "paymentMethod", e.card_type AS "cardType", e.transaction_type AS "transactionType",
      e.currency, e.amount_cents AS "amountCents", t.reference, e.mode, sent_by(e.organisation_id, e.audit) AS "sentBy"
    FROM (
      SELECT s.*, m.mode FROM settlement_entry s
      JOIN merchant m ON m.organisation_id = s.organisation_id AND m.id = s.merchant_id
      WHERE s.settlement_date = $1::date AND ($2::integer IS NULL OR s.merchant_id = $2) AND ($3::text IS NULL OR m.mode = $3)
        AND (s.organisation_id, s.merchant_id, s.audit, s.transaction_type) > ($4::integer, $5::integer, $6::integer, $7::text)
      ORDER BY s.organisation_id, s.merchant_id, s.audit, s.transaction_type LIMIT $8) e
    JOIN transaction t ON t.organisation_id = e.organisation_id AND t.audit = e.audit
    ORDER BY e.organisation_id, e.merchant_id, e.audit, e.transaction_type`,
};

/** Whose the merchant is, if there is such a one, and what goes into every reference that is sent to an acquirer. */
export const INSTALLATION_OF_MERCHANT: Statement = {
  name: '',
  text: `
    SELECT installation, (SELECT organisation_id FROM merchant WHERE id = $1) AS "organisationId" FROM gateway`,
};
