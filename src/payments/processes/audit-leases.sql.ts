import { columns, integer } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { OrganisationId } from '../../values/ids.js';

/**
 * One statement: the block is this process's from the moment that the counter has moved. None for a process that the database
 * does not know, nor while the counters may have gone back.
 */
export const LEASE_AUDITS: Statement = {
  name: 'lease-audits',
  // guard(leases: none while the counters may have gone back): AND (SELECT lineage = database_lineage() FROM gateway) ⇒
  text: `
    WITH moved AS (
      UPDATE organisation SET next_audit = next_audit + $3
      WHERE id = $2 AND EXISTS (SELECT FROM process WHERE id = $1)
        AND (SELECT lineage = database_lineage() FROM gateway)
      RETURNING (next_audit - $3)::integer AS first_audit, (next_audit - 1)::integer AS last_audit)
    INSERT INTO audit_lease (organisation_id, first_audit, last_audit, process_id)
    SELECT $2, first_audit, last_audit, $1 FROM moved
    RETURNING first_audit AS first, last_audit AS last`,
};

/** After the process. */
export const HELD = columns<{
  readonly organisationId: OrganisationId;
  readonly first: number;
  readonly last: number;
}>(
  'held',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    first_audit: integer(({ first }) => first),
    last_audit: integer(({ last }) => last),
  },
  { after: 1 },
);

/** Those that the database has lost, or dropped with a process that was presumed dead. */
export const RENEW_LEASES: Statement = {
  name: '',
  text: `
    INSERT INTO audit_lease (organisation_id, first_audit, last_audit, process_id)
    SELECT organisation_id, first_audit, last_audit, $1
    FROM ${HELD.rows}
    ON CONFLICT (organisation_id, first_audit) DO NOTHING`,
};

/** Gives back the audits at the end of a block if nobody has leased a later one. */
export const RETURN_AUDITS: Statement = {
  name: '',
  // guard(leases: audits given back only if nobody leased later ones): next_audit = $3 ⇒ $3::bigint > 0
  text: `UPDATE organisation SET next_audit = $2 WHERE id = $1 AND next_audit = $3`,
};
