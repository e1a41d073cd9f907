import type { Statement } from '../../postgres/database.js';

/** No row where the terminal has used up its STANs of a day. */
export const LEASE_STANS: Statement = {
  name: 'lease-stans',
  text: `SELECT first, count FROM lease_stans($1, $2)`,
};
