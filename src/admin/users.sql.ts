import type { Statement } from '../postgres/database.js';

export const ADD_USER: Statement = {
  name: '',
  text: `
    INSERT INTO gateway_user (username, organisation_id, merchant_id, secret_digest)
    SELECT $1, organisation_id, id, $3 FROM merchant WHERE id = $2
    RETURNING organisation_id AS organisation, merchant_id AS merchant`,
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
