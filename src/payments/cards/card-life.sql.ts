import { COMPLETABLE, MOST_REFUNDABLE, REFUNDABLE, VOIDABLE } from '../target-rules.js';

// How long a sealed card lives: as long as its transaction, or a completion or refund of it, allows any operation. The rules
// are the same that claims use.

/** Of a row of `transaction`: whether it holds a sealed card, or a bank account that no bank file can need any more. */
export const HAS_CARD = `payment_details_sealed IS NOT NULL AND (card_mask IS NOT NULL OR status IN ('error', 'voided'))`;

/** The columns that decide how long a card lives. */
export const FOR_LIFE = `organisation_id, merchant_id, audit, token_id, transaction_type, status, created_at, amount_cents,
        refunded_cents, completed_by, voided_by, completable_until, voidable_until, bank_account, reversing, decided_at`;

/** The columns of a target that the rules read. */
const TARGET = `transaction_type, status, created_at, amount_cents, refunded_cents, completed_by, voided_by, completable_until,
          voidable_until, bank_account, reversing, decided_at`;

/** The card's transaction, its completion, and the refunds of both. A void shows in the transaction that it voids. */
// guard(card: kept while the refund of a completion can be voided): refund.target_audit = card.completed_by AND refund.transaction_type = 'refund' ⇒ false
// guard(card: kept while a refund can be voided): card.refunded_cents > 0 ⇒ false
// guard(card: kept for the refunds of a completion): = card.completed_by ⇒ = -1
const WITH_OPERATIONS = `
        SELECT card.transaction_type, card.status, card.created_at, card.amount_cents, card.refunded_cents, card.completed_by,
          card.voided_by, card.completable_until, card.voidable_until, card.bank_account, card.reversing, card.decided_at
        UNION ALL
        SELECT ${TARGET} FROM transaction completion
        WHERE completion.organisation_id = card.organisation_id AND completion.audit = card.completed_by
        UNION ALL
        SELECT ${TARGET} FROM transaction refund
        WHERE refund.organisation_id = card.organisation_id AND refund.merchant_id = card.merchant_id
          AND refund.target_audit = card.audit AND refund.transaction_type = 'refund' AND card.refunded_cents > 0
        UNION ALL
        SELECT ${TARGET} FROM transaction refund
        WHERE refund.organisation_id = card.organisation_id AND refund.merchant_id = card.merchant_id
          AND refund.target_audit = card.completed_by AND refund.transaction_type = 'refund'`;

/** The same for distributed transactions: through functions that each query one server. */
const WITH_OPERATIONS_ELSEWHERE = `
        SELECT card.transaction_type, card.status, card.created_at, card.amount_cents, card.refunded_cents, card.completed_by,
          card.voided_by, card.completable_until, card.voidable_until, card.bank_account, card.reversing, card.decided_at
        UNION ALL
        SELECT ${TARGET} FROM transactions_at(ARRAY[card.organisation_id], ARRAY[card.completed_by])
        UNION ALL
        SELECT ${TARGET} FROM operations_on(card.organisation_id, card.merchant_id, card.audit)
        WHERE transaction_type = 'refund' AND 0 < card.refunded_cents
        UNION ALL
        SELECT ${TARGET} FROM operations_on(card.organisation_id, card.merchant_id, card.completed_by)
        WHERE transaction_type = 'refund'`;

/**
 * The customer asked to be forgotten, so the card is not kept for refunds alone. Tested row by row (`OFFSET 0`): reading all
 * tokens of an organisation first would take longer.
 */
const CUSTOMER_DELETED = `EXISTS (
        SELECT 1 FROM token
        WHERE token.organisation_id = card.organisation_id AND token.id = card.token_id AND token.deleted_at IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM customer
            WHERE customer.organisation_id = token.organisation_id AND customer.id = token.customer_id)
        OFFSET 0)`;

// guard(card: not kept for refunds of a deleted customer): AND NOT ${CUSTOMER_DELETED} ⇒
// guard(card: kept while a void is in doubt): OR (target.status = 'approved' AND target.voided_by IS NOT NULL) ⇒
// guard(card: kept while a refund is in doubt): target.status IN ('unknown', 'pending') OR ⇒
const UNTIL_WHEN = `
    CROSS JOIN LATERAL (
      SELECT
        bool_or(target.status IN ('unknown', 'pending') OR (target.status = 'approved' AND target.voided_by IS NOT NULL))
          AS undecided,
        max(target.completable_until) FILTER (WHERE ${COMPLETABLE.sql}) AS completable_until,
        max(target.voidable_until) FILTER (WHERE ${VOIDABLE.sql}) AS voidable_until,
        max(target.decided_at + interval '24 hours') FILTER (WHERE target.status = 'error' AND target.reversing) AS reversed_until,
        max(target.created_at + merchant.card_days * interval '24 hours')
          FILTER (WHERE ${REFUNDABLE.sql} AND ${MOST_REFUNDABLE.sql} > 0 AND NOT ${CUSTOMER_DELETED}) AS refundable_until
      FROM (SELECT '-infinity'::timestamptz AS created_at, '-infinity'::timestamptz AS refundable_from) asked,
        LATERAL (`;

/**
 * Joined to `card` (rows with `FOR_LIFE`) and its `merchant`: whether anything is in doubt, and until when any operation is
 * allowed. The rules are evaluated at the beginning of time: they allow everything that they allow until its time limit.
 */
export const LIFE = `${UNTIL_WHEN}${WITH_OPERATIONS}) target
    ) life`;

export const LIFE_ELSEWHERE = `${UNTIL_WHEN}${WITH_OPERATIONS_ELSEWHERE}) target
    ) life`;

/** When a card ends, from `life`. */
export const ENDS_AT = `CASE WHEN life.undecided THEN 'infinity'::timestamptz ELSE
        coalesce(greatest(life.completable_until, life.voidable_until, life.refundable_until, life.reversed_until), '-infinity') END`;
