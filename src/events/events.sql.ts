import type { Statement } from '../postgres/database.js';

/** Followed by the rows. The day, the transaction ID and the number come by themselves. */
export const INTO_EVENTS = `
    INSERT INTO event (organisation_id, merchant_id, subject, version, type, created_at)`;

export const FORGET_EVENTS: Statement = {
  name: 'forget-events',
  text: `SELECT forget_events($1) AS emptied`,
};
