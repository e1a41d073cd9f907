import { newestSeal } from '../../journal/seals.js';
import { SETTLE_LODGED } from '../../payments/status.sql.js';
import type { Statement } from '../../postgres/database.js';
import { isNotElsewhere } from '../../postgres/elsewhere.js';
import { SEALED_ITEM, WITH_ACCOUNTS } from './item-seals.sql.js';

/** Whether the transaction t collects money: what `directDebitMode` says, for statements that add up. */
export const IS_DEBIT = `t.transaction_type = 'purchase'`;

/** One file of a merchant is made at a time. */
export const LOCK_FILES_OF_MERCHANT: Statement = {
  name: '',
  text: `SELECT id FROM merchant WHERE organisation_id = $1 AND id = $2 FOR NO KEY UPDATE`,
};

/** Held for as long as the transaction. Apart from the merchant's row, which the simulated bank's files need too. */
export const LOCK_EXPORTS_OF_MERCHANT: Statement = {
  name: '',
  // guard(export: one at a time): pg_advisory_xact_lock(hashtext('tollgate exports'), $1::integer) ⇒ $1::integer
  text: `SELECT pg_advisory_xact_lock(hashtext('tollgate exports'), $1::integer)`,
};

/** Items whose transaction was voided need not wait any longer. */
export const LEAVE_OUT_VOIDED: Statement = {
  name: 'leave-out-voided',
  // guard(file: no items that are voided): t.status <> 'pending' ⇒ false
  text: `
    UPDATE directdebit_item i SET state = 'voided', next_at = NULL
    FROM transaction t
    WHERE i.organisation_id = $1 AND i.merchant_id = $2 AND i.state = 'waiting'
      AND t.organisation_id = i.organisation_id AND t.audit = i.audit AND t.status <> 'pending'`,
};

/** Of an item: whether it waits for this bank, and is due. */
// guard(file: only what its bank has taken in): simulated = $10 AND i.state ⇒ state
const OFFERED = `i.organisation_id = $1 AND i.merchant_id = $2 AND i.simulated = $10 AND i.state = 'waiting'
        AND ($3::float8 IS NULL OR i.next_at <= to_timestamp($3 / 1000))`;

/** Reads `waiting`. */
const FILE_WAITING = `counted AS (
      SELECT audit, amount_cents, debit, row_number() OVER way AS line,
        sum(CASE WHEN debit THEN amount_cents ELSE 0 END) OVER way AS debit_cents,
        sum(CASE WHEN debit THEN 0 ELSE amount_cents END) OVER way AS credit_cents
      FROM waiting WINDOW way AS (ORDER BY audit)
    ), fitting AS (
      -- Running totals only grow: what fits is a beginning of the list.
      SELECT * FROM counted WHERE debit_cents <= $8 AND credit_cents <= $8
    ), file AS (
      INSERT INTO directdebit_file (organisation_id, merchant_id, number, made_at, processing_day, settings, items,
        debit_cents, credit_cents, written_at, taken_at, simulated)
      SELECT $1, $2,
        1 + coalesce((SELECT max(number) FROM directdebit_file WHERE organisation_id = $1 AND merchant_id = $2), 0),
        to_timestamp($4::float8 / 1000), $5::date, $7::json, count(*), max(debit_cents), max(credit_cents),
        CASE WHEN $9 THEN to_timestamp($4::float8 / 1000) END, CASE WHEN NOT $10 THEN to_timestamp($4::float8 / 1000) END,
        $10
      FROM fitting HAVING count(*) > 0
      RETURNING number
    ), filed AS (
      UPDATE directdebit_item i SET state = 'filed', file_number = file.number, line = fitting.line,
        next_at = CASE WHEN $9 OR $10 THEN to_timestamp($6::float8 / 1000) END
      FROM fitting, file
      WHERE i.organisation_id = $1 AND i.audit = fitting.audit
    ), lodged AS (
      SELECT $1::integer AS organisation_id, audit, $5::date AS processing_day FROM fitting
    ), ${SETTLE_LODGED}
    SELECT file.number, (SELECT count(*) FROM fitting) = $11 AS full,
      (SELECT count(*) FROM waiting) - (SELECT count(*) FROM fitting) AS left
    FROM file`;

/**
 * Puts what waits for one bank, the simulated or the merchant's own, into a new file, in one statement: as much as a file
 * can hold, in the order of the audits. The row of
 * the transaction decides between a void and the file: whoever gets to it first.
 */
export const MAKE_FILE: Statement = {
  name: 'make-file',
  // guard(file: no items that are voided): t.status = 'pending' AND t.voided_by IS NULL AND ⇒
  text: `
    WITH waiting AS (
      SELECT i.audit, t.amount_cents, ${IS_DEBIT} AS debit
      FROM directdebit_item i JOIN transaction t ON t.organisation_id = i.organisation_id AND t.audit = i.audit
      WHERE ${OFFERED}
        AND t.status = 'pending' AND t.voided_by IS NULL AND i.held_at IS NULL
      ORDER BY i.audit LIMIT $11
      FOR UPDATE OF t
    ), ${FILE_WAITING}`,
  spread: `
    WITH offered AS MATERIALIZED (
      SELECT i.audit FROM directdebit_item i
      WHERE ${OFFERED} AND i.held_at IS NULL
      ORDER BY i.audit LIMIT $11
    ), waiting AS MATERIALIZED (
      SELECT t.audit, t.amount_cents, ${IS_DEBIT} AS debit FROM transaction t
      WHERE t.organisation_id = $1 AND t.audit = ANY (ARRAY(SELECT audit FROM offered))
        AND t.status = 'pending' AND t.voided_by IS NULL
      ORDER BY t.audit FOR UPDATE
    ), ${FILE_WAITING}`,
};

/** How many more wait. */
export const COUNT_WAITING: Statement = {
  name: 'count-waiting',
  text: `
    SELECT count(*) AS waiting
    FROM directdebit_item i JOIN transaction t ON t.organisation_id = i.organisation_id AND t.audit = i.audit
    WHERE i.organisation_id = $1 AND i.merchant_id = $2 AND i.simulated = $3 AND i.state = 'waiting'
      AND t.status = 'pending' AND t.voided_by IS NULL AND i.held_at IS NULL`,
};

const FILE = `
  organisation_id AS "organisationId", merchant_id AS "merchantId", number, processing_day::text AS "processingDay",
  settings, items, debit_cents AS "debitCents", credit_cents AS "creditCents", simulated,
  ${newestSeal("'file/' || directdebit_file.merchant_id || '/' || directdebit_file.number")} AS newest`;

export const FIND_FILE: Statement = {
  name: '',
  text: `SELECT ${FILE} FROM directdebit_file WHERE organisation_id = $1 AND merchant_id = $2 AND number = $3`,
};

/** A page of $4 of the files for real banks, after one ($2, $3): of a merchant ($1) or of all. */
export const FILES_FOR_BANKS: Statement = {
  name: '',
  text: `
    SELECT ${FILE} FROM directdebit_file
    WHERE NOT simulated AND ($1::integer IS NULL OR merchant_id = $1) AND (merchant_id, number) > ($2, $3)
    ORDER BY merchant_id, number LIMIT $4`,
};

/** Made, and then the process that should have written it died. */
export const UNWRITTEN_FILE: Statement = {
  name: '',
  text: `
    SELECT ${FILE} FROM directdebit_file WHERE organisation_id = $1 AND merchant_id = $2 AND written_at IS NULL
    ORDER BY number LIMIT 1`,
};

/** From now on a real bank can have it, and its items can be cleared. */
export const FILE_IS_WRITTEN: Statement = {
  name: '',
  text: `
    WITH written AS (
      UPDATE directdebit_file SET written_at = to_timestamp($4::float8 / 1000)
      WHERE organisation_id = $1 AND merchant_id = $2 AND number = $3 AND written_at IS NULL
      RETURNING organisation_id, merchant_id, number)
    UPDATE directdebit_item i SET next_at = to_timestamp($5::float8 / 1000) FROM written
    WHERE i.organisation_id = written.organisation_id AND i.merchant_id = written.merchant_id
      AND i.file_number = written.number AND i.state = 'filed' AND i.next_at IS NULL`,
};

export const UNTAKEN_FILE: Statement = {
  name: 'untaken-file',
  text: `SELECT ${FILE} FROM directdebit_file WHERE taken_at IS NULL AND ${isNotElsewhere('organisation_id')}
    ORDER BY organisation_id, merchant_id, number LIMIT 1`,
};

export const FILE_IS_TAKEN: Statement = {
  name: 'file-is-taken',
  text: `
    UPDATE directdebit_file SET taken_at = now()
    WHERE organisation_id = $1 AND merchant_id = $2 AND number = $3 AND taken_at IS NULL`,
};

/** A page of a file's items, in the order of their lines. */
export const ITEMS_OF_FILE: Statement = {
  name: 'items-of-file',
  text: `
    SELECT i.line, sent_by(i.organisation_id, i.audit) AS "sentBy", ${SEALED_ITEM}
    FROM directdebit_item i ${WITH_ACCOUNTS}
    WHERE i.organisation_id = $1 AND i.merchant_id = $2 AND i.file_number = $3 AND i.line > $4
    ORDER BY i.line LIMIT $5`,
};

export const INSTALLATION: Statement = { name: '', text: `SELECT installation FROM gateway` };
