export const DATABASE = `tollgate`;

export const FIND_DATABASE = `SELECT FROM pg_database WHERE datname = '${DATABASE}'`;

/** Owns the database and its tables, and changes the schema. */
export const OWNER = `tollgate_owner`;

export const MAKE_DATABASE = `CREATE DATABASE ${DATABASE} OWNER ${OWNER}`;

/** Whether anybody but the asking session is connected. */
export const OTHER_SESSIONS = `
  SELECT count(*) > 0 AS others FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;

/** Keeps the log from now on until the session ends, however it ends: nothing is left behind by a backup that is killed. */
export const KEEP_LOG = `
  SELECT pg_create_physical_replication_slot('tollgate_backup_' || pg_backend_pid(), true, true)`;

/** With a checkpoint at once: spread over the usual time it would take a quarter of an hour. */
export const BEGIN_BACKUP = `
  SELECT lsn::text, pg_walfile_name(lsn) AS segment, clock_timestamp() AS at,
    (SELECT system_identifier::text FROM pg_control_system()) AS "systemIdentifier"
  FROM pg_backup_start('tollgate backup', true) AS lsn`;

/** The last segment of the log that is needed is whole by then. */
export const END_BACKUP = `
  SELECT lsn::text, pg_walfile_name(lsn) AS segment, labelfile AS label, clock_timestamp() AS at
  FROM pg_backup_stop(false)`;

/** What only recovery needs. */
export const FORGET_RECOVERY = `ALTER SYSTEM RESET restore_command`;
