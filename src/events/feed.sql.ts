import type { Statement } from '../postgres/database.js';

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
