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
      (SELECT count(*)::integer FROM merchant) AS merchants,
      ARRAY(SELECT DISTINCT release FROM process WHERE seen_at > now() - interval '15 seconds' AND release IS NOT NULL
        ORDER BY release) AS releases
    FROM gateway`,
};
