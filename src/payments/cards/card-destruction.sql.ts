import type { Statement } from '../../postgres/database.js';
import { isNotElsewhere } from '../../postgres/elsewhere.js';
import { A_WHILE } from './card-ends.sql.js';
import { HAS_CARD } from './card-life.sql.js';

const A_WHILE_AGO = `(SELECT gateway_now() - ${A_WHILE})`;

/** Only the holder of this lock destroys cards. */
export const CARD_DESTRUCTION_LOCK = `hashtext('tollgate card destruction')`;

/** The database's clock. */
const DATABASE_MS = `(extract(epoch FROM gateway_now()) * 1000)::bigint AS "nowMs"`;

/** Whether any merchant is due. Usually none is. */
export const CARD_REVIEW_IS_DUE = `EXISTS (SELECT FROM card_review WHERE next_at <= (SELECT gateway_now()) AND ${isNotElsewhere('organisation_id')})`;

export const LOOK_FOR_CARD_REVIEW: Statement = {
  name: 'look-for-card-review',
  text: `SELECT ${CARD_REVIEW_IS_DUE} AS due, ${DATABASE_MS}`,
};

/** One process at a time, so that the others' payments are not slowed. The time is read again: this may be another server. */
export const LOCK_CARD_DESTRUCTION: Statement = {
  name: 'lock-card-destruction',
  text: `SELECT pg_try_advisory_xact_lock(${CARD_DESTRUCTION_LOCK}) AS locked, ${DATABASE_MS}`,
};

/** Adds merchants created since the last look. */
export const ADD_CARD_REVIEWS: Statement = {
  name: 'add-card-reviews',
  text: `
    INSERT INTO card_review (organisation_id, merchant_id)
    SELECT organisation_id, id FROM merchant m
    WHERE NOT EXISTS (SELECT 1 FROM card_review r WHERE r.organisation_id = m.organisation_id AND r.merchant_id = m.id)
      AND ${isNotElsewhere('m.organisation_id')}
    ON CONFLICT DO NOTHING`,
};

/** A review this far ahead was scheduled by a clock that has since been set back. */
export const MEND_CARD_REVIEWS: Statement = {
  name: 'mend-card-reviews',
  text: `UPDATE card_review SET next_at = gateway_now() WHERE next_at > (SELECT gateway_now() + interval '1 hour') AND ${isNotElsewhere('organisation_id')}`,
};

/** Merchants take turns, so a merchant with many cards does not delay the others. */
export const NEXT_CARD_REVIEW: Statement = {
  name: 'next-card-review',
  // guard(card destruction: merchants in turns): next_at LIMIT ⇒ organisation_id, merchant_id LIMIT
  text: `
    SELECT organisation_id AS "organisationId", merchant_id AS "merchantId" FROM card_review
    WHERE next_at <= (SELECT gateway_now()) AND ${isNotElsewhere('organisation_id')} ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
};

/** The transactions of `page` whose cards must be judged. */
const CARDS = `ARRAY(SELECT DISTINCT card FROM page WHERE card IS NOT NULL) AS cards`;

/** Whether there may be more rows than this page of $3. */
const SEEN = `SELECT (SELECT count(*) FROM page) = $3 AS more, ${CARDS}`;

/** The last row of `page`. */
const FURTHEST = `(SELECT created_at, audit FROM page ORDER BY created_at DESC, audit DESC LIMIT 1) furthest`;

/** Of a row `t`: the transaction whose card must be judged. The condition on its target follows. */
// guard(card: the first look finds what was paid while the customer was deleted): AND NOT EXISTS (SELECT 1 FROM token ⏎ WHERE token.organisation_id = $1 AND token.id = t.token_id AND token.deleted_at IS NOT NULL OFFSET 0) ⇒
const CARD_TO_JUDGE = `
        CASE
          WHEN t.has_card AND NOT (t.transaction_type = 'purchase' AND t.status = 'approved' AND t.voided_by IS NULL
            AND t.refunded_cents < t.amount_cents AND NOT EXISTS (SELECT 1 FROM token
              WHERE token.organisation_id = $1 AND token.id = t.token_id AND token.deleted_at IS NOT NULL OFFSET 0)) THEN t.audit
          WHEN t.transaction_type = 'completion' THEN t.target_audit`;

const OR_OF_REFUND = `WHEN t.transaction_type = 'refund' THEN t.target_audit
        END AS card`;

/** The page after `place`, as `t` and `target`; the conditions between the two follow. */
const FIRST_PAGE_UP_TO = `
      FROM place CROSS JOIN LATERAL (
        SELECT created_at, audit, transaction_type, status, voided_by, refunded_cents, amount_cents, token_id, target_audit,
          ${HAS_CARD} AS has_card
        FROM transaction
        WHERE organisation_id = $1 AND merchant_id = $2 AND created_at > '-infinity'
          AND (created_at, audit) > (place.first_at, place.first_audit) AND created_at <=`;

const AND_TARGETS = `
        ORDER BY created_at, audit LIMIT $3
      ) t LEFT JOIN transaction target ON target.organisation_id = $1 AND target.audit = t.target_audit`;

const FIRST_MOVED = `moved AS (
      UPDATE card_review SET first_at = furthest.created_at, first_audit = furthest.audit FROM ${FURTHEST}
      WHERE organisation_id = $1 AND merchant_id = $2
    )
    ${SEEN}`;

/**
 * The first review of every transaction of a merchant ($1, $2), one page ($3) at a time. It judges cards that may end before
 * their refund period does. Nearly all rows are approved purchases, which need no judgement yet, unless they were fully
 * refunded or paid with a deleted token (tested row by row: `OFFSET 0`). Later operations lead to the original payment.
 */
export const FIRST_LOOK_AT_CARDS: Statement = {
  name: 'first-look-at-cards',
  // guard(card: a completion that was voided leads to the card): WHEN target.transaction_type = 'completion' THEN target.target_audit ⇒
  text: `
    WITH place AS (
      SELECT first_at, first_audit FROM card_review WHERE organisation_id = $1 AND merchant_id = $2
    ), page AS MATERIALIZED (
      SELECT t.created_at, t.audit,${CARD_TO_JUDGE}
          WHEN target.transaction_type = 'completion' THEN target.target_audit
          ${OR_OF_REFUND}${FIRST_PAGE_UP_TO} ${A_WHILE_AGO}${AND_TARGETS}
    ), ${FIRST_MOVED}`,
  spread: `
    WITH place AS MATERIALIZED (
      SELECT first_at, first_audit, ${A_WHILE_AGO} AS until FROM card_review WHERE organisation_id = $1 AND merchant_id = $2
    ), looked AS MATERIALIZED (
      SELECT t.*, target.transaction_type AS type_of_target, target.target_audit AS target_of_target${FIRST_PAGE_UP_TO} place.until${AND_TARGETS}
    ), page AS MATERIALIZED (
      SELECT t.created_at, t.audit,${CARD_TO_JUDGE}
          WHEN t.type_of_target = 'completion' THEN t.target_of_target
          ${OR_OF_REFUND} FROM looked t
    ), ${FIRST_MOVED}`,
};

/**
 * The last review, once the payment can no longer be refunded. A completion leads to its preauthorisation, which holds the
 * card.
 */
export const LAST_LOOK_AT_CARDS: Statement = {
  name: 'last-look-at-cards',
  // guard(card: a completion leads to the card at the last look): WHEN t.transaction_type = 'completion' THEN t.target_audit ⇒
  text: `
    WITH place AS (
      SELECT last_at, last_audit, ${A_WHILE_AGO} - merchant.card_days * interval '24 hours' AS refundable_from
      FROM card_review JOIN merchant ON merchant.organisation_id = card_review.organisation_id AND merchant.id = merchant_id
      WHERE card_review.organisation_id = $1 AND merchant_id = $2
    ), page AS MATERIALIZED (
      SELECT t.created_at, t.audit,
        CASE WHEN t.has_card THEN t.audit WHEN t.transaction_type = 'completion' THEN t.target_audit END AS card
      FROM place CROSS JOIN LATERAL (
        SELECT created_at, audit, transaction_type, target_audit, ${HAS_CARD} AS has_card
        FROM transaction
        WHERE organisation_id = $1 AND merchant_id = $2 AND created_at > '-infinity'
          AND (created_at, audit) > (place.last_at, place.last_audit) AND created_at <= place.refundable_from
        ORDER BY created_at, audit LIMIT $3
      ) t
    ), moved AS (
      UPDATE card_review SET last_at = furthest.created_at, last_audit = furthest.audit FROM ${FURTHEST}
      WHERE organisation_id = $1 AND merchant_id = $2
    )
    ${SEEN}`,
};

/** Cards that an earlier review held back and that are due now, or scheduled implausibly far ahead. */
export const LOOK_AT_HELD_CARDS: Statement = {
  name: 'look-at-held-cards',
  text: `
    WITH page AS (
      (SELECT audit AS card FROM card_held
      WHERE organisation_id = $1 AND merchant_id = $2 AND look_at <= (SELECT gateway_now()) ORDER BY look_at LIMIT $3)
      UNION ALL
      (SELECT audit FROM card_held
      WHERE organisation_id = $1 AND merchant_id = $2 AND look_at > (SELECT gateway_now() + interval '2 days') LIMIT $3)
    )
    SELECT (SELECT count(*) FROM page) >= $3 AS more, ${CARDS}`,
};

/** Payments with a token of a deleted customer, one page at a time. */
export const LOOK_AT_CARDS_OF_DELETED_CUSTOMERS: Statement = {
  name: 'look-at-cards-of-deleted-customers',
  text: `
    WITH place AS (
      SELECT token_id, up_to_at, up_to_audit FROM card_of_deleted_customer
      WHERE organisation_id = $1 AND merchant_id = $2 ORDER BY token_id LIMIT 1
    ), page AS MATERIALIZED (
      SELECT t.created_at, t.audit, CASE WHEN t.has_card THEN t.audit END AS card
      FROM place CROSS JOIN LATERAL (
        SELECT created_at, audit, ${HAS_CARD} AS has_card FROM transaction
        WHERE organisation_id = $1 AND merchant_id = $2 AND token_id = place.token_id
          AND (created_at, audit) > (place.up_to_at, place.up_to_audit)
        ORDER BY created_at, audit LIMIT $3
      ) t
    ), moved AS (
      UPDATE card_of_deleted_customer c SET up_to_at = furthest.created_at, up_to_audit = furthest.audit
      FROM place, ${FURTHEST}
      WHERE c.organisation_id = $1 AND c.merchant_id = $2 AND c.token_id = place.token_id
        AND (SELECT count(*) FROM page) = $3
    ), done AS (
      DELETE FROM card_of_deleted_customer c USING place
      WHERE c.organisation_id = $1 AND c.merchant_id = $2 AND c.token_id = place.token_id
        AND (SELECT count(*) FROM page) < $3
    )
    SELECT EXISTS (SELECT 1 FROM place) AS more, ${CARDS}`,
};

/** Payments with the tokens of a customer ($3) that was just deleted: the newest of each token, $4 at most. */
export const CARDS_OF_DELETED_CUSTOMER: Statement = {
  name: 'cards-of-deleted-customer',
  text: `
    WITH page AS MATERIALIZED (
      SELECT CASE WHEN t.has_card THEN t.audit END AS card
      FROM token k CROSS JOIN LATERAL (
        SELECT audit, ${HAS_CARD} AS has_card FROM transaction
        WHERE organisation_id = $1 AND merchant_id = $2 AND token_id = k.id
        ORDER BY created_at DESC, audit DESC LIMIT $4
      ) t
      WHERE k.organisation_id = $1 AND k.merchant_id = $2 AND k.customer_id = $3 AND k.deleted_at IS NOT NULL
      LIMIT $4
    )
    SELECT (SELECT count(*) FROM page) = $4 AS more, ${CARDS}`,
};

/** There may be more: the background run reviews them. */
export const LEAVE_CARDS_OF_DELETED_CUSTOMER: Statement = {
  name: 'leave-cards-of-deleted-customer',
  text: `
    WITH hurried AS (
      UPDATE card_review SET next_at = '-infinity'
      WHERE (organisation_id, merchant_id) IN (
        SELECT organisation_id, merchant_id FROM card_review
        WHERE organisation_id = $1 AND merchant_id = $2 FOR UPDATE SKIP LOCKED)
    )
    INSERT INTO card_of_deleted_customer (organisation_id, merchant_id, token_id)
    SELECT organisation_id, merchant_id, id FROM token
    WHERE organisation_id = $1 AND merchant_id = $2 AND customer_id = $3 AND deleted_at IS NOT NULL
    ON CONFLICT DO NOTHING`,
};

/** Ends the merchant's review. The next is due at once if there is more to look at ($3), later otherwise. */
export const CARDS_REVIEWED: Statement = {
  name: 'cards-reviewed',
  text: `
    UPDATE card_review
    SET next_at = gateway_now() + CASE WHEN $3 THEN interval '0' ELSE interval '15 minutes' END, destroyed = destroyed + $4::bigint
    WHERE organisation_id = $1 AND merchant_id = $2`,
};

/** A failed review must not delay the other merchants. */
export const POSTPONE_CARD_REVIEW: Statement = {
  name: 'postpone-card-review',
  text: `
    UPDATE card_review SET next_at = gateway_now() + interval '1 minute' WHERE organisation_id = $1 AND merchant_id = $2`,
};

/** Starts the reviews of every merchant, or of one, from the beginning. */
export const REVIEW_CARDS_AGAIN: Statement = {
  name: '',
  text: `
    UPDATE card_review SET first_at = '-infinity', first_audit = 0, last_at = '-infinity', last_audit = 0, next_at = '-infinity'
    WHERE $1::integer IS NULL OR merchant_id = $1
    RETURNING organisation_id AS "organisationId", merchant_id AS "merchantId"`,
};
