import { columns, integer, optionalBytes, text } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import { OUTCOME } from './outcome-seals.sql.js';
import type { Resealed } from './transaction.js';

/** One process at a time, until the end of the database transaction. */
export const LOCK_SEALING: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(hashtext('tollgate sealing'))`,
};

/** That it was done, by the journal. */
export const SEALINGS: Statement = {
  name: '',
  text: `
    SELECT actor, action, detail, address, mark FROM journal WHERE action = 'transactions.sealed' ORDER BY id`,
};

/** Whether anything was decided without a seal, and how many gateways are not presumed dead. */
export const SERVING_UNSEALED: Statement = {
  name: '',
  text: `
    SELECT EXISTS (SELECT FROM transaction WHERE status <> 'unknown' AND outcome_seal IS NULL) AS unsealed,
      (SELECT count(*)::integer FROM process WHERE seen_at > now() - interval '20 seconds') AS processes`,
};

export const ORGANISATIONS_TO_SEAL: Statement = {
  name: '',
  text: `SELECT id FROM organisation ORDER BY id`,
};

/** A page of $3 transactions of an organisation ($1) after an audit ($2), with everything that is sealed of them. */
export const PAGE_TO_SEAL: Statement = {
  name: 'page-to-seal',
  text: `
    SELECT ${OUTCOME} AS stored, t.prepared, t.attestation, t.payment_details_key_version AS "keyVersion",
      t.payment_details_sealed AS sealed, CASE WHEN t.bank_account IS NULL THEN 'card' ELSE 'bank_account' END AS "paymentMethod"
    FROM transaction t WHERE t.organisation_id = $1 AND t.audit > $2 ORDER BY t.audit LIMIT $3`,
};

/** After the organisation. */
export const RESEALED = columns<Resealed>(
  'resealed',
  {
    audit: integer(({ stored }) => stored.audit),
    status: text(({ stored }) => stored.status),
    key_version: integer(({ keyVersion }) => keyVersion),
    outcome_seal: optionalBytes(({ outcomeSeal }) => outcomeSeal),
    sealed: optionalBytes(({ details }) => details),
    attestation: optionalBytes(({ attested }) => attested),
  },
  { after: 1 },
);

/** What has changed since it was read is left to the next pass. */
export const RESEAL: Statement = {
  name: 'reseal-transactions',
  text: `
    UPDATE transaction t SET outcome_seal = coalesce(decode(resealed.outcome_seal, 'base64'), t.outcome_seal),
      payment_details_sealed = coalesce(decode(resealed.sealed, 'base64'), t.payment_details_sealed),
      attestation = coalesce(decode(resealed.attestation, 'base64'), t.attestation)
    FROM ${RESEALED.rows}
    WHERE t.organisation_id = $1 AND t.audit = resealed.audit AND t.status = resealed.status
      AND t.payment_details_key_version IS NOT DISTINCT FROM resealed.key_version`,
};
