import { INTO_JOURNAL_OF_TRANSACTIONS } from '../../journal/journal.sql.js';
import type { Statement } from '../../postgres/database.js';
import { isNotElsewhere } from '../../postgres/elsewhere.js';
import { OUTCOME } from '../outcome-seals.sql.js';
import { LEFT_BEHIND, LEFT_BEHIND_BY_ONE } from '../status.sql.js';

// guard(taking: for as long as the lease nobody else takes it): 1 millisecond ⇒ 0 millisecond
// guard(taking: every taking is a new attempt): t.resolve_attempts + 1 ⇒ greatest(t.resolve_attempts, 1)
const TAKE = `
    UPDATE transaction t SET resolve_attempts = t.resolve_attempts + 1, resolve_at = now() + $2 * interval '1 millisecond'
    FROM (
      SELECT organisation_id, audit FROM transaction
      WHERE`;

const DUE = ` status = 'unknown' AND resolve_at <= now()`;

export const DOUBT_IS_DUE = `EXISTS (SELECT FROM transaction WHERE${DUE})`;

// guard(taking: locks what it takes): FOR UPDATE SKIP LOCKED ⇒
const TAKEN_NOW = ` ORDER BY resolve_at LIMIT $1 FOR UPDATE SKIP LOCKED) due
    WHERE`;

const UNDECIDED = ` t.organisation_id = due.organisation_id AND t.audit = due.audit AND t.status = 'unknown'
    RETURNING`;

/** The installations that sent it, and its target. */
const SENDERS = `sent_by(t.organisation_id, t.audit) AS "sentBy", sent_by(t.organisation_id, t.target_audit) AS "targetSentBy"`;

const TAKEN = `t.organisation_id AS "organisationId", t.audit, t.merchant_id AS "merchantId",
      t.target_audit AS "targetAudit", t.amount_cents AS "amountCents", t.currency, t.acquirer,
      t.transaction_type AS operation, t.prepared, t.resolve_attempts AS attempt, t.reversing, ${OUTCOME} AS stored,
      t.attestation, t.payment_details_key_version AS "keyVersion", t.payment_details_sealed AS sealed,
      CASE WHEN t.bank_account IS NULL THEN 'card' ELSE 'bank_account' END AS "paymentMethod",
      round(extract(epoch FROM t.created_at) * 1000)::bigint AS "createdMs",
      round(extract(epoch FROM t.completable_until) * 1000)::bigint AS "completableUntilMs"`;

/** The transaction ($1, $2) that must be reversed again, whatever its status. */
export const REVERSED_BEFORE: Statement = {
  name: 'reversed-before',
  text: `SELECT ${TAKEN}, ${SENDERS} FROM transaction t WHERE t.organisation_id = $1 AND t.audit = $2`,
  spread: `SELECT ${TAKEN} FROM transaction t WHERE t.organisation_id = $1 AND t.audit = $2`,
};

/**
 * Takes due transactions for the given lease. Each taking is a new attempt, and only the newest attempt may decide: a slow
 * resolver, or one believed dead, can no longer change anything.
 */
export const TAKE_DUE: Statement = {
  name: 'take-due',
  text: `${TAKE}${DUE} AND ${isNotElsewhere('organisation_id')}${TAKEN_NOW}${UNDECIDED} ${TAKEN}, ${SENDERS}`,
};

/** For distributed transactions: organisations that may have some in doubt. Only their servers are queried. */
export const ORGANISATIONS_IN_DOUBT: Statement = {
  name: 'organisations-in-doubt',
  text: `SELECT organisation_id AS "organisationId" FROM organisation_in_doubt ORDER BY organisation_id`,
};

/** `TAKE_DUE` for one organisation ($3). */
export const TAKE_DUE_OF: Statement = {
  name: 'take-due-of',
  text: `
    WITH t AS (${TAKE} organisation_id = $3 AND${DUE}${TAKEN_NOW} t.organisation_id = $3 AND${UNDECIDED} t.*)
    SELECT ${TAKEN} FROM t`,
};

/** A concurrent statement that puts a transaction in doubt waits until this database transaction ends. */
export const FORGET_DOUBTS_OF: Statement = {
  name: 'forget-doubts-of',
  text: `DELETE FROM organisation_in_doubt WHERE organisation_id = $1`,
};

export const REMEMBER_DOUBTS_OF: Statement = {
  name: 'remember-doubts-of',
  text: `INSERT INTO organisation_in_doubt (organisation_id) VALUES ($1) ON CONFLICT DO NOTHING`,
};

export const HAS_DOUBTS: Statement = {
  name: 'has-doubts',
  text: `SELECT audit FROM transaction WHERE organisation_id = $1 AND resolve_at IS NOT NULL LIMIT 1`,
};

/** Searches all servers now and then, so that no organisation is missed if the list is wrong. */
export const FIND_DOUBTS: Statement = {
  name: 'find-doubts',
  text: `
    WITH found AS MATERIALIZED (SELECT DISTINCT organisation_id FROM transaction WHERE resolve_at IS NOT NULL)
    INSERT INTO organisation_in_doubt (organisation_id) SELECT organisation_id FROM found ON CONFLICT DO NOTHING`,
};

/** From here on only a reversal decides: a late approval no longer wins. */
export const BEGIN_REVERSAL: Statement = {
  name: 'begin-reversal',
  // guard(reversal: not begun by an attempt that was overtaken): WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_attempts = $3 ⇒ WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND $3::integer > 0
  // guard(reversal: its beginning is stored): true ⇒ reversing
  text: `
    WITH begun AS (
      UPDATE transaction SET reversing = true
      WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_attempts = $3
      RETURNING organisation_id, merchant_id, audit
    ), journalled AS (${INTO_JOURNAL_OF_TRANSACTIONS}
      SELECT organisation_id, merchant_id, 'gateway:resolver', 'transaction.reversal_begun', audit, $4::text, $5::bytea FROM begun
    )
    SELECT audit FROM begun`,
};

/** The entries of a transaction's journal that say that its reversal has begun, with what their MACs cover. */
export const REVERSALS_BEGUN: Statement = {
  name: 'reversals-begun',
  text: `
    SELECT organisation_id AS "organisationId", audit, actor, action, correlation_id AS "correlationId", detail, address, mark
    FROM journal WHERE organisation_id = $1 AND audit = $2 AND action = 'transaction.reversal_begun' AND action <> 'token.opened'`,
};

/** Due at once, unless it is due so soon that a resolver may be asking already. */
export const MAKE_DUE: Statement = {
  name: '',
  text: `
    UPDATE transaction SET resolve_at = now()
    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_at > now() + $3 * interval '1 millisecond'
    RETURNING audit`,
};

export const POSTPONE: Statement = {
  name: 'postpone',
  // guard(postponing: only by the current attempt, and only what is in doubt): status = 'unknown' AND resolve_attempts = $3 ⇒ $3::integer > 0
  text: `
    UPDATE transaction SET resolve_at = now() + $4 * interval '1 millisecond'
    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_attempts = $3`,
};

/** A late answer is an attempt like a resolver's, but it is refused once a reversal has begun. */
export const TAKE_UNLESS_REVERSING: Statement = {
  name: 'take-unless-reversing',
  // guard(late answer: not once a reversal has begun): AND NOT reversing ⇒
  text: `
    UPDATE transaction SET resolve_attempts = resolve_attempts + 1, resolve_at = now() + $3 * interval '1 millisecond'
    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND NOT reversing
    RETURNING resolve_attempts AS attempt`,
};

/** By the timeout that each process registered itself: the process observes the same one. */
// guard(dead processes: what the living are doing is left to them): seen_at < now() - p.timeout_ms * interval '1 millisecond' ⇒ timeout_ms > 0
const SILENT = `p.seen_at < now() - p.timeout_ms * interval '1 millisecond'`;

/** Another process than this one ($1). */
export const PROCESS_IS_DEAD = `EXISTS (SELECT FROM process p WHERE ${SILENT} AND p.id <> $1)`;

/** Processes presumed dead, never the one that asks. A process unseen for an hour cannot claim under its leases again. */
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

/** The test whether the process is dead follows, then `UNLOCKED`. */
// guard(dead processes: what was handed over once is not taken from its resolver): AND resolve_at IS NULL ⇒
const LEFT = `doubt AS (
      SELECT organisation_id, audit FROM transaction
      WHERE organisation_id = $2 AND audit BETWEEN $3 AND $4 AND status = 'unknown' AND resolve_at IS NULL
        AND EXISTS`;

const UNLOCKED = `
      FOR UPDATE SKIP LOCKED
    )`;

/**
 * Hands the transactions that a dead process left in doubt under one lease to the resolver. One lease at a time, named by
 * constants: joined with the leases, a plan might read every transaction. Locked rows are left to the next run, so that nobody
 * can block the resolver.
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

/** With its leases: everything it left in doubt has been handed over. */
export const FORGET_DEAD_PROCESS: Statement = {
  name: 'forget-dead-process',
  text: `DELETE FROM process WHERE id = $1 AND seen_at < now() - interval '1 hour'`,
};
