import type { Statement } from '../../postgres/database.js';

/** No row if the terminal has used up its STANs for the day. */
export const LEASE_STANS: Statement = {
  name: 'lease-stans',
  text: `SELECT first, count FROM lease_stans($1, $2)`,
};
