import type { Statement } from '../store/database.js';

export const SERVER_SETTINGS: Statement = {
  name: '',
  text: `
    SELECT current_setting('server_version_num')::integer AS version, current_setting('fsync') AS fsync,
      current_setting('synchronous_commit') AS "synchronousCommit"`,
};
