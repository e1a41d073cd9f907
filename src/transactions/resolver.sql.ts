import { INTO_JOURNAL_OF_TRANSACTIONS } from '../journal/journal.sql.js';
import type { Statement } from '../postgres/database.js';

/**
 * Takes what is due, for as long as the given lease. Each taking is a new attempt, and only the newest attempt may
 * decide: a resolver that was slow, or believed dead, changes nothing any more.
 */
export const TAKE_DUE: Statement = {
  name: 'take-due',
  text: `
    UPDATE transaction t SET resolve_attempts = t.resolve_attempts + 1, resolve_at = now() + $2 * interval '1 millisecond'
    FROM (
      SELECT organisation_id, audit FROM transaction
      WHERE resolve_at <= now() ORDER BY resolve_at LIMIT $1 FOR UPDATE SKIP LOCKED) due
    WHERE t.organisation_id = due.organisation_id AND t.audit = due.audit AND t.status = 'unknown'
    RETURNING t.organisation_id AS "organisationId", t.audit, t.merchant_id AS "merchantId",
      t.target_audit AS "targetAudit", t.amount_cents AS "amountCents", t.currency, t.acquirer,
      t.transaction_type AS operation, t.prepared, t.resolve_attempts AS attempt, t.reversing,
      round(extract(epoch FROM t.created_at) * 1000)::bigint AS "createdMs",
      round(extract(epoch FROM t.completable_until) * 1000)::bigint AS "completableUntilMs"`,
};

/** From here on only a reversal decides: a late approval no longer wins. */
export const BEGIN_REVERSAL: Statement = {
  name: 'begin-reversal',
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

/** Due at once, unless it is so soon already that a resolver may be asking. */
export const MAKE_DUE: Statement = {
  name: '',
  text: `
    UPDATE transaction SET resolve_at = now()
    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_at > now() + $3 * interval '1 millisecond'
    RETURNING audit`,
};

export const POSTPONE: Statement = {
  name: 'postpone',
  text: `
    UPDATE transaction SET resolve_at = now() + $4 * interval '1 millisecond'
    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND resolve_attempts = $3`,
};

/** A late answer is an attempt like those of resolvers, but none once a reversal has begun. */
export const TAKE_UNLESS_REVERSING: Statement = {
  name: 'take-unless-reversing',
  text: `
    UPDATE transaction SET resolve_attempts = resolve_attempts + 1, resolve_at = now() + $3 * interval '1 millisecond'
    WHERE organisation_id = $1 AND audit = $2 AND status = 'unknown' AND NOT reversing
    RETURNING resolve_attempts AS attempt`,
};
