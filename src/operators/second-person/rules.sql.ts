import type { Statement } from '../../postgres/database.js';

/** The rules, and the version that the journal names last. */
export const FIND_RULES: Statement = {
  name: '',
  text: `
    SELECT rules.above, rules.kinds, rules.version, rules.seal,
      (SELECT detail FROM journal WHERE action = 'approval.rules_set' ORDER BY id DESC LIMIT 1) AS journalled
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
    INSERT INTO approval_rules (above, kinds, version, seal) VALUES ($1, $2, $3, $4)
    ON CONFLICT (only_one) DO UPDATE SET above = excluded.above, kinds = excluded.kinds, version = excluded.version, seal = excluded.seal`,
};
