import type { Statement } from '../../postgres/database.js';
import { SEALED_USER } from './callers.sql.js';

export const ADD_USER: Statement = {
  name: '',
  text: `
    INSERT INTO gateway_user (username, organisation_id, merchant_id)
    SELECT $1, organisation_id, id FROM merchant WHERE id = $2
    RETURNING organisation_id AS organisation, merchant_id AS merchant`,
};

/** Its grants are not in it: they are changed before the user is sealed. */
export const STORE_USER: Statement = {
  name: '',
  text: `
    UPDATE gateway_user SET permissions = $2, from_addresses = $3, expires_at = to_timestamp($4::float8 / 1000),
      client_certificates = $5, secret_tag = $6, previous_secret_tag = $7, previous_until = to_timestamp($8::float8 / 1000),
      version = $9, seal = $10, revoked_at = CASE WHEN $11 THEN coalesce(revoked_at, now()) END,
      secret_from = $12, previous_secret_from = $13
    WHERE username = $1`,
};

export const GRANT_MERCHANT: Statement = {
  name: '',
  text: `
    INSERT INTO user_grant (organisation_id, username, merchant_id)
    SELECT u.organisation_id, u.username, m.id
    FROM gateway_user u JOIN merchant m ON m.organisation_id = u.organisation_id
    WHERE u.username = $1 AND m.id = $2
    ON CONFLICT (username, merchant_id) DO UPDATE SET merchant_id = excluded.merchant_id
    RETURNING merchant_id`,
};

export const UNGRANT_MERCHANT: Statement = {
  name: '',
  text: `DELETE FROM user_grant WHERE username = $1 AND merchant_id = $2`,
};

export const LIST_USERS: Statement = {
  name: '',
  text: `
    SELECT ${SEALED_USER}, u.used_on::text AS "usedOn" FROM gateway_user u
    WHERE $1::integer IS NULL OR u.organisation_id = $1 ORDER BY u.username`,
};

/** Locked, so that of two changes at once the second sees what the first has made. */
export const FIND_USER_TO_CHANGE: Statement = {
  name: '',
  text: `SELECT ${SEALED_USER}, u.used_on::text AS "usedOn" FROM gateway_user u WHERE u.username = $1 FOR UPDATE OF u`,
};

export const FIND_USER_BY_NAME: Statement = {
  name: '',
  text: `SELECT ${SEALED_USER}, u.used_on::text AS "usedOn" FROM gateway_user u WHERE u.username = $1`,
};
