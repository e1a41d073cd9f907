import type { Statement } from '../../postgres/database.js';
import { isNotElsewhere } from '../../postgres/elsewhere.js';

/** A starting process may follow one that left transactions unattended. */
export const ASK_FOR_A_SWEEP: Statement = {
  name: '',
  text: `UPDATE gateway SET sweep_at = now() WHERE sweep_at > now()`,
};

export const SWEEP_IS_DUE = `(EXISTS (SELECT FROM sweep) OR EXISTS (SELECT FROM gateway WHERE sweep_at <= now()))`;

export const BEGIN_SWEEP: Statement = {
  name: 'begin-sweep',
  text: `
    WITH begun AS (UPDATE gateway SET sweep_at = now() + interval '1 day' WHERE sweep_at <= now() RETURNING only_row)
    INSERT INTO sweep (organisation_id, up_to)
    SELECT o.id, (o.next_audit - 1)::integer FROM begun, organisation o WHERE o.next_audit > 1 AND ${isNotElsewhere('o.id')}
    ON CONFLICT (organisation_id) DO UPDATE SET up_to = excluded.up_to`,
};

/** Organisations take turns. An organisation that another process is sweeping is skipped. */
export const NEXT_TO_SWEEP: Statement = {
  name: 'next-to-sweep',
  text: `
    SELECT organisation_id AS "organisationId", up_to AS "upTo" FROM sweep
    ORDER BY swept_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
};

/** The transactions in doubt of an organisation ($1) follow, as `t`, then `UNDER_NO_LEASE`. */
const YOUNG_OR_OLD = `
    SELECT t.audit, t.created_at < now() + gateway.advanced_ms * interval '1 millisecond' - $4 * interval '1 millisecond' AS old
    FROM`;

const IN_DOUBT = `t.organisation_id = $1 AND t.audit BETWEEN $2 AND $3 AND t.status = 'unknown' AND t.resolve_at IS NULL`;

// guard(sweep: leaves what is under a lease): t.audit BETWEEN l.first_audit AND l.last_audit ⇒ false
const UNDER_NO_LEASE = `NOT EXISTS (SELECT FROM audit_lease l
        WHERE l.organisation_id = $1 AND t.audit BETWEEN l.first_audit AND l.last_audit)
    ORDER BY t.audit`;

/**
 * Transactions in doubt, not yet the resolver's, and under no lease. A lease ends only after the outcome is stored, so a
 * transaction on its ordinary way is never among them. A young one may belong to a process that is about to renew its leases.
 */
export const UNLEASED: Statement = {
  name: 'unleased',
  text: `${YOUNG_OR_OLD} transaction t, gateway
    WHERE ${IN_DOUBT}
      AND ${UNDER_NO_LEASE}`,
  spread: `
    WITH doubts AS MATERIALIZED (
      SELECT t.audit, t.created_at FROM transaction t WHERE ${IN_DOUBT}
    )${YOUNG_OR_OLD} doubts t, gateway
    WHERE ${UNDER_NO_LEASE}`,
};

export const SWEPT: Statement = {
  name: 'swept',
  text: `UPDATE sweep SET up_to = $2, swept_at = clock_timestamp() WHERE organisation_id = $1`,
};

export const WHOLLY_SWEPT: Statement = {
  name: 'wholly-swept',
  text: `DELETE FROM sweep WHERE organisation_id = $1`,
};
