import type { Statement } from '../../postgres/database.js';

export const SERVER_SETTINGS: Statement = {
  name: '',
  text: `
    SELECT current_setting('server_version_num')::integer AS version, current_setting('fsync') AS fsync,
      (SELECT count(*)::integer FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup') AS standbys,
      current_setting('synchronous_standby_names') AS "synchronousStandbys"`,
};

/** Created by a migration, if the database's owner may create roles. */
export const APPLICATION_ROLE: Statement = {
  name: '',
  text: `
    SELECT rolname AS role FROM pg_roles
    WHERE rolname = 'tollgate_application' AND pg_has_role(current_user, oid, 'MEMBER')`,
};
