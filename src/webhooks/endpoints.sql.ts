import { newestSeal } from '../journal/seals.js';
import type { Statement } from '../postgres/database.js';

export const NEWEST_OF_ENDPOINT = `${newestSeal("'webhook/' || e.id")}`;

/** Columns of an endpoint `e` and its merchant `m`. */
const ENDPOINT = `e.id, e.organisation_id AS "organisationId", e.merchant_id AS "merchantId", m.mode, e.url, e.types,
  e.created_at AS "createdAt", e.key_version AS "keyVersion", e.sealed, e.secret_version AS "secretVersion", e.overlap_until > now() AS overlapping,
  e.disabled_at AS "disabledAt", e.disabled_because AS "disabledBecause",
  e.failures, e.failing_since AS "failingSince", e.delivered_at AS "deliveredAt", e.position,
  ${NEWEST_OF_ENDPOINT} AS newest`;

const OF_MERCHANT = `JOIN merchant m ON m.organisation_id = e.organisation_id AND m.id = e.merchant_id`;

/** Locks the merchant, so that endpoints added at once are counted one after the other. */
export const MERCHANT_OF_WEBHOOK: Statement = {
  name: '',
  // guard(webhooks: two that are added at once are counted): FOR NO KEY UPDATE ⇒
  text: `
    SELECT organisation_id AS "organisationId", id AS "merchantId" FROM merchant WHERE id = $1 FOR NO KEY UPDATE`,
};

/** A statement of its own: it sees endpoints that the previous holder of the lock added. */
export const COUNT_ENDPOINTS: Statement = {
  name: '',
  text: `
    SELECT count(*)::integer AS endpoints FROM webhook_endpoint WHERE organisation_id = $1 AND merchant_id = $2`,
};

export const NEXT_ENDPOINT_ID: Statement = {
  name: '',
  text: `SELECT nextval('webhook_endpoint_id')::integer AS id`,
};

export const ADD_ENDPOINT: Statement = {
  name: '',
  text: `
    INSERT INTO webhook_endpoint (organisation_id, merchant_id, id, url, types, key_version, sealed, position)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

export const ENDPOINT_BY_ID: Statement = {
  name: '',
  text: `SELECT ${ENDPOINT} FROM webhook_endpoint e ${OF_MERCHANT} WHERE e.id = $1`,
};

export const LOCK_ENDPOINT: Statement = {
  name: '',
  text: `SELECT ${ENDPOINT} FROM webhook_endpoint e ${OF_MERCHANT} WHERE e.id = $1 FOR UPDATE OF e`,
};

/** Of a merchant ($1), or all. */
export const READ_ENDPOINTS: Statement = {
  name: '',
  text: `
    SELECT ${ENDPOINT} FROM webhook_endpoint e ${OF_MERCHANT}
    WHERE $1::integer IS NULL OR e.merchant_id = $1 ORDER BY e.id`,
};

export const LIST_ENDPOINTS: Statement = {
  name: '',
  text: `
    SELECT ${ENDPOINT}, (SELECT count(*)::integer FROM webhook_delivery d
      WHERE d.organisation_id = e.organisation_id AND d.endpoint_id = e.id) AS waiting
    FROM webhook_endpoint e ${OF_MERCHANT}
    WHERE ($1::integer IS NULL OR e.merchant_id = $1) AND ($2::integer IS NULL OR e.id = $2) ORDER BY e.id`,
};

export const SET_SECRETS: Statement = {
  name: '',
  text: `
    UPDATE webhook_endpoint SET key_version = $3, sealed = $4, overlap_until = now() + $5 * interval '1 millisecond',
      secret_version = $6
    WHERE organisation_id = $1 AND id = $2`,
};

/** An endpoint that is already disabled keeps its reason. */
export const DISABLE_ENDPOINT: Statement = {
  name: 'disable-webhook-endpoint',
  text: `
    UPDATE webhook_endpoint SET disabled_at = now(), disabled_because = $3
    WHERE organisation_id = $1 AND id = $2 AND disabled_at IS NULL`,
};

export const ENABLE_ENDPOINT: Statement = {
  name: '',
  text: `
    UPDATE webhook_endpoint SET disabled_at = NULL, disabled_because = NULL, failures = 0, failing_since = NULL,
      wake_at = now(), paused_until = NULL, probe_at = NULL
    WHERE organisation_id = $1 AND id = $2`,
};

/** Waiting deliveries are due at once, with all their attempts ahead. */
export const RETRY_DELIVERIES: Statement = {
  name: '',
  text: `
    UPDATE webhook_delivery SET attempts = 0, failing_since = now(), next_at = now()
    WHERE organisation_id = $1 AND endpoint_id = $2 AND next_at IS NOT NULL`,
};

export const REMOVE_ENDPOINT: Statement = {
  name: '',
  text: `DELETE FROM webhook_endpoint WHERE organisation_id = $1 AND id = $2`,
};

/** Waiting deliveries after this position are read from the feed again, in order. */
export const REMOVE_DELIVERIES_AFTER: Statement = {
  name: '',
  text: `DELETE FROM webhook_delivery WHERE organisation_id = $1 AND endpoint_id = $2 AND position > $3`,
};

/**
 * Of the waiting deliveries of one subject, only the first has a retry time: a later one queues behind this event, and this one
 * behind an earlier one. If this event waits already, it gets all its attempts again. An event that the endpoint has not
 * reached is sent anyway.
 */
export const RESEND: Statement = {
  name: '',
  text: `
    WITH later AS (
      UPDATE webhook_delivery SET next_at = NULL
      WHERE organisation_id = $1 AND endpoint_id = $2 AND subject = $3::text AND version > $4)
    INSERT INTO webhook_delivery (organisation_id, endpoint_id, subject, version, position, next_at)
    SELECT $1, $2, $3::text, $4, $5, CASE WHEN NOT EXISTS (SELECT FROM webhook_delivery earlier WHERE earlier.organisation_id = $1
      AND earlier.endpoint_id = $2 AND earlier.subject = $3::text AND earlier.version < $4) THEN now() END
    FROM webhook_endpoint e WHERE e.organisation_id = $1 AND e.id = $2 AND e.position >= $5
    ON CONFLICT (organisation_id, endpoint_id, subject, version) DO UPDATE SET attempts = 0, next_at = excluded.next_at`,
};

/** A process that is serving the endpoint may no longer record its position. */
export const MOVE_BACK: Statement = {
  name: '',
  text: `
    UPDATE webhook_endpoint SET position = least(position, $3), lease = lease + 1, leased_until = NULL, wake_at = now()
    WHERE organisation_id = $1 AND id = $2`,
};
