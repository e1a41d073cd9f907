import type { Statement } from '../postgres/database.js';

/** Rows follow. The day and the number are filled in by default. */
export const INTO_ATTEMPTS = `
    INSERT INTO webhook_attempt (organisation_id, endpoint_id, at, version, attempt, http_status, duration_ms, event_id, type,
      result, response)`;

export const LOG_ATTEMPT: Statement = {
  name: '',
  text: `${INTO_ATTEMPTS}
    VALUES ($1, $2, to_timestamp($3::float8 / 1000), $4, $5, $6, $7, $8::text, $9::text, $10::text, $11::text)`,
};

export const READ_ATTEMPTS: Statement = {
  name: '',
  text: `
    SELECT at, event_id AS event, type, version, attempt, result, http_status AS "httpStatus", duration_ms AS "durationMs", response
    FROM webhook_attempt WHERE organisation_id = $1 AND endpoint_id = $2
    ORDER BY id DESC LIMIT $3`,
};

export const FORGET_ATTEMPTS: Statement = {
  name: 'forget-webhook-attempts',
  text: `SELECT forget_webhook_attempts($1) AS emptied`,
};
