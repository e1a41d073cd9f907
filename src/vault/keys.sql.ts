import type { Statement } from '../postgres/database.js';

export const KEY_PROOF: Statement = {
  name: 'key-proof',
  text: `SELECT key_proof_key AS "keyId", key_proof AS wrapped FROM gateway WHERE key_proof IS NOT NULL`,
};

export const SET_KEY_PROOF: Statement = {
  name: '',
  text: `UPDATE gateway SET key_proof_key = $1, key_proof = $2 WHERE key_proof IS NULL OR $3`,
};

export const NEWEST_DATA_KEY: Statement = {
  name: 'newest-data-key',
  text: `
    SELECT version, key_encryption_key AS "keyId", wrapped FROM data_key
    WHERE organisation_id = $1 AND merchant_id = $2 ORDER BY version DESC LIMIT 1`,
};

export const DATA_KEY: Statement = {
  name: 'data-key',
  text: `
    SELECT version, key_encryption_key AS "keyId", wrapped FROM data_key
    WHERE organisation_id = $1 AND merchant_id = $2 AND version = $3`,
};

export const ADD_DATA_KEY: Statement = {
  name: 'add-data-key',
  text: `
    INSERT INTO data_key (organisation_id, merchant_id, version, key_encryption_key, wrapped)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
};
