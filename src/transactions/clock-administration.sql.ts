import type { Statement } from '../store/database.js';

export const SHOW_CLOCK: Statement = {
  name: '',
  text: `
    SELECT advanced_ms AS "advancedMs",
      coalesce((SELECT array_agg(DISTINCT acquirer) FROM merchant WHERE acquirer <> ALL ($1)), '{}') AS "realAcquirers",
      (SELECT count(*) FROM process p WHERE p.seen_at > now() - interval '5 seconds'
        AND p.advanced_ms <> gateway.advanced_ms) AS behind
    FROM gateway`,
};

export const ADVANCE_CLOCK: Statement = {
  name: '',
  text: `UPDATE gateway SET advanced_ms = advanced_ms + $1`,
};
