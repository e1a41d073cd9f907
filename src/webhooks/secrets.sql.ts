import type { Statement } from '../postgres/database.js';
import { RESEALED } from '../vault/keys/rotation.sql.js';

export const OLDER_WEBHOOK_SECRETS_LEFT: Statement = {
  name: '',
  text: `
    SELECT EXISTS (SELECT FROM webhook_endpoint
      WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3) AS left`,
};

export const COUNT_OLDER_WEBHOOK_SECRETS: Statement = {
  name: '',
  text: `
    SELECT count(*) AS rows FROM webhook_endpoint
    WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3`,
};

export const OLDER_WEBHOOK_SECRETS: Statement = {
  name: 'older-webhook-secrets',
  text: `
    SELECT id AS row, key_version AS "keyVersion", sealed, id, url, secret_version AS "secretVersion" FROM webhook_endpoint
    WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3 AND id > $5 AND id <> ALL ($6::integer[])
    ORDER BY id LIMIT $4`,
};

export const RESEAL_WEBHOOK_SECRETS: Statement = {
  name: 'reseal-webhook-secrets',
  text: `
    UPDATE webhook_endpoint e SET key_version = $3, sealed = decode(resealed.sealed, 'base64')
    FROM ${RESEALED.rows}
    WHERE e.organisation_id = $1 AND e.id = resealed.row AND e.merchant_id = $2`,
};
