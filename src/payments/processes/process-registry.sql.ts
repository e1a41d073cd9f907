import { columns, integer } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { OrganisationId } from '../../values/ids.js';
import { FENCES_WAIT_MS } from './process-times.js';

export const REGISTER_PROCESS: Statement = {
  name: '',
  text: `
    INSERT INTO process (machine, pid, timeout_ms, release) VALUES ($1, $2, $3, $4)
    RETURNING id, (SELECT installation FROM gateway) AS installation`,
};

/** After the process, its epochs, its links and its last heartbeat. */
export const FINISHED = columns<{ readonly organisationId: OrganisationId; readonly first: number }>(
  'finished',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    first_audit: integer(({ first }) => first),
  },
  { after: 5 },
);

/** Also drops this process's finished leases. $5 is the time of the last heartbeat that the database confirmed. */
export const HEARTBEAT: Statement = {
  name: 'heartbeat',
  text: `
    WITH last AS (SELECT seen_at FROM process WHERE id = $1), released AS (
      DELETE FROM audit_lease l USING ${FINISHED.rows}
      WHERE l.organisation_id = finished.organisation_id AND l.first_audit = finished.first_audit AND l.process_id = $1)
    UPDATE process SET seen_at = now(), advanced_ms = gateway.advanced_ms, answered_absence = $2, known_absence = $3,
      links = $4
    FROM gateway, last WHERE id = $1
    RETURNING process.seen_at::text AS "seenAt", last.seen_at < $5::timestamptz AS "lostHeartbeat", last.seen_at::text AS "lastSeenAt",
      (extract(epoch FROM gateway.lost_from) * 1000)::float8 AS "lostFromMs",
      (extract(epoch FROM gateway.lost_until) * 1000)::float8 AS "lostUntilMs",
      process.advanced_ms AS "advancedMs", gateway.newest_absence AS newest,
      gateway.forgotten_absence AS forgotten, database_lineage() AS lineage,
      gateway.lineage <> database_lineage() AS "goneBack",
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "databaseMs",
      (SELECT min(other.answered_absence) FROM process other
        WHERE other.seen_at > now() - ${FENCES_WAIT_MS} * interval '1 millisecond') AS "answeredByAll"`,
};

/**
 * A new lineage: the last commits may be lost, although clients, acquirers and other processes know of them. All counters move
 * past any value they can have reached. The first process to notice does this, and asks for a sweep.
 */
export const MOVE_AHEAD: Statement = {
  name: '',
  text: `
    WITH noticed AS (
      UPDATE gateway SET lineage = database_lineage(), newest_absence = newest_absence + $1, sweep_at = now()
      WHERE lineage <> database_lineage() RETURNING only_row)
    UPDATE organisation SET next_audit = least(next_audit + $1, 2147483648),
      next_customer_id = least(next_customer_id + $1, 2147483648), next_token_id = least(next_token_id + $1, 2147483648),
      next_checkout = least(next_checkout + $1, 2147483648)
    FROM noticed`,
};

/**
 * For a process ($1) that has just started: when another process last used this database, and whether the server was up then. A
 * promoted standby was up; a restored server was started later.
 */
export const LAST_ACTIVITY: Statement = {
  name: '',
  text: `
    SELECT coalesce(pg_postmaster_start_time() < heartbeat.seen_at, false) AS "wasFollowing",
      least(greatest(heartbeat.seen_at, newest.created_at), now())::text AS "lostFrom"
    FROM (SELECT max(seen_at) AS seen_at FROM process WHERE id <> $1) heartbeat,
      (SELECT max(t.created_at) AS created_at FROM organisation o
        CROSS JOIN LATERAL (SELECT created_at FROM transaction WHERE organisation_id = o.id ORDER BY audit DESC LIMIT 1) t) newest`,
  spread: `
    SELECT coalesce(pg_postmaster_start_time() < max(seen_at), false) AS "wasFollowing", max(seen_at)::text AS "lostFrom"
    FROM process WHERE id <> $1`,
};

/** For a process that leaves nothing in doubt; the others find the rest. */
export const DEREGISTER_PROCESS: Statement = {
  name: '',
  text: `DELETE FROM process WHERE id = $1`,
};

/**
 * One statement: the block belongs to this process as soon as the counter has moved. Returns none for an unknown process, or
 * while the counters may have gone back.
 */
export const LEASE_AUDITS: Statement = {
  name: 'lease-audits',
  // guard(leases: none while the counters may have gone back): AND (SELECT lineage = database_lineage() FROM gateway) ⇒
  text: `
    WITH moved AS (
      UPDATE organisation SET next_audit = next_audit + $3
      WHERE id = $2 AND EXISTS (SELECT FROM process WHERE id = $1)
        AND (SELECT lineage = database_lineage() FROM gateway)
      RETURNING (next_audit - $3)::integer AS first_audit, (next_audit - 1)::integer AS last_audit)
    INSERT INTO audit_lease (organisation_id, first_audit, last_audit, process_id)
    SELECT $2, first_audit, last_audit, $1 FROM moved
    RETURNING first_audit AS first, last_audit AS last`,
};

/** After the process. */
export const HELD = columns<{
  readonly organisationId: OrganisationId;
  readonly first: number;
  readonly last: number;
}>(
  'held',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    first_audit: integer(({ first }) => first),
    last_audit: integer(({ last }) => last),
  },
  { after: 1 },
);

/** Leases that the database has lost, or dropped with a process presumed dead. */
export const RENEW_LEASES: Statement = {
  name: '',
  text: `
    INSERT INTO audit_lease (organisation_id, first_audit, last_audit, process_id)
    SELECT organisation_id, first_audit, last_audit, $1
    FROM ${HELD.rows}
    ON CONFLICT (organisation_id, first_audit) DO NOTHING`,
};

/** Gives back the unused audits at the end of a block, unless a later block has been leased. */
export const RETURN_AUDITS: Statement = {
  name: '',
  // guard(leases: audits given back only if nobody leased later ones): next_audit = $3 ⇒ $3::bigint > 0
  text: `UPDATE organisation SET next_audit = $2 WHERE id = $1 AND next_audit = $3`,
};
