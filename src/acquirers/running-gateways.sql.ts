import type { Statement } from '../postgres/database.js';

/** Gateways that are not presumed dead, with their last heartbeats. */
export const RUNNING_GATEWAYS: Statement = {
  name: '',
  text: `
    SELECT id AS process, machine, pid, seen_at AS "seenAt", links FROM process
    WHERE seen_at > now() - interval '15 seconds' ORDER BY id`,
};
