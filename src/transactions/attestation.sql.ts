import { bytes, columns, integer } from '../postgres/columns.js';
import type { Statement } from '../postgres/database.js';
import type { Audit } from '../values/ids.js';

/** Refunds of direct debits that an earlier release has stored: a page of them, behind an audit. */
export const UNATTESTED_REFUNDS: Statement = {
  name: '',
  text: `
    SELECT organisation_id AS "organisationId", merchant_id AS "merchantId", audit, transaction_type AS "transactionType",
      target_audit AS "targetAudit", amount_cents AS "amountCents", currency
    FROM transaction
    WHERE organisation_id = $1 AND merchant_id = $2 AND audit > $3 AND bank_account IS NOT NULL
      AND transaction_type = 'refund' AND attestation IS NULL
    ORDER BY audit LIMIT 500`,
};

export const ATTESTATIONS = columns<{ readonly audit: Audit; readonly attestation: Buffer }>(
  'attested',
  { audit: integer(({ audit }) => audit), attestation: bytes(({ attestation }) => attestation) },
  { after: 1 },
);

export const ATTEST: Statement = {
  name: '',
  text: `
    UPDATE transaction t SET attestation = decode(attested.attestation, 'base64')
    FROM ${ATTESTATIONS.rows}
    WHERE t.organisation_id = $1 AND t.audit = attested.audit AND t.attestation IS NULL`,
};
