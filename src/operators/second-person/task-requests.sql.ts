import { newestSeal } from '../../journal/seals.js';
import type { Statement } from '../../postgres/database.js';

const REQUEST = `
    SELECT id, ${newestSeal("'request/' || task_request.id")} AS newest, state AS stored, task, role, scope, organisation_id AS organisation, what, digest, requested_by AS "requestedBy",
      round(extract(epoch FROM requested_at) * 1000)::float8 AS "requestedMs",
      CASE WHEN state IN ('waiting', 'approved') AND expires_at <= now() THEN 'expired' ELSE state END AS state,
      round(extract(epoch FROM expires_at) * 1000)::float8 AS "expiresMs",
      round(extract(epoch FROM alone_from) * 1000)::float8 AS "aloneFromMs", decided_by AS "decidedBy",
      round(extract(epoch FROM decided_at) * 1000)::float8 AS "decidedMs", decision_reason AS "decisionReason",
      approver_version AS "approverVersion"
    FROM task_request`;

/** Of this organisation ($2), or of any. */
export const TASK_REQUEST_BY_ID: Statement = {
  name: '',
  text: `${REQUEST} WHERE id = $1 AND ($2::integer IS NULL OR organisation_id = $2)`,
};

/** A statement of its own: what is read afterwards is as the previous holder of the lock has left it, and so is its seal. */
export const LOCK_TASK_REQUEST: Statement = {
  name: '',
  text: `SELECT id FROM task_request WHERE id = $1 FOR UPDATE`,
};

/** A page of $2 of all that there are, after an ID. */
export const TASK_REQUESTS_AFTER: Statement = {
  name: '',
  text: `${REQUEST} WHERE id > $1 ORDER BY id LIMIT $2`,
};

/** The newest that can still come to something. */
export const TASK_REQUEST_BY_DIGEST: Statement = {
  name: '',
  text: `${REQUEST}
    WHERE digest = $1 AND state IN ('waiting', 'approved') AND expires_at > now() ORDER BY id DESC LIMIT 1`,
};

/** The newest first: of an organisation ($1) or of all. `$2`: only those that are not at their end. */
export const LIST_TASK_REQUESTS: Statement = {
  name: '',
  text: `${REQUEST}
    WHERE ($1::integer IS NULL OR organisation_id = $1)
      AND (NOT $2::boolean OR (state IN ('waiting', 'approved') AND expires_at > now()))
    ORDER BY id DESC LIMIT $3`,
};

export const STORE_TASK_REQUEST: Statement = {
  name: '',
  text: `
    INSERT INTO task_request (task, role, scope, organisation_id, what, digest, requested_by, state, expires_at, alone_from)
    VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', to_timestamp($8::float8 / 1000), to_timestamp($9::float8 / 1000))
    RETURNING id`,
};

/** By another person, or after the day that somebody has to wait who is alone. In time, once. */
export const APPROVE_TASK_REQUEST: Statement = {
  name: '',
  // guard(second person: a task is not approved after its time): AND expires_at > now() AND ⇒ AND
  // guard(second person: nobody approves their own task): AND (requested_by <> $2 OR alone_from <= now()) ⇒
  text: `
    UPDATE task_request SET state = 'approved', decided_by = $2, decided_at = now(), decision_reason = $3,
      expires_at = to_timestamp($4::float8 / 1000), approver_version = $5
    WHERE id = $1 AND state = 'waiting' AND expires_at > now() AND (requested_by <> $2 OR alone_from <= now())
    RETURNING id`,
};

/** In time, unless it is not as it was sealed ($4): then in whatever state it is said to be. */
export const REFUSE_TASK_REQUEST: Statement = {
  name: '',
  text: `
    UPDATE task_request SET state = 'refused', decided_by = $2, decided_at = now(), decision_reason = $3
    WHERE id = $1 AND ($4 OR (state = 'waiting' AND expires_at > now()))
    RETURNING id`,
};

/** Of several who do it at the same time, one. */
export const USE_TASK_REQUEST: Statement = {
  name: '',
  // guard(second person: an approval is used once): AND state = 'approved' ⇒
  text: `UPDATE task_request SET state = 'done' WHERE id = $1 AND state = 'approved' AND expires_at > now() RETURNING id`,
};

/** It was refused before anything happened. */
export const RETURN_TASK_REQUEST: Statement = {
  name: '',
  text: `UPDATE task_request SET state = 'approved' WHERE id = $1 AND state = 'done' RETURNING id`,
};
