import type { Statement } from '../store/database.js';

export const REGISTER_PROCESS: Statement = {
  name: '',
  text: `INSERT INTO process DEFAULT VALUES RETURNING id, (SELECT installation FROM gateway) AS installation`,
};

/** One statement: the block is this process's from the moment that the counter has moved. */
export const LEASE_AUDITS: Statement = {
  name: 'lease-audits',
  text: `
    WITH moved AS (
      UPDATE organisation SET next_audit = next_audit + $3 WHERE id = $2
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
      gateway.forgotten_absence AS forgotten,
      (SELECT min(other.answered_absence) FROM process other
        WHERE other.seen_at > now() - interval '30 seconds') AS "answeredByAll"`,
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

/**
 * What presumably dead processes left undecided is handed to the resolver. Never by a process what it has claimed itself:
 * after the database was away it may not have reported yet, and still knows best what it has sent and what not.
 */
export const HAND_OVER_ABANDONED: Statement = {
  name: 'hand-over-abandoned',
  text: `
    UPDATE transaction t SET resolve_at = now()
    FROM process p JOIN audit_lease l ON l.process_id = p.id
    WHERE p.seen_at < now() - $1 * interval '1 millisecond' AND p.id <> $2
      AND t.organisation_id = l.organisation_id AND t.audit BETWEEN l.first_audit AND l.last_audit
      AND t.status = 'unknown' AND t.resolve_at IS NULL`,
};

/**
 * A process unseen for an hour will not claim under its leases again (it refuses to without a recent report), so
 * that what it left has been handed over for good.
 */
export const FORGET_DEAD_PROCESSES: Statement = {
  name: 'forget-dead-processes',
  text: `DELETE FROM process WHERE seen_at < now() - interval '1 hour'`,
};
