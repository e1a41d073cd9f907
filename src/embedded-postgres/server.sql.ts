export const DATABASE = `tollgate`;

export const FIND_DATABASE = `SELECT FROM pg_database WHERE datname = '${DATABASE}'`;

/** Owns the database and its tables, and changes the schema. */
export const OWNER = `tollgate_owner`;

export const MAKE_DATABASE = `CREATE DATABASE ${DATABASE} OWNER ${OWNER}`;

/** Whether any other session is connected. */
export const OTHER_SESSIONS = `
  SELECT count(*) > 0 AS others FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;

/** Keeps the WAL until the session ends for whatever reason: a backup that is killed leaves nothing behind. */
export const KEEP_LOG = `
  SELECT pg_create_physical_replication_slot('tollgate_backup_' || pg_backend_pid(), true, true)`;

/** With an immediate checkpoint: a spread one would take a quarter of an hour. */
export const BEGIN_BACKUP = `
  SELECT lsn::text, pg_walfile_name(lsn) AS segment, clock_timestamp() AS at,
    (SELECT system_identifier::text FROM pg_control_system()) AS "systemIdentifier"
  FROM pg_backup_start('tollgate backup', true) AS lsn`;

/** After this, the last WAL segment that is needed is complete. */
export const END_BACKUP = `
  SELECT lsn::text, pg_walfile_name(lsn) AS segment, labelfile AS label, clock_timestamp() AS at
  FROM pg_backup_stop(false)`;

/** Needed for recovery only. */
export const FORGET_RECOVERY = `ALTER SYSTEM RESET restore_command`;
