import { boolean, columns, integer } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { Audit } from '../../values/ids.js';

/** Of an item `i`, its transaction `t` and the one `a` with which its account is sealed: what it takes to open that. */
export const SEALED_ITEM = `i.audit, i.simulated, t.transaction_type AS "transactionType", t.target_audit AS "targetAudit",
      t.amount_cents AS "amountCents", t.currency, t.prepared, t.attestation, i.account_audit AS "accountAudit",
      json_build_object('transactionType', a.transaction_type, 'amountCents', a.amount_cents, 'currency', a.currency,
        'paymentMethod', CASE WHEN a.bank_account IS NULL THEN 'card' ELSE 'bank_account' END, 'acquirer', a.acquirer,
        'prepared', a.prepared) AS account,
      a.payment_details_sealed AS sealed, a.payment_details_key_version AS "keyVersion"`;

export const WITH_ACCOUNTS = `
    JOIN transaction t ON t.organisation_id = i.organisation_id AND t.audit = i.audit
    LEFT JOIN transaction a ON a.organisation_id = i.organisation_id AND a.audit = i.account_audit`;

/** A page of what waits for one bank. */
export const WAITING_ITEMS: Statement = {
  name: 'waiting-items',
  text: `
    SELECT i.held_at IS NOT NULL AS held, ${SEALED_ITEM}
    FROM directdebit_item i ${WITH_ACCOUNTS}
    WHERE i.organisation_id = $1 AND i.merchant_id = $2 AND i.simulated = $3 AND i.state = 'waiting'
      AND ($4::float8 IS NULL OR i.next_at <= to_timestamp($4 / 1000)) AND t.status = 'pending' AND t.voided_by IS NULL
      AND i.audit > $5
    ORDER BY i.audit LIMIT $6`,
};

export const CHECKED = columns<{ readonly audit: Audit; readonly held: boolean }>(
  'checked',
  { audit: integer(({ audit }) => audit), held: boolean(({ held }) => held) },
  { after: 1 },
);

/** What is held is looked at again after an hour. */
export const CHECK_HELD: Statement = {
  name: 'check-held',
  text: `
    UPDATE directdebit_item i SET held_at = CASE WHEN checked.held THEN now() END,
      next_at = CASE WHEN i.simulated AND checked.held THEN gateway_now() + interval '1 hour' ELSE i.next_at END
    FROM ${CHECKED.rows}
    WHERE i.organisation_id = $1 AND i.audit = checked.audit AND i.state = 'waiting'`,
};
