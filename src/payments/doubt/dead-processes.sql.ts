import type { Statement } from '../../postgres/database.js';
import { LEFT_BEHIND, LEFT_BEHIND_BY_ONE } from '../status.sql.js';

/** By the timeout that each has registered itself with: it goes by the same one. */
// guard(dead processes: what the living are doing is left to them): seen_at < now() - p.timeout_ms * interval '1 millisecond' ⇒ timeout_ms > 0
const SILENT = `p.seen_at < now() - p.timeout_ms * interval '1 millisecond'`;

/** Presumably dead ones; never the one that asks. Those unseen for an hour will not claim under their leases again. */
export const DEAD_PROCESSES: Statement = {
  name: 'dead-processes',
  // guard(dead processes: a process does not take its own): p.id <> $1 ⇒ $1 > 0
  text: `
    SELECT id, seen_at::text AS "seenAt", seen_at < now() - interval '1 hour' AS "forGood" FROM process p
    WHERE ${SILENT} AND p.id <> $1`,
};

export const LEASES_OF_PROCESS: Statement = {
  name: 'leases-of-process',
  text: `
    SELECT organisation_id AS "organisationId", first_audit AS first, last_audit AS last FROM audit_lease
    WHERE process_id = $1`,
};

const PRESUMED_DEAD = `SELECT id FROM process p WHERE p.id = $1 AND ${SILENT}`;

/** Behind it the question whether the process is dead, and `UNLOCKED`. */
// guard(dead processes: what was handed over once is not taken from its resolver): AND resolve_at IS NULL ⇒
const LEFT = `doubt AS (
      SELECT organisation_id, audit FROM transaction
      WHERE organisation_id = $2 AND audit BETWEEN $3 AND $4 AND status = 'unknown' AND resolve_at IS NULL
        AND EXISTS`;

const UNLOCKED = `
      FOR UPDATE SKIP LOCKED
    )`;

/**
 * What a presumably dead process left in doubt under one lease is handed to the resolver. One lease at a time, named by
 * constants: joined with the leases, a plan might read every transaction there is. What somebody has locked is left to
 * the next look, so that nobody can keep the resolver waiting.
 */
export const HAND_OVER_IN_DOUBT: Statement = {
  name: 'hand-over-in-doubt',
  text: `
    WITH ${LEFT} (${PRESUMED_DEAD})${UNLOCKED}, ${LEFT_BEHIND}
    SELECT audit FROM doubted`,
  spread: `
    WITH presumed AS MATERIALIZED (${PRESUMED_DEAD}), ${LEFT} (SELECT id FROM presumed)${UNLOCKED}, ${LEFT_BEHIND_BY_ONE}
    SELECT audit FROM doubted`,
};

/** With its leases: what it left has been handed over. */
export const FORGET_DEAD_PROCESS: Statement = {
  name: 'forget-dead-process',
  text: `DELETE FROM process WHERE id = $1 AND seen_at < now() - interval '1 hour'`,
};
