import type { Statement } from '../postgres/database.js';
import { OPERATOR } from './operators.sql.js';

/** A session that goes on: not too old, and not left alone for too long. Times are the database's. */
const GOES_ON = `ends_at > now() AND seen_at > now() - make_interval(secs => $2::float8 / 1000)`;

export const NOW_MS: Statement = {
  name: '',
  text: `SELECT round(extract(epoch FROM now()) * 1000)::float8 AS "nowMs"`,
};

export const OPEN_SESSION: Statement = {
  name: '',
  text: `
    INSERT INTO operator_session (tag, operator, stage, method, address, agent, ends_at, seen_at, proved_at, seal)
    VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), to_timestamp($8::float8 / 1000),
      to_timestamp($9::float8 / 1000), $10)`,
};

/** All that the seal covers, and the seal. Times as numbers that know infinity: whatever was written there, the statement does not fail. */
const SEALED = `session.id, session.tag, session.operator, session.stage, session.method, session.address, session.agent,
      round(extract(epoch FROM session.ends_at) * 1000)::float8 AS "endsMs",
      round(extract(epoch FROM session.seen_at) * 1000)::float8 AS "seenMs",
      round(extract(epoch FROM session.proved_at) * 1000)::float8 AS "provedMs", session.seal AS "sessionSeal"`;

export const FORGET_SESSIONS: Statement = {
  name: '',
  text: `DELETE FROM operator_session WHERE ends_at < now()`,
};

/** The operator beside it, as it is now. */
export const FIND_SESSION: Statement = {
  name: '',
  text: `
    SELECT ${SEALED}, round(extract(epoch FROM now()) * 1000)::float8 AS "nowMs",
      session.seen_at < now() - interval '1 minute' AS "notSeenLately",
      session.proved_at > now() - interval '5 minutes' AS "provedLately", whose.*
    FROM operator_session AS session, LATERAL (SELECT ${OPERATOR} FROM operator WHERE name = session.operator) AS whose
    WHERE session.tag = $1 AND ${GOES_ON}`,
};

/** Unless something else has changed it since: that has sealed it anew, too. */
export const SEE_SESSION: Statement = {
  name: '',
  text: `
    UPDATE operator_session SET seen_at = to_timestamp($2::float8 / 1000), seal = $3 WHERE tag = $1 AND seal = $4`,
};

export const LOCK_SESSION: Statement = {
  name: '',
  text: `SELECT ${SEALED} FROM operator_session AS session WHERE tag = $1 FOR UPDATE`,
};

export const PROVE_SESSION: Statement = {
  name: '',
  text: `
    UPDATE operator_session SET proved_at = to_timestamp($2::float8 / 1000), seen_at = to_timestamp($2::float8 / 1000),
      seal = $3
    WHERE tag = $1`,
};

export const ALL_SESSIONS: Statement = {
  name: '',
  text: `SELECT ${SEALED} FROM operator_session AS session ORDER BY session.id`,
};

export const END_SESSION: Statement = {
  name: '',
  text: `DELETE FROM operator_session WHERE tag = $1`,
};

export const END_SESSION_BY_ID: Statement = {
  name: '',
  text: `DELETE FROM operator_session WHERE operator = $1 AND id = $2`,
};

export const END_SESSIONS_OF: Statement = {
  name: '',
  text: `DELETE FROM operator_session WHERE operator = $1`,
};

export const LIST_SESSIONS: Statement = {
  name: '',
  text: `
    SELECT id, stage, method, address, agent, created_at, seen_at, ends_at, tag FROM operator_session
    WHERE operator = $1 AND ${GOES_ON} ORDER BY created_at DESC`,
};
