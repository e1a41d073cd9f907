import type { Statement } from '../postgres/database.js';

/**
 * Moves STANs forward. They wrap around, and none may repeat within a day. So the counter moves by four times what the terminal used
 * before the backup, but never so far that it reaches its old position. The numbers between count as leased now. Terminals without a
 * counter may have got one after the backup. $1: how often that backup was restored. $2: the seconds since it was taken.
 */
export const MOVE_STANS: Statement = {
  name: '',
  // guard(counters: no STAN that may have been used is used for a day): FROM moved ⇒ FROM moved WHERE false
  // guard(counters: STANs move past what was leased): + ahead ⇒ + 0 * ahead
  text: `
    WITH known AS (
      SELECT terminal, leased FROM stan_counter
      UNION
      SELECT DISTINCT t.terminal, 0 FROM merchant, unnest(terminals) AS t(terminal)
      WHERE NOT EXISTS (SELECT FROM stan_counter c WHERE c.terminal = t.terminal)
    ), moved AS (
      SELECT terminal, leased, least(900000, $1::integer * 100000
        + ceil($2::float8 * 4 * (leased - coalesce((SELECT min(l.first) FROM stan_lease l WHERE l.terminal = known.terminal), leased))
          / 108000))::bigint AS ahead
      FROM known
    ), skipped AS (
      INSERT INTO stan_lease (terminal, first) SELECT terminal, leased FROM moved
      ON CONFLICT (terminal, first) DO UPDATE SET leased_at = now()
    )
    INSERT INTO stan_counter AS c (terminal, leased, lineage)
    SELECT terminal, leased + ahead, database_lineage() FROM moved
    ON CONFLICT (terminal) DO UPDATE SET leased = excluded.leased, lineage = excluded.lineage
    RETURNING terminal`,
};

export const REVERSALS_UNDER_WAY: Statement = {
  name: '',
  text: `SELECT count(*)::integer AS reversals FROM acquirer_reversal WHERE acknowledged_at IS NULL`,
};
