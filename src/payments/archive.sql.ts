import type { Statement } from '../postgres/database.js';

/**
 * Finished: decided, settled, its card and its target's card destroyed, and neither can be completed or voided. `t` is the
 * transaction, `target` the transaction that it acts on, if any.
 */
// guard(archive: a card that lives keeps its transaction): AND t.payment_details_sealed IS NULL AND target.payment_details_sealed IS NULL ⇒
const FINISHED = `t.archived_at IS NULL AND t.status IN ('approved', 'declined', 'error', 'voided') AND t.resolve_at IS NULL
        AND t.payment_details_sealed IS NULL AND target.payment_details_sealed IS NULL
        AND (t.settlement_date IS NULL OR t.settlement_date <= (SELECT closed_day FROM gateway))
        AND coalesce(greatest(t.completable_until, t.voidable_until, target.completable_until), '-infinity') < gateway_now()`;

const WITH_TARGET = `
      LEFT JOIN transaction target ON target.organisation_id = t.organisation_id AND target.audit = t.target_audit`;

export const ORGANISATIONS_TO_ARCHIVE: Statement = {
  name: '',
  text: `SELECT id, (next_audit - 1)::float8 AS "lastAudit" FROM organisation ORDER BY id`,
};

/** At most $4 finished transactions of an organisation ($1) with audits after $2, created before $3. None of it is secret. */
export const FINISHED_TRANSACTIONS: Statement = {
  name: '',
  text: `
    WITH page AS MATERIALIZED (
      SELECT * FROM transaction WHERE organisation_id = $1 AND audit > $2 ORDER BY audit LIMIT $4
    )
    SELECT (SELECT max(audit) FROM page) AS "lastAudit",
      (SELECT coalesce(json_agg((to_jsonb(t) - '{payment_details_sealed,payment_details_key_version,attestation,outcome_seal}'::text[])
          || jsonb_build_object('settlement_entries', coalesce((SELECT jsonb_agg(to_jsonb(e)) FROM settlement_entry e
            WHERE e.settlement_date = t.settlement_date AND e.organisation_id = t.organisation_id
              AND e.merchant_id = t.merchant_id AND e.audit = t.audit), '[]'))
        ORDER BY t.audit), '[]')
      FROM page t${WITH_TARGET}
      WHERE t.created_at < to_timestamp($3::float8 / 1000) AND ${FINISHED}) AS transactions`,
};

/**
 * Removes the columns that only the archive keeps from now on. A transaction that has changed since it was archived stays as it
 * is.
 */
export const STRIP_ARCHIVED: Statement = {
  name: '',
  text: `
    UPDATE transaction SET kvps = NULL, prepared = NULL, archived_at = now()
    FROM (
      SELECT t.organisation_id, t.audit FROM transaction t${WITH_TARGET}
      WHERE t.organisation_id = $1 AND t.audit = ANY ($2::integer[]) AND ${FINISHED}
    ) finished
    WHERE transaction.organisation_id = finished.organisation_id AND transaction.audit = finished.audit`,
};
