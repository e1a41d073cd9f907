import type { Statement } from '../postgres/database.js';

/** The rows follow. Transaction ID and number are defaults. */
export const INTO_EVENTS = `
    INSERT INTO event (organisation_id, merchant_id, subject, version, type, created_at, user_id)`;

/** The same for several events of one type and moment in one row, with a list of each column in which they differ. */
export const INTO_EVENTS_TOGETHER = `
    INSERT INTO event (organisation_id, merchant_id, subject, version, organisations, merchants, subjects, versions, users, type,
      created_at)`;

/** With the data that a lookup would have returned, for subjects whose rows do not keep it. */
export const INTO_EVENTS_WITH_DATA = `
    INSERT INTO event (organisation_id, merchant_id, subject, version, type, created_at, data, user_id)`;

/** Assigns positions to all committed events. */
export const SEQUENCE_EVENTS: Statement = {
  name: 'sequence-events',
  text: `
    SELECT newest, moved, (extract(epoch FROM gateway_now() - oldest) * 1000)::float8 AS "lateMs"
    FROM sequence_events()`,
};

export const FEED_ENDS: Statement = {
  name: 'feed-ends',
  text: `SELECT position AS newest, forgotten FROM event_sequencer`,
};

export const CURSOR_KEY: Statement = {
  name: 'cursor-key',
  text: `SELECT cursor_key AS key FROM event_sequencer`,
};

/** Of the cells in which an organisation ($1) has been before: their cursors go on to work. */
export const FORMER_CURSOR_KEYS: Statement = {
  name: 'former-cursor-keys',
  text: `SELECT cursor_key AS key FROM former_installation WHERE organisation_id = $1 ORDER BY last_audit DESC`,
};

const COLUMNS = `
    SELECT position, type, round(extract(epoch FROM created_at) * 1000)::bigint AS "createdMs",
      organisation_id AS "organisationId", merchant_id AS "merchantId", subject, version, data FROM event_feed`;

/** Events of all organisations. The slots are those of the days between the two positions. */
export const EVENTS_BETWEEN: Statement = {
  name: 'events-between',
  text: `${COLUMNS}
    WHERE slot = ANY ($1::smallint[]) AND position > $2::bigint AND position <= $3::bigint
    ORDER BY position LIMIT $4`,
};

export const EVENTS_OF_MERCHANT_BETWEEN: Statement = {
  name: 'events-of-merchant-between',
  // guard(events: those of the vault are for users with the permission vault): split_part(type, '.', 1) = ANY ($7::text[]) ⇒ $7::text[] IS NOT NULL
  // guard(events: a merchant reads its own): organisation_id = $5 AND merchant_id = $6 ⇒ ($5::integer, $6::integer) IS NOT NULL
  text: `${COLUMNS}
    WHERE slot = ANY ($1::smallint[]) AND position > $2::bigint AND position <= $3::bigint
      AND organisation_id = $5 AND merchant_id = $6 AND split_part(type, '.', 1) = ANY ($7::text[])
    ORDER BY position LIMIT $4`,
};

/** The last event of a merchant between two positions, of any kind. */
export const LAST_OF_MERCHANT_BETWEEN: Statement = {
  name: 'last-of-merchant-between',
  text: `
    SELECT position FROM event_feed
    WHERE slot = ANY ($1::smallint[]) AND position > $2::bigint AND position <= $3::bigint
      AND organisation_id = $4 AND merchant_id = $5
    ORDER BY position DESC LIMIT 1`,
};

/** The position of an event, given its merchant, subject, version and possible type prefixes. */
export const POSITION_OF_EVENT: Statement = {
  name: 'position-of-event',
  text: `
    SELECT position FROM event_feed
    WHERE organisation_id = $1 AND merchant_id = $2 AND position > (SELECT forgotten FROM event_sequencer)
      AND subject = $3 AND version = $4 AND split_part(type, '.', 1) = ANY ($5::text[])`,
};

/** The merchants with events between two positions. */
export const MERCHANTS_BETWEEN: Statement = {
  name: 'merchants-between',
  text: `
    SELECT DISTINCT merchant_id AS "merchantId" FROM event_feed
    WHERE slot = ANY ($1::smallint[]) AND position > $2::bigint AND position <= $3::bigint`,
};

export const FORGET_EVENTS: Statement = {
  name: 'forget-events',
  text: `SELECT forget_events($1) AS emptied`,
};

/** With Citus: from now on, events wait for the servers that have their transactions. */
export const WAIT_FOR_SERVERS: Statement = {
  name: '',
  text: `UPDATE event_sequencer SET spread = true WHERE NOT spread`,
};

export const EVENT_STATUS: Statement = {
  name: '',
  text: `
    SELECT (SELECT coalesce(sum(coalesce(cardinality(subjects), 1)), 0) FROM event) AS waiting,
      (SELECT round(extract(epoch FROM gateway_now() - min(created_at)))::integer FROM event) AS "oldestWaitingSeconds",
      (SELECT count(*) FROM event_feed WHERE position > forgotten) AS kept,
      (SELECT min(created_at) FROM event_feed WHERE position > forgotten) AS since,
      (SELECT round(extract(epoch FROM max(clock_timestamp() - xact_start)))::integer FROM pg_stat_activity
        WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid())
        AS "longestWritingSeconds"
    FROM event_sequencer`,
};
