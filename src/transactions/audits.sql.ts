import type { Statement } from '../postgres/database.js';

export const REGISTER_PROCESS: Statement = {
  name: '',
  text: `INSERT INTO process DEFAULT VALUES RETURNING id, (SELECT installation FROM gateway) AS installation`,
};

/**
 * One statement: the block is this process's from the moment that the counter has moved. None for a process that the database
 * does not know, nor while the counters may have gone back.
 */
export const LEASE_AUDITS: Statement = {
  name: 'lease-audits',
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

export const REPORT_ALIVE: Statement = {
  name: 'report-alive',
  text: `
    WITH released AS (
      DELETE FROM audit_lease l USING unnest($2::integer[], $3::integer[]) AS r(organisation_id, first_audit)
      WHERE l.organisation_id = r.organisation_id AND l.first_audit = r.first_audit AND l.process_id = $1)
    UPDATE process SET seen_at = now(), advanced_ms = gateway.advanced_ms, answered_absence = $4, known_absence = $5
    FROM gateway WHERE id = $1
    RETURNING process.advanced_ms AS "advancedMs", gateway.newest_absence AS newest,
      gateway.forgotten_absence AS forgotten, database_lineage() AS lineage,
      gateway.lineage <> database_lineage() AS "goneBack",
      (SELECT min(other.answered_absence) FROM process other
        WHERE other.seen_at > now() - interval '30 seconds') AS "answeredByAll"`,
};

/**
 * A new lineage: what was committed last may be lost, while clients, acquirers and other processes know of it. All counters
 * move past whatever they can have reached. The first process to notice does it, and asks for a sweep.
 */
export const MOVE_AHEAD: Statement = {
  name: '',
  text: `
    WITH noticed AS (
      UPDATE gateway SET lineage = database_lineage(), newest_absence = newest_absence + $1, sweep_at = now()
      WHERE lineage <> database_lineage() RETURNING only_row)
    UPDATE organisation SET next_audit = least(next_audit + $1, 2147483648),
      next_customer_id = least(next_customer_id + $1, 2147483648), next_token_id = least(next_token_id + $1, 2147483648)
    FROM noticed`,
};

/** Those that the database has lost, or dropped with a process that it had given up. */
export const RENEW_LEASES: Statement = {
  name: '',
  text: `
    INSERT INTO audit_lease (organisation_id, first_audit, last_audit, process_id)
    SELECT organisation_id, first_audit, last_audit, $1
    FROM unnest($2::integer[], $3::integer[], $4::integer[]) AS held(organisation_id, first_audit, last_audit)
    ON CONFLICT (organisation_id, first_audit) DO NOTHING`,
};

/** Gives back the audits at the end of a block if nobody has leased a later one. */
export const RETURN_AUDITS: Statement = {
  name: '',
  text: `UPDATE organisation SET next_audit = $2 WHERE id = $1 AND next_audit = $3`,
};

/** A process that left nothing open goes for good; one that did is found by the others. */
export const FORGET_PROCESS: Statement = {
  name: '',
  text: `DELETE FROM process WHERE id = $1`,
};

/** Presumably dead ones; never the one that asks. Those unseen for an hour will not claim under their leases again. */
export const DEAD_PROCESSES: Statement = {
  name: 'dead-processes',
  text: `
    SELECT id, seen_at::text AS "seenAt", seen_at < now() - interval '1 hour' AS "forGood" FROM process p
    WHERE p.seen_at < now() - $1 * interval '1 millisecond' AND p.id <> $2`,
};

export const LEASES_OF_PROCESS: Statement = {
  name: 'leases-of-process',
  text: `
    SELECT organisation_id AS "organisationId", first_audit AS first, last_audit AS last FROM audit_lease
    WHERE process_id = $1`,
};

/**
 * What a presumably dead process left in doubt under one lease is handed to the resolver. One lease at a time, named by
 * constants: joined with the leases, a plan might read every transaction there is. What somebody has locked is left to
 * the next look, so that nobody can keep the resolver waiting.
 */
export const HAND_OVER_ABANDONED: Statement = {
  name: 'hand-over-abandoned',
  text: `
    UPDATE transaction t SET resolve_at = now()
    FROM (
      SELECT audit FROM transaction
      WHERE organisation_id = $3 AND audit BETWEEN $4 AND $5 AND status = 'unknown' AND resolve_at IS NULL
        AND EXISTS (SELECT FROM process p WHERE p.id = $2 AND p.seen_at < now() - $1 * interval '1 millisecond')
      FOR UPDATE SKIP LOCKED) abandoned
    WHERE t.organisation_id = $3 AND t.audit BETWEEN $4 AND $5 AND t.audit = abandoned.audit`,
};

/** With its leases: what it left has been handed over. */
export const FORGET_DEAD_PROCESS: Statement = {
  name: 'forget-dead-process',
  text: `DELETE FROM process WHERE id = $1 AND seen_at < now() - interval '1 hour'`,
};
