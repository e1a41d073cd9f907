import type { Statement } from '../postgres/database.js';
import { IS_DEBIT } from './files/files.sql.js';

export const DIRECT_DEBIT_STATUS: Statement = {
  name: '',
  text: `
    WITH counted AS (
      SELECT i.organisation_id, i.merchant_id,
        count(*) FILTER (WHERE i.state = 'waiting' AND t.status = 'pending') AS waiting,
        count(*) FILTER (WHERE i.state = 'waiting' AND t.status = 'pending' AND i.simulated) AS waiting_simulated,
        coalesce(sum(t.amount_cents) FILTER (WHERE i.state = 'waiting' AND t.status = 'pending'
          AND ${IS_DEBIT}), 0) AS waiting_debit_cents,
        coalesce(sum(t.amount_cents) FILTER (WHERE i.state = 'waiting' AND t.status = 'pending'
          AND NOT ${IS_DEBIT}), 0) AS waiting_credit_cents,
        count(*) FILTER (WHERE i.state = 'waiting' AND t.status = 'pending' AND i.held_at IS NOT NULL) AS held,
        count(*) FILTER (WHERE i.state = 'filed') AS clearing,
        count(*) FILTER (WHERE i.state = 'cleared') AS cleared,
        count(*) FILTER (WHERE i.state = 'returned') AS returned
      FROM directdebit_item i JOIN transaction t ON t.organisation_id = i.organisation_id AND t.audit = i.audit
      WHERE $1::integer IS NULL OR i.merchant_id = $1
      GROUP BY i.organisation_id, i.merchant_id)
    SELECT m.id AS merchant, m.mode, coalesce(e.bank, CASE WHEN m.mode = 'test' THEN 'SIM' END) AS bank,
      coalesce(e.simulated, m.mode = 'test') AS simulated, coalesce(c.waiting, 0) AS waiting,
      coalesce(c.waiting_simulated, 0) AS "waitingSimulated", coalesce(c.waiting_debit_cents, 0)::bigint AS "waitingDebitCents",
      coalesce(c.waiting_credit_cents, 0)::bigint AS "waitingCreditCents", coalesce(c.held, 0) AS held,
      coalesce(c.clearing, 0) AS clearing,
      coalesce(c.cleared, 0) AS cleared, coalesce(c.returned, 0) AS returned,
      (SELECT count(*) FROM directdebit_file f WHERE f.organisation_id = m.organisation_id AND f.merchant_id = m.id) AS files,
      (SELECT count(*) FROM directdebit_file f WHERE f.organisation_id = m.organisation_id AND f.merchant_id = m.id
        AND f.written_at IS NULL) AS "filesToWrite"
    FROM merchant m
    LEFT JOIN direct_entry e ON e.organisation_id = m.organisation_id AND e.merchant_id = m.id
    LEFT JOIN counted c ON c.organisation_id = m.organisation_id AND c.merchant_id = m.id
    WHERE ($1::integer IS NULL OR m.id = $1) AND ($2::integer IS NULL OR m.organisation_id = $2)
    ORDER BY m.id`,
};

/** The newest files of a merchant. Its items clear together: the first few tell when. */
export const DIRECT_DEBIT_FILES: Statement = {
  name: '',
  text: `
    SELECT f.merchant_id AS merchant, f.number AS file, f.made_at AS made, f.processing_day::text AS "processingDay", f.items,
      f.debit_cents AS "debitCents", f.credit_cents AS "creditCents", f.simulated, f.written_at AS written,
      (SELECT max(first.next_at) FROM (
        SELECT i.next_at FROM directdebit_item i
        WHERE i.organisation_id = f.organisation_id AND i.merchant_id = f.merchant_id AND i.file_number = f.number
        ORDER BY i.line LIMIT 1000) first) AS clears
    FROM merchant m JOIN directdebit_file f ON f.organisation_id = m.organisation_id AND f.merchant_id = m.id
    WHERE m.id = $1
    ORDER BY f.number DESC LIMIT $2`,
};
