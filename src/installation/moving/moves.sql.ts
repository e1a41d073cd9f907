import type { Statement } from '../../postgres/database.js';

export const CELL: Statement = {
  name: '',
  text: `
    SELECT g.installation, g.cell, g.distribution IS NOT NULL AS spread, g.lost_from IS NOT NULL AS lost, e.cursor_key AS "cursorKey",
      round(extract(epoch FROM clock_timestamp()) * 1000 + g.advanced_ms)::float8 AS "nowMs"
    FROM gateway g CROSS JOIN event_sequencer e`,
};

export const ORGANISATION: Statement = {
  name: '',
  text: `
    SELECT id, name, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", residence, host_name AS "hostName", moved_to AS "movedTo",
      next_audit AS "nextAudit", next_customer_id AS "nextCustomerId", next_token_id AS "nextTokenId",
      next_checkout AS "nextCheckout"
    FROM organisation WHERE id = $1`,
};

/** Its newest move, or the one that is not ended. */
export const MOVE_OF: Statement = {
  name: '',
  text: `
    SELECT id, cell, arrives, state, copied, begun_by AS "begunBy", ended_at IS NOT NULL AS ended FROM organisation_move
    WHERE organisation_id = $1 ORDER BY ended_at IS NULL DESC, begun_at DESC LIMIT 1`,
};

export const MOVE_BY_ID: Statement = {
  name: '',
  text: `
    SELECT id, cell, arrives, state, copied, begun_by AS "begunBy", ended_at IS NOT NULL AS ended FROM organisation_move
    WHERE id = $1 FOR UPDATE`,
};

export const BEGIN_MOVE: Statement = {
  name: '',
  text: `
    INSERT INTO organisation_move (id, organisation_id, cell, arrives, begun_by) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (id) DO NOTHING`,
};

/** Ended where $3 says so. */
export const SET_MOVE_STATE: Statement = {
  name: '',
  text: `UPDATE organisation_move SET state = $2, ended_at = CASE WHEN $3 THEN coalesce(ended_at, now()) END WHERE id = $1`,
};

export const REMEMBER_COPIED: Statement = {
  name: '',
  text: `UPDATE organisation_move SET copied = $2::jsonb WHERE id = $1 AND state = 'copying'`,
};

export const SET_RESIDENCE: Statement = {
  name: '',
  text: `UPDATE organisation SET residence = $2, moved_to = $3, moved_to_address = $4 WHERE id = $1`,
};

/** What is under way at that moment is waited for, and what comes waits: both for a moment only. */
export const WAIT_BRIEFLY: Statement = { name: '', text: `SELECT set_config('lock_timeout', '500ms', true)` };

export const FENCE: Statement = { name: '', text: `SELECT fence_organisations($1::text[])` };

/** Whether nobody is elsewhere any more, or on the way. */
export const NOBODY_IS_ELSEWHERE: Statement = {
  name: '',
  text: `SELECT NOT EXISTS (SELECT FROM organisation WHERE residence <> 'here') AS nobody`,
};

/** Arrives for the first time, or again. */
export const ARRIVE: Statement = {
  name: '',
  text: `
    INSERT INTO organisation (id, name, created_at, host_name, residence) VALUES ($1, $2, $3::timestamptz, $4, 'arriving')
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, host_name = excluded.host_name, residence = 'arriving', moved_to = NULL,
      moved_to_address = NULL`,
};

export const MERCHANTS: Statement = {
  name: '',
  text: `SELECT id, row_to_json(m)::text AS row FROM merchant m WHERE organisation_id = $1 ORDER BY id`,
};

export const PUT_MERCHANTS: Statement = {
  name: '',
  text: `
    INSERT INTO merchant (id, organisation_id, name, vault, preauthorisation_days, acquirer, created_at, mode, acceptor_id, terminals,
      category_code, card_days, suspended_at)
    SELECT id, organisation_id, name, vault, preauthorisation_days, acquirer, created_at, mode, acceptor_id, terminals, category_code,
      card_days, suspended_at
    FROM json_populate_recordset(NULL::merchant, $1::json)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, vault = excluded.vault, preauthorisation_days = excluded.preauthorisation_days,
      acquirer = excluded.acquirer, acceptor_id = excluded.acceptor_id, terminals = excluded.terminals,
      category_code = excluded.category_code, card_days = excluded.card_days, suspended_at = excluded.suspended_at`,
};

export const DATA_KEYS: Statement = {
  name: '',
  text: `
    SELECT merchant_id AS "merchantId", version, key_encryption_key AS "keyId", wrapped, created_at::text AS "createdAt",
      emptied_at::text AS "emptiedAt"
    FROM data_key WHERE organisation_id = $1 ORDER BY merchant_id, version`,
};

export const PUT_DATA_KEY: Statement = {
  name: '',
  text: `
    WITH known AS (
      UPDATE data_key SET key_encryption_key = $4, wrapped = $5, created_at = $6::timestamptz, emptied_at = $7::timestamptz
      WHERE organisation_id = $1 AND merchant_id = $2 AND version = $3 RETURNING version)
    INSERT INTO data_key (organisation_id, merchant_id, version, key_encryption_key, wrapped, created_at, emptied_at)
    SELECT $1, $2, $3, $4, $5, $6::timestamptz, $7::timestamptz WHERE NOT EXISTS (SELECT FROM known)`,
};

/** Those of a merchant that the source has destroyed. */
export const REMOVE_OTHER_DATA_KEYS: Statement = {
  name: '',
  text: `DELETE FROM data_key WHERE organisation_id = $1 AND merchant_id = $2 AND version <> ALL ($3::integer[])`,
};

/** From now on nothing that was sealed under them opens here. */
export const WIPE_DATA_KEYS: Statement = {
  name: '',
  text: `UPDATE data_key SET wrapped = '', key_encryption_key = 'moved' WHERE organisation_id = $1 AND wrapped <> ''`,
};

/** Transactions under a lease that neither are decided nor belong to the resolver. */
export const UNDER_WAY: Statement = {
  name: '',
  text: `
    SELECT count(*)::integer AS "underWay" FROM audit_lease l
    CROSS JOIN LATERAL (SELECT FROM transaction t WHERE t.organisation_id = l.organisation_id
      AND t.audit BETWEEN l.first_audit AND l.last_audit AND t.status = 'unknown' AND t.resolve_at IS NULL) t
    WHERE l.organisation_id = $1`,
};

/** So long a link may take at most. */
export const LONGEST_DEADLINE: Statement = {
  name: '',
  text: `SELECT coalesce(max(deadline_ms), 0)::integer AS "deadlineMs" FROM acquirer`,
};

export const OPEN_REQUESTS: Statement = {
  name: '',
  text: `
    SELECT id FROM operator_request WHERE organisation_id = $1 AND state IN ('ready', 'waiting', 'approved') AND expires_at > now()
    UNION
    SELECT id FROM task_request WHERE organisation_id = $1 AND state IN ('waiting', 'approved') AND expires_at > now()
      AND task <> 'organisation move'
    ORDER BY 1 LIMIT 20`,
};

export const WITHOUT_POSITION: Statement = {
  name: '',
  text: `SELECT EXISTS (SELECT FROM event WHERE organisation_id = $1 OR $1 = ANY (organisations)) AS waiting`,
};

export const POSITIONS: Statement = {
  name: '',
  text: `
    SELECT (SELECT position FROM event_sequencer) AS newest, (SELECT position FROM figures_progress) AS counted,
      coalesce((SELECT max(highest.position) FROM merchant m
        CROSS JOIN LATERAL (SELECT e.position FROM event_feed e WHERE e.organisation_id = m.organisation_id AND e.merchant_id = m.id
          ORDER BY e.position DESC LIMIT 1) highest WHERE m.organisation_id = $1), 0) AS highest`,
};

/** One process at a time gives positions, and one counts by them. */
export const LOCK_POSITIONS: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(hashtext('tollgate events')), pg_advisory_xact_lock(hashtext('tollgate figures'))`,
};

/** Nothing is given up to there any more, and nothing that comes with an organisation is counted as new. */
export const RAISE_POSITIONS: Statement = {
  name: '',
  text: `
    WITH sequenced AS (UPDATE event_sequencer SET position = greatest(position, $1::bigint))
    UPDATE figures_progress SET position = greatest(position, $1::bigint)`,
};

export const USERS: Statement = {
  name: '',
  text: `SELECT username, row_to_json(u)::text AS row FROM gateway_user u WHERE organisation_id = $1 ORDER BY username`,
};

export const SEAL_USER: Statement = {
  name: '',
  text: `UPDATE gateway_user SET seal = $2 WHERE username = $1`,
};

/** Rows of an organisation, and subjects that were sealed here before: what has gone is sealed as gone. */
export const SUBJECTS_BEFORE: Statement = {
  name: '',
  text: `
    SELECT 'webhook/' || id AS subject FROM webhook_endpoint WHERE organisation_id = $1
    UNION ALL SELECT 'user/' || username FROM gateway_user WHERE organisation_id = $1
    UNION ALL SELECT DISTINCT 'routes/' || merchant_id FROM route WHERE organisation_id = $1
    UNION ALL SELECT 'bank/' || merchant_id FROM direct_entry WHERE organisation_id = $1
    UNION ALL SELECT 'brand/' || merchant_id FROM merchant_brand WHERE organisation_id = $1
    UNION ALL SELECT 'wallet/' || merchant_id || '/' || number FROM wallet_key WHERE organisation_id = $1`,
};

export const STANS: Statement = {
  name: '',
  text: `
    SELECT c.terminal, c.leased, coalesce(json_agg(json_build_object('first', l.first, 'at', l.leased_at)) FILTER (WHERE l.first IS NOT NULL), '[]') AS leases
    FROM stan_counter c LEFT JOIN stan_lease l ON l.terminal = c.terminal
    WHERE c.terminal IN (SELECT unnest(m.terminals) FROM merchant m WHERE m.organisation_id = $1
      UNION SELECT h.terminal FROM acquirer_terminal h WHERE h.organisation_id = $1)
    GROUP BY c.terminal, c.leased`,
};

/** A STAN that the source has used today is not used again: the counter goes past it, and its leases ($3) count here. */
export const RAISE_STANS: Statement = {
  name: '',
  text: `
    WITH raised AS (
      INSERT INTO stan_counter AS c (terminal, leased) VALUES ($1, $2)
      ON CONFLICT (terminal) DO UPDATE SET leased = greatest(c.leased, excluded.leased)
      RETURNING c.terminal, c.leased)
    INSERT INTO stan_lease (terminal, first, leased_at)
    SELECT raised.terminal, l.first + 999999 * ((raised.leased - l.first) / 999999), l.at
    FROM raised, json_to_recordset($3::json) AS l(first bigint, at timestamptz)
    ON CONFLICT (terminal, first) DO UPDATE SET leased_at = greatest(stan_lease.leased_at, excluded.leased_at)`,
};

export const FORMER_INSTALLATIONS: Statement = {
  name: '',
  text: `
    SELECT last_audit AS "lastAudit", installation, cursor_key AS "cursorKey" FROM former_installation
    WHERE organisation_id = $1 ORDER BY last_audit`,
};

export const REMOVE_FORMER_INSTALLATIONS: Statement = {
  name: '',
  text: `DELETE FROM former_installation WHERE organisation_id = $1`,
};

export const PUT_FORMER_INSTALLATION: Statement = {
  name: '',
  text: `
    INSERT INTO former_installation (organisation_id, last_audit, installation, cursor_key) VALUES ($1, $2, $3, $4)
    ON CONFLICT (organisation_id, last_audit) DO UPDATE SET installation = excluded.installation, cursor_key = excluded.cursor_key`,
};

/** Searches of the source may have denied what a process of the destination has received, and not read yet: that is not claimed any more. */
export const PASS_OVER_RECEIVED: Statement = {
  name: '',
  text: `
    WITH absence AS (UPDATE gateway SET newest_absence = newest_absence + 1 RETURNING newest_absence)
    UPDATE organisation SET arrived_absence = newest_absence FROM absence WHERE id = $1`,
};

/** As far as the source has counted, whatever was counted here before. */
export const SET_COUNTERS: Statement = {
  name: '',
  text: `
    UPDATE organisation SET next_audit = greatest(next_audit, $2), next_customer_id = greatest(next_customer_id, $3),
      next_token_id = greatest(next_token_id, $4), next_checkout = greatest(next_checkout, $5), lost_first_audit = NULL,
      lost_last_audit = NULL
    WHERE id = $1`,
};

/** Whatever is in doubt and belongs to nobody is found, and handed to the resolver. */
export const SWEEP_ALL: Statement = {
  name: '',
  text: `
    INSERT INTO sweep (organisation_id, up_to) SELECT id, (next_audit - 1)::integer FROM organisation WHERE id = $1 AND next_audit > 1
    ON CONFLICT (organisation_id) DO UPDATE SET up_to = excluded.up_to`,
};

/** What was moved, for the journals and the operator. */
export const SUMS: Statement = {
  name: '',
  text: `
    SELECT (SELECT count(*)::integer FROM transaction WHERE organisation_id = $1) AS transactions,
      (SELECT coalesce(sum(amount_cents), 0)::float8 FROM transaction WHERE organisation_id = $1) AS "amountCents",
      (SELECT count(*)::integer FROM transaction WHERE organisation_id = $1 AND resolve_at IS NOT NULL) AS "inDoubt",
      (SELECT coalesce(sum(amount_cents), 0)::float8 FROM settlement_entry WHERE organisation_id = $1) AS "settledCents",
      (SELECT count(*)::integer FROM token WHERE organisation_id = $1 AND deleted_at IS NULL) AS tokens,
      (SELECT count(*)::integer FROM customer WHERE organisation_id = $1) AS customers`,
};

/** One command at a time copies an organisation ($1): two would overwrite what the other has brought up to date. */
export const LOCK_MOVE: Statement = {
  name: '',
  text: `SELECT pg_try_advisory_xact_lock(hashtext('tollgate move'), $1::integer) AS locked`,
};

export const PAID_BY_THIS_CELL: Statement = {
  name: '',
  text: `SELECT id FROM organisation WHERE residence IN ('here', 'closing', 'closed') ORDER BY id`,
};

/** Those of $1 that this cell pays for, with the move by which they came from the cell $2. */
export const WHICH_ARE_PAID: Statement = {
  name: '',
  text: `
    SELECT o.id AS organisation, (SELECT m.id FROM organisation_move m
      WHERE m.organisation_id = o.id AND m.arrives AND m.cell = $2 AND m.state IN ('open', 'finished')
      ORDER BY m.begun_at DESC LIMIT 1) AS move
    FROM organisation o WHERE o.id = ANY ($1::integer[]) AND o.residence IN ('here', 'closing') ORDER BY o.id`,
};

/** A move that the backup does not know, or knows as under way. */
export const MOVE_HAS_ENDED: Statement = {
  name: '',
  text: `
    INSERT INTO organisation_move AS m (id, organisation_id, cell, arrives, state, begun_by, ended_at)
    VALUES ($1, $2, $3, false, 'open', $4, now())
    ON CONFLICT (id) DO UPDATE SET state = 'open', ended_at = now() WHERE m.state IN ('copying', 'closed')`,
};

/** Whatever else was under way when the backup was taken ($2: the move by which it has left) has come to nothing. */
export const END_OTHER_MOVES: Statement = {
  name: '',
  text: `
    UPDATE organisation_move SET state = 'taken back', ended_at = now()
    WHERE organisation_id = $1 AND ended_at IS NULL AND id IS DISTINCT FROM $2::uuid`,
};
