import { newestSeal } from '../journal/seals.js';
import type { Statement } from '../postgres/database.js';

const ACQUIRER = `name, kind, mode, host, port, tls, trusted, dialect, connections, institution,
  deadline_ms AS "deadlineMs", key_encryption_key AS "keyId", mac_keys AS wrapped, plaintext_known AS "plaintextKnown",
  ${newestSeal("'acquirer/' || acquirer.name")} AS newest`;

export const ACQUIRERS: Statement = {
  name: 'acquirers',
  text: `SELECT ${ACQUIRER} FROM acquirer ORDER BY name`,
};

export const ACQUIRER_BY_NAME: Statement = {
  name: '',
  text: `SELECT ${ACQUIRER} FROM acquirer WHERE name = $1`,
};
