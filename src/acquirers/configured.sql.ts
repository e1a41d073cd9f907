import type { Statement } from '../postgres/database.js';

const ACQUIRER = `name, kind, mode, version, host, port, tls, trusted, dialect, connections, institution,
  deadline_ms AS "deadlineMs", key_encryption_key AS "keyId", mac_keys AS wrapped`;

export const ACQUIRERS: Statement = {
  name: 'acquirers',
  text: `SELECT ${ACQUIRER} FROM acquirer ORDER BY name`,
};

export const ACQUIRER_VERSIONS: Statement = {
  name: 'acquirer-versions',
  text: `SELECT name, version FROM acquirer`,
};

export const ACQUIRER_BY_NAME: Statement = {
  name: '',
  text: `SELECT ${ACQUIRER} FROM acquirer WHERE name = $1`,
};
