import { newestSeal } from '../../journal/seals.js';
import type { Statement } from '../../postgres/database.js';

/** The rules, and their newest seal in the journal. */
export const FIND_RULES: Statement = {
  name: '',
  text: `
    SELECT rules.above, rules.kinds, ${newestSeal("'approval/rules'")} AS newest
    FROM (SELECT) AS one LEFT JOIN approval_rules AS rules ON true`,
};

/** One change after the other. */
export const LOCK_RULES: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('tollgate rules of approvals', 0))`,
};

export const STORE_RULES: Statement = {
  name: '',
  text: `
    INSERT INTO approval_rules (above, kinds) VALUES ($1, $2)
    ON CONFLICT (only_one) DO UPDATE SET above = excluded.above, kinds = excluded.kinds`,
};
