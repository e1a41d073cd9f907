import type { Statement } from '../../postgres/database.js';

/** Attempts under one name, and those from one place, come one after the other: none is counted too late. */
export const LOCK_ATTEMPTS: Statement = {
  name: '',
  text: `
    SELECT pg_advisory_xact_lock(hashtext('tollgate sign-in as ' || encode($1::bytea, 'hex'))),
      pg_advisory_xact_lock(hashtext('tollgate sign-in from ' || $2))`,
};

/**
 * `ofName`: of a name on one device on which it has signed in, or from all other places together. Of its last ten attempts those in the
 * half hour before the newest; none if the newest is half an hour old. So ten in half an hour count for half an hour after the tenth.
 */
export const COUNT_ATTEMPTS: Statement = {
  name: '',
  text: `
    SELECT
      (SELECT CASE WHEN max(made_at) > now() - interval '30 minutes'
          THEN count(*) FILTER (WHERE made_at > newest - interval '30 minutes') ELSE 0 END
        FROM (SELECT made_at, max(made_at) OVER () AS newest FROM operator_attempt
          WHERE name_tag = $1 AND CASE WHEN $3 THEN network = $2 ELSE network NOT LIKE 'device:%' END
          ORDER BY made_at DESC LIMIT 10) AS last)::integer AS "ofName",
      (SELECT count(*) FROM operator_attempt
        WHERE network = $2 AND made_at > now() - interval '30 minutes')::integer AS "ofNetwork",
      (SELECT count(*) FROM operator_attempt)::integer AS "ofAll"`,
};

export const BEGIN_ATTEMPT: Statement = {
  name: '',
  text: `INSERT INTO operator_attempt (id, name_tag, network) VALUES ($1, $2, $3)`,
};

/** They count for an hour at most. */
export const FORGET_ATTEMPTS: Statement = {
  name: '',
  text: `DELETE FROM operator_attempt WHERE made_at < now() - interval '1 hour'`,
};

export const CLEAR_ATTEMPTS: Statement = {
  name: '',
  text: `DELETE FROM operator_attempt WHERE name_tag = $1 AND network = $2`,
};

/** `name`: as it was typed. Nobody has signed in under one that does not exist. */
export const KNOWS_DEVICE: Statement = {
  name: '',
  text: `SELECT FROM operator_network WHERE operator = $1 AND network = $2 AND used_at > now() - interval '180 days'`,
};

export const REMEMBER_DEVICE: Statement = {
  name: '',
  text: `
    INSERT INTO operator_network (operator, network) VALUES ($1, $2)
    ON CONFLICT (operator, network) DO UPDATE SET used_at = now()`,
};

/** Those of long ago, and all but the last few. */
export const FORGET_DEVICES: Statement = {
  name: '',
  text: `
    DELETE FROM operator_network WHERE operator = $1 AND network NOT IN (
      SELECT network FROM operator_network WHERE operator = $1 AND used_at > now() - interval '180 days'
      ORDER BY used_at DESC LIMIT 20)`,
};
