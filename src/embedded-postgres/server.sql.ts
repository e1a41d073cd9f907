export const DATABASE = `tollgate`;

export const FIND_DATABASE = `SELECT FROM pg_database WHERE datname = '${DATABASE}'`;

export const MAKE_DATABASE = `CREATE DATABASE ${DATABASE}`;

/** Whether anybody but the asking session is connected. */
export const OTHER_SESSIONS = `
  SELECT count(*) > 0 AS others FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
