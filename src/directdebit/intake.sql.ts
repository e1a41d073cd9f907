import { RECORDED } from '../payments/pipeline/record.sql.js';
import {
  DECIDE_DIRECT,
  DECIDE_TARGETED,
  JOURNAL_RESOLUTIONS,
  NOTE_DECLINED_OF_DOUBTS,
} from '../payments/status.sql.js';
import type { Statement } from '../postgres/database.js';

/**
 * A direct debit that was taken in begins its way to the bank that took it in, for good. The simulated bank takes it when
 * the day closes, the merchant's own when the operator makes the file.
 */
// guard(item: belongs to the bank that took it in): acquirer <> 'directdebit' ⇒ false
const NEW_ITEMS = `
    items AS (
      INSERT INTO directdebit_item (organisation_id, audit, merchant_id, account_audit, simulated, next_at)
      SELECT organisation_id, audit, merchant_id, coalesce(target_audit, audit), acquirer <> 'directdebit',
        CASE WHEN acquirer <> 'directdebit' THEN voidable_until END
      FROM decided WHERE status = 'pending'
    )`;

/** Commit B where direct debits, or refunds of them, are among the payments. */
export const RECORD_DIRECT_DEBITS: Statement = {
  name: 'record-direct-debits',
  text: `WITH ${DECIDE_DIRECT}, ${NEW_ITEMS} ${RECORDED}`,
};

/** Commit B of whatever was in doubt, payments and operations on an earlier transaction alike, with its journal entry. */
export const RECORD_RESOLUTIONS: Statement = {
  name: 'record-resolutions',
  text: `WITH ${DECIDE_TARGETED}, ${NEW_ITEMS}, ${NOTE_DECLINED_OF_DOUBTS}, ${JOURNAL_RESOLUTIONS} ${RECORDED}`,
};
