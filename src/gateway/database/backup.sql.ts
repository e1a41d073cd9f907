import type { Statement } from '../../postgres/database.js';

export const BACKED_UP_STATE: Statement = {
  name: '',
  text: `
    SELECT (SELECT name FROM schema_migration ORDER BY version DESC LIMIT 1) AS schema, key_proof_key AS "keyEncryptionKey"
    FROM gateway`,
};
