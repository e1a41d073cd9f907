import type { Statement } from '../postgres/database.js';
import { DUE } from '../vault/keys/renewal.sql.js';

export const KEY_STATUS: Statement = {
  name: '',
  text: `
    WITH sealed AS (
      SELECT organisation_id, merchant_id, key_version AS version, count(*) AS tokens, 0 AS transactions, 0 AS webhooks
      FROM token WHERE deleted_at IS NULL GROUP BY 1, 2, 3
      UNION ALL
      SELECT organisation_id, merchant_id, payment_details_key_version, 0, count(*), 0
      FROM transaction WHERE payment_details_key_version IS NOT NULL GROUP BY 1, 2, 3
      UNION ALL
      SELECT organisation_id, merchant_id, key_version, 0, 0, count(*) FROM webhook_endpoint GROUP BY 1, 2, 3)
    SELECT k.merchant_id AS merchant, k.version,
      k.version = max(k.version) OVER (PARTITION BY k.organisation_id, k.merchant_id) AS seals,
      coalesce(sum(s.tokens), 0)::bigint AS tokens, coalesce(sum(s.transactions), 0)::bigint AS transactions,
      coalesce(sum(s.webhooks), 0)::bigint AS webhooks,
      coalesce((SELECT u.seals FROM data_key_use u WHERE u.organisation_id = k.organisation_id
        AND u.merchant_id = k.merchant_id AND u.version = k.version), 0)::bigint AS sealed,
      CASE WHEN k.version = max(k.version) OVER (PARTITION BY k.organisation_id, k.merchant_id)
        THEN coalesce(${DUE}, 'no') END AS due,
      k.key_encryption_key AS "keyEncryptionKey", k.created_at AS "createdAt"
    FROM data_key k LEFT JOIN sealed s
      ON s.organisation_id = k.organisation_id AND s.merchant_id = k.merchant_id AND s.version = k.version
    GROUP BY k.organisation_id, k.merchant_id, k.version, k.key_encryption_key, k.created_at
    ORDER BY k.merchant_id, k.version`,
};
