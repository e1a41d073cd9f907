import type { Statement } from '../../postgres/database.js';

/** Nothing can be changed. */
export const READ_ONLY = `SET TRANSACTION READ ONLY`;

/** The state of any PostgreSQL, whatever its schema. */
export const STATE_OF_SERVER: Statement = {
  name: '',
  text: `
    SELECT current_setting('server_version') AS version, current_setting('server_version_num')::integer AS number,
      current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
      current_setting('synchronous_commit') AS "synchronousCommit",
      current_setting('synchronous_standby_names') AS "synchronousStandbys",
      (SELECT count(*)::integer FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup') AS standbys,
      (SELECT count(*)::integer FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS "synchronous",
      (SELECT max(extract(epoch FROM replay_lag))::float8 FROM pg_stat_replication) AS "lagSeconds",
      (SELECT count(*)::integer FROM pg_replication_slots WHERE NOT active) AS "idleSlots",
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs",
      current_setting('max_connections')::integer AS "maxConnections",
      (SELECT count(*)::integer FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
      (SELECT max(extract(epoch FROM clock_timestamp() - xact_start))::float8 FROM pg_stat_activity
        WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()) AS "longestSeconds",
      (SELECT max(age(datfrozenxid)) FROM pg_database) AS "transactionAge",
      (SELECT coalesce(sum(checksum_failures), 0)::integer FROM pg_stat_database) AS "checksumFailures"`,
};

/** The login that asks. */
export const RIGHTS_OF_LOGIN: Statement = {
  name: '',
  text: `
    SELECT rolname AS login, rolsuper AS superuser,
      EXISTS (SELECT FROM pg_roles r WHERE r.rolname = 'tollgate_application' AND pg_has_role(session_user, r.oid, 'MEMBER'))
        AS "mayServe"
    FROM pg_roles WHERE rolname = session_user`,
};

/** What the gateways have written, if the schema is current. */
export const STATE_OF_GATEWAY: Statement = {
  name: '',
  text: `
    SELECT advanced_ms::float8 AS "advancedMs", nullif(closed_day, '-infinity')::text AS "closedDay",
      lost_from AS "lostFrom", lost_until AS "lostUntil",
      (SELECT count(*)::integer FROM process WHERE seen_at > now() - interval '20 seconds') AS processes,
      (SELECT max(extract(epoch FROM seen_at - now()))::float8 FROM process) AS "seenAheadSeconds",
      EXISTS (SELECT FROM merchant WHERE mode = 'live') AS "isLive",
      (SELECT count(*)::integer FROM transaction WHERE resolve_at IS NOT NULL) AS "inDoubt",
      (SELECT extract(epoch FROM gateway_now() - min(created_at))::float8 FROM transaction WHERE resolve_at IS NOT NULL)
        AS "inDoubtSeconds",
      (SELECT count(*)::integer FROM acquirer_reversal WHERE acknowledged_at IS NULL) AS reversals,
      (SELECT extract(epoch FROM now() - min(begun_at))::float8 FROM acquirer_reversal WHERE acknowledged_at IS NULL)
        AS "reversalSeconds",
      (SELECT extract(epoch FROM gateway_now() - min(created_at))::float8 FROM event) AS "feedSeconds",
      (SELECT min(id)::text FROM event) AS "oldestEvent",
      (SELECT count(*)::integer FROM webhook_endpoint WHERE disabled_because IN ('failing', 'gone')) AS "disabledEndpoints",
      (SELECT extract(epoch FROM now() - min(failing_since))::float8 FROM webhook_delivery) AS "webhookSeconds",
      (SELECT extract(epoch FROM gateway_now() - min(due_at))::float8 FROM schedule WHERE due_at <= gateway_now()) AS "scheduleSeconds",
      (SELECT extract(epoch FROM gateway_now() - min(next_at) FILTER (WHERE next_at <> '-infinity'))::float8 FROM card_review)
        AS "cardSeconds",
      (SELECT extract(epoch FROM now() - min(made_at))::float8 FROM directdebit_file WHERE written_at IS NULL)
        AS "unwrittenSeconds",
      (SELECT count(*)::integer FROM journal WHERE action = 'seal.broken' AND at > now() - interval '7 days')
        AS "brokenSeals",
      (SELECT max(greatest(next_audit, next_customer_id, next_token_id, next_checkout))::float8 FROM organisation) AS "highestId",
      (SELECT extract(epoch FROM now() - min(newest))::float8 FROM (
        SELECT max(created_at) AS newest FROM data_key GROUP BY organisation_id, merchant_id) keys) AS "keySeconds",
      (SELECT extract(epoch FROM now() - at)::float8 FROM journal WHERE action = 'gateway.backed_up' ORDER BY id DESC LIMIT 1)
        AS "backupSeconds",
      (SELECT extract(epoch FROM now() - coalesce(max(at) FILTER (WHERE action = 'operator.reviewed'),
          min(at) FILTER (WHERE action = 'operator.added')))::float8
        FROM journal WHERE action IN ('operator.added', 'user.added', 'operator.reviewed')) AS "unreviewedSeconds",
      (SELECT count(*)::integer FROM pg_trigger WHERE tgrelid = 'journal'::regclass AND tgenabled = 'O'
        AND tgname IN ('journal_append_only', 'journal_not_emptied')) AS "journalGuards"
    FROM gateway`,
};

/** Whether an event still waits for its place in the feed. */
export const EVENT_WAITS: Statement = {
  name: '',
  text: `SELECT EXISTS (SELECT FROM event WHERE id = $1::bigint) AS waits`,
};

/** Whether there was any trade up to a day. */
export const TRADED_UP_TO: Statement = {
  name: '',
  text: `SELECT EXISTS (SELECT FROM settlement_entry WHERE settlement_date <= $1::date) AS traded`,
};
