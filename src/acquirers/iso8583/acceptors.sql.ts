import type { Statement } from '../../postgres/database.js';

export const ACCEPTOR: Statement = {
  name: 'acceptor',
  text: `
    SELECT acceptor_id AS "acceptorId", terminals, category_code AS "categoryCode"
    FROM merchant WHERE organisation_id = $1 AND id = $2 AND acceptor_id IS NOT NULL AND cardinality(terminals) > 0`,
};
