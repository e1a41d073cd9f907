/** Checks a new session: on the primary, without a pooler, durable, and with the settings that it was opened with. */
export const CHECK_SESSION = `
  SELECT pg_is_in_recovery() AS standby, pg_backend_pid() AS "processId", current_user::text AS role,
    current_setting('synchronous_commit') AS "synchronousCommit", current_setting('plan_cache_mode') AS "planCacheMode",
    CASE WHEN pg_is_in_recovery() THEN 0
      ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END AS timeline,
    EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS "isCitus"`;

/** Citus finds the server with the rows by a statement's values: a plan made without them fails. */
export const PLAN_BY_VALUES = `SET plan_cache_mode = force_custom_plan`;
