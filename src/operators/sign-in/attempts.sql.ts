import type { Statement } from '../../postgres/database.js';

/** Attempts of one operator, and those from one network, come one after the other: none is counted too late. */
export const LOCK_ATTEMPTS: Statement = {
  name: '',
  text: `
    SELECT pg_advisory_xact_lock(hashtext('tollgate sign-in of ' || $1)), pg_advisory_xact_lock(hashtext('tollgate sign-in from ' || $2))`,
};

/** Of the operator from there, of everybody from there, and of the operator from where nobody has signed in before. */
export const COUNT_ATTEMPTS: Statement = {
  name: '',
  text: `
    SELECT
      (SELECT count(*) FROM operator_attempt
        WHERE network = $2 AND operator = $1 AND made_at > now() - interval '15 minutes') AS "ofBoth",
      (SELECT count(*) FROM operator_attempt
        WHERE network = $2 AND made_at > now() - interval '15 minutes') AS "ofNetwork",
      (SELECT count(*) FROM operator_attempt
        WHERE operator = $1 AND network NOT LIKE 'device:%' AND made_at > now() - interval '1 hour') AS "ofOperator"`,
};

export const BEGIN_ATTEMPT: Statement = {
  name: '',
  text: `INSERT INTO operator_attempt (id, operator, network) VALUES ($1, $2, $3)`,
};

/** They count for an hour at most. */
export const FORGET_ATTEMPTS: Statement = {
  name: '',
  text: `DELETE FROM operator_attempt WHERE made_at < now() - interval '1 hour'`,
};

export const CLEAR_ATTEMPTS: Statement = {
  name: '',
  text: `DELETE FROM operator_attempt WHERE operator = $1 AND network = $2`,
};

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
