import type { Statement } from '../store/database.js';

export const SERVER_SETTINGS: Statement = {
  name: '',
  text: `
    SELECT current_setting('server_version_num')::integer AS version, current_setting('fsync') AS fsync,
      current_setting('synchronous_commit') AS "synchronousCommit"`,
};

/** Sessions of other gateways and commands. One's own have ended, or are this one. */
export const OTHER_SESSIONS: Statement = {
  name: '',
  text: `
    SELECT count(*) AS others FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
};
