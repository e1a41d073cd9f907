import type { Statement } from '../postgres/database.js';

export const ADD_ORGANISATION: Statement = {
  name: '',
  text: `INSERT INTO organisation (name) VALUES ($1) RETURNING id, name`,
};

export const LIST_ORGANISATIONS: Statement = {
  name: '',
  text: `SELECT id, name, created_at AS "createdAt" FROM organisation ORDER BY id`,
};

const MERCHANT = `id, organisation_id AS organisation, name, mode, vault,
  preauthorisation_days AS "preauthorisationDays", acquirer`;

export const ADD_MERCHANT: Statement = {
  name: '',
  text: `
    INSERT INTO merchant (organisation_id, name, vault, preauthorisation_days, mode, acquirer)
    SELECT id, $2, $3, $4, $5, CASE WHEN $5 = 'test' THEN 'simulator' END FROM organisation WHERE id = $1
    RETURNING ${MERCHANT}`,
};

export const MODE_OF_MERCHANT: Statement = {
  name: '',
  text: `SELECT mode FROM merchant WHERE id = $1`,
};

export const LIST_MERCHANTS: Statement = {
  name: '',
  text: `SELECT ${MERCHANT} FROM merchant WHERE $1::integer IS NULL OR organisation_id = $1 ORDER BY id`,
};

export const SET_MERCHANT: Statement = {
  name: '',
  text: `
    UPDATE merchant SET name = coalesce($2, name), vault = coalesce($3, vault),
      preauthorisation_days = coalesce($4, preauthorisation_days)
    WHERE id = $1 RETURNING ${MERCHANT}`,
};

export const ADD_USER: Statement = {
  name: '',
  text: `
    INSERT INTO gateway_user (username, organisation_id, merchant_id, secret_digest)
    SELECT $1, organisation_id, id, $3 FROM merchant WHERE id = $2
    RETURNING organisation_id AS organisation`,
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

export const LIST_USERS: Statement = {
  name: '',
  text: `
    SELECT u.username, u.organisation_id AS organisation, u.merchant_id AS merchant,
      coalesce((SELECT array_agg(g.merchant_id ORDER BY g.merchant_id) FROM user_grant g WHERE g.username = u.username), '{}')
        AS grants,
      u.revoked_at IS NOT NULL AS revoked
    FROM gateway_user u WHERE $1::text IS NULL OR u.username = $1 ORDER BY u.username`,
};

export const ROTATE_SECRET: Statement = {
  name: '',
  text: `UPDATE gateway_user SET secret_digest = $2 WHERE username = $1 AND revoked_at IS NULL`,
};

export const REVOKE_USER: Statement = {
  name: '',
  text: `UPDATE gateway_user SET revoked_at = now() WHERE username = $1 AND revoked_at IS NULL`,
};
