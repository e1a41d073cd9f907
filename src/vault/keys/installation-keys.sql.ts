import type { Statement } from '../../postgres/database.js';

export const INSTALLATION_KEY: Statement = {
  name: 'installation-key',
  text: `SELECT key_encryption_key AS "keyId", wrapped FROM installation_key WHERE name = $1`,
};

export const ADD_INSTALLATION_KEY: Statement = {
  name: '',
  text: `SELECT coalesce(add_installation_key($1, $2, $3), false) AS added`,
};

export const ALL_INSTALLATION_KEYS: Statement = {
  name: '',
  text: `SELECT name, key_encryption_key AS "keyId", wrapped FROM installation_key`,
};

export const REWRAP_INSTALLATION_KEY: Statement = {
  name: '',
  text: `UPDATE installation_key SET key_encryption_key = $2, wrapped = $3 WHERE name = $1 AND wrapped = $4`,
};
