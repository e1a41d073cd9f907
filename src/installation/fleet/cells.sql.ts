import { SEALED_ORGANISATION } from '../../organisations/sealed-organisation.sql.js';
import type { Statement } from '../../postgres/database.js';

export const SHOW_CELL: Statement = {
  name: '',
  text: `SELECT cell AS name, cell_number AS number FROM gateway`,
};

export const NAME_CELL: Statement = {
  name: '',
  text: `UPDATE gateway SET cell = $1, cell_number = $2 RETURNING cell AS name, cell_number AS number`,
};

export const NAMED_ORGANISATIONS: Statement = {
  name: '',
  text: `
    SELECT o.id, ${SEALED_ORGANISATION} FROM organisation o WHERE o.host_name IS NOT NULL AND o.id > $1 ORDER BY o.id LIMIT $2`,
};

/** Of gateways that are not presumed dead. */
export const CELL_FIGURES: Statement = {
  name: '',
  text: `
    SELECT cell AS name, cell_number AS number, (SELECT max(version) FROM schema_migration) AS schema,
      (SELECT count(*)::integer FROM organisation WHERE residence <> 'moved') AS organisations,
      (SELECT count(*)::integer FROM organisation WHERE residence IN ('arriving', 'closing', 'closed')) AS moving,
      (SELECT count(*)::integer FROM organisation WHERE residence = 'moved') AS moved,
      (SELECT count(*)::integer FROM merchant) AS merchants,
      ARRAY(SELECT DISTINCT release FROM process WHERE seen_at > now() - interval '15 seconds' AND release IS NOT NULL
        ORDER BY release) AS releases
    FROM gateway`,
};

/**
 * Organisations that have left or come, or are on their way. `highestAudit` and `worked` are of those whose move has not ended: whether a
 * command works on it, which has the lock of LOCK_MOVE at the source.
 */
export const TRAVELLERS: Statement = {
  name: '',
  text: `
    SELECT o.id AS organisation, o.residence, o.moved_to AS "movedTo", m.cell AS other, m.arrives, m.begun_at AS begun,
      CASE WHEN m.id IS NOT NULL THEN coalesce((SELECT max(t.audit) FROM transaction t WHERE t.organisation_id = o.id), 0) END AS "highestAudit",
      EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid::bigint = o.id
        AND l.classid::bigint = hashtext('tollgate move')::bigint & 4294967295
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())) AS worked
    FROM organisation o LEFT JOIN organisation_move m ON m.organisation_id = o.id AND m.ended_at IS NULL
    WHERE o.residence <> 'here' OR m.id IS NOT NULL
      OR EXISTS (SELECT FROM organisation_move a WHERE a.organisation_id = o.id AND a.arrives AND a.state = 'open')
    ORDER BY o.id LIMIT $1`,
};

export const RESIDENCES: Statement = {
  name: '',
  text: `SELECT id AS organisation, residence FROM organisation WHERE id = ANY ($1::integer[])`,
};
