import type { Statement } from '../postgres/database.js';
import { ENDS_AT, FOR_LIFE, HAS_CARD, LIFE } from './card-life.sql.js';

/**
 * Everything is looked at as it was a while ago: by then a claim that was still allowed is committed, also one of a process whose
 * clock is a little behind.
 */
const A_WHILE = `interval '10 minutes'`;
const A_WHILE_AGO = `(SELECT gateway_now() - ${A_WHILE})`;

/** Whoever has this lock destroys cards, and nobody else does. */
export const CARD_DESTRUCTION_LOCK = `hashtext('tollgate card destruction')`;

/** Only one process at a time: the others' payments come first. And what time it is, by the database. */
export const LOCK_CARD_DESTRUCTION: Statement = {
  name: 'lock-card-destruction',
  text: `
    SELECT pg_try_advisory_xact_lock(${CARD_DESTRUCTION_LOCK}) AS locked,
      (extract(epoch FROM gateway_now()) * 1000)::bigint AS "nowMs"`,
};

/** Merchants that were added since. */
export const ADD_CARD_REVIEWS: Statement = {
  name: 'add-card-reviews',
  text: `
    INSERT INTO card_review (organisation_id, merchant_id)
    SELECT organisation_id, id FROM merchant m
    WHERE NOT EXISTS (SELECT 1 FROM card_review r WHERE r.organisation_id = m.organisation_id AND r.merchant_id = m.id)
    ON CONFLICT DO NOTHING`,
};

/** Further ahead than a turn is ever put: it comes from a clock that was set back since. */
export const MEND_CARD_REVIEWS: Statement = {
  name: 'mend-card-reviews',
  text: `UPDATE card_review SET next_at = gateway_now() WHERE next_at > (SELECT gateway_now() + interval '1 hour')`,
};

/** Merchants take turns: however much one of them has, the others come in between. */
export const NEXT_CARD_REVIEW: Statement = {
  name: 'next-card-review',
  text: `
    SELECT organisation_id AS "organisationId", merchant_id AS "merchantId" FROM card_review
    WHERE next_at <= (SELECT gateway_now()) ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
};

/** Of a page: which transactions to judge because of it. */
const CARDS = `ARRAY(SELECT DISTINCT card FROM page WHERE card IS NOT NULL) AS cards`;

/** Whether there may be more to look at than a page of so many ($3). */
const SEEN = `SELECT (SELECT count(*) FROM page) = $3 AS more, ${CARDS}`;

/** Its end. */
const FURTHEST = `(SELECT created_at, audit FROM page ORDER BY created_at DESC, audit DESC LIMIT 1) furthest`;

/**
 * The first look at every transaction, of the merchant ($1, $2), a page ($3) further. Judged is what may end before it can be refunded
 * no more. Nearly all are approved purchases, of which there is nothing to judge yet; what was refunded in full, or paid with a token
 * that is gone (asked row by row: `OFFSET 0`), is no such one. Operations lead to the payment that they go back to.
 */
export const FIRST_LOOK_AT_CARDS: Statement = {
  name: 'first-look-at-cards',
  text: `
    WITH place AS (
      SELECT first_at, first_audit FROM card_review WHERE organisation_id = $1 AND merchant_id = $2
    ), page AS MATERIALIZED (
      SELECT t.created_at, t.audit,
        CASE
          WHEN t.has_card AND NOT (t.transaction_type = 'purchase' AND t.status = 'approved' AND t.voided_by IS NULL
            AND t.refunded_cents < t.amount_cents AND NOT EXISTS (SELECT 1 FROM token
              WHERE token.organisation_id = $1 AND token.id = t.token_id AND token.deleted_at IS NOT NULL OFFSET 0)) THEN t.audit
          WHEN t.transaction_type = 'completion' THEN t.target_audit
          WHEN target.transaction_type = 'completion' THEN target.target_audit
          WHEN t.transaction_type = 'refund' THEN t.target_audit
        END AS card
      FROM place CROSS JOIN LATERAL (
        SELECT created_at, audit, transaction_type, status, voided_by, refunded_cents, amount_cents, token_id, target_audit,
          ${HAS_CARD} AS has_card
        FROM transaction
        WHERE organisation_id = $1 AND merchant_id = $2 AND created_at > '-infinity'
          AND (created_at, audit) > (place.first_at, place.first_audit) AND created_at <= ${A_WHILE_AGO}
        ORDER BY created_at, audit LIMIT $3
      ) t LEFT JOIN transaction target ON target.organisation_id = $1 AND target.audit = t.target_audit
    ), moved AS (
      UPDATE card_review SET first_at = furthest.created_at, first_audit = furthest.audit FROM ${FURTHEST}
      WHERE organisation_id = $1 AND merchant_id = $2
    )
    ${SEEN}`,
};

/** The last look, when what was paid then can be refunded no more. A completion leads to its preauthorisation, which has the card. */
export const LAST_LOOK_AT_CARDS: Statement = {
  name: 'last-look-at-cards',
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

/** What was held up at one of those looks, and whose time has come; or lies further ahead than it is ever put. */
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

/** What was paid with a token of a deleted customer, a page further. */
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

/** What was paid with the tokens of a customer ($3) that was just deleted: the newest of each, and so many ($4) at most. */
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

/** There may be more: they are looked at in the background. */
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

/**
 * Locks those of the transactions ($3) of a merchant ($1, $2) that have a card, with their completions: what is refunded on either from
 * now on finds no card, and what was begun before is seen by the statement that judges them. Nobody is waited for, and so
 * nobody waits for this one for long: returned are those that nobody else has locked.
 */
export const LOCK_CARDS: Statement = {
  name: 'lock-cards',
  text: `
    WITH card AS MATERIALIZED (
      SELECT audit, completed_by FROM transaction
      WHERE organisation_id = $1 AND audit = ANY ($3::integer[]) AND merchant_id = $2 AND ${HAS_CARD}
      FOR NO KEY UPDATE SKIP LOCKED
    ), completion AS MATERIALIZED (
      SELECT t.audit FROM card JOIN transaction t ON t.organisation_id = $1 AND t.audit = card.completed_by
      FOR NO KEY UPDATE OF t SKIP LOCKED
    )
    SELECT coalesce(array_agg(card.audit), '{}') AS cards FROM card
    WHERE card.completed_by IS NULL OR card.completed_by IN (SELECT audit FROM completion)`,
};

/**
 * Judges the transactions ($3) of a merchant ($1, $2), of which some ($4) were locked for it, and destroys the cards with which nothing
 * can be done any more. What cannot be destroyed yet, and would not be looked at again, is held; so is what somebody else had locked.
 */
export const DESTROY_ENDED_CARDS: Statement = {
  name: 'destroy-ended-cards',
  text: `
    WITH moment AS MATERIALIZED (
      SELECT gateway_now() AS present, gateway_now() - ${A_WHILE} AS past
    ), card AS MATERIALIZED (
      SELECT ${FOR_LIFE} FROM transaction
      WHERE organisation_id = $1 AND audit = ANY ($4::integer[]) AND merchant_id = $2 AND ${HAS_CARD}
    ), judged AS MATERIALIZED (
      SELECT card.audit, ${ENDS_AT} AS ends_at, life.undecided, life.refundable_until,
        merchant.card_days * interval '24 hours' AS card_days
      FROM card JOIN merchant ON merchant.organisation_id = $1 AND merchant.id = $2${LIFE}
    ), destroyed AS (
      UPDATE transaction t SET payment_details_sealed = NULL, payment_details_key_version = NULL
      FROM judged, moment
      WHERE t.organisation_id = $1 AND t.audit = judged.audit AND judged.ends_at <= moment.past
      RETURNING t.audit
    ), to_hold AS MATERIALIZED (
      SELECT judged.audit,
        CASE WHEN judged.undecided THEN moment.present + interval '1 hour'
          ELSE least(judged.ends_at + ${A_WHILE}, moment.present + interval '1 day') END AS look_at
      FROM moment, judged LEFT JOIN card_review review ON review.organisation_id = $1 AND review.merchant_id = $2
      WHERE judged.ends_at > moment.past
        -- As long as it can be refunded, the last look is still to come: unless it has been there, with other days.
        AND (judged.refundable_until IS NULL OR judged.refundable_until <= moment.past
          OR judged.refundable_until - judged.card_days <= review.last_at)
      UNION ALL
      SELECT locked.audit, moment.present + interval '1 minute'
      FROM moment, unnest($3::integer[]) locked(audit)
      WHERE NOT EXISTS (SELECT 1 FROM card WHERE card.audit = locked.audit)
        AND EXISTS (SELECT 1 FROM transaction t
          WHERE t.organisation_id = $1 AND t.audit = locked.audit AND t.merchant_id = $2
            AND t.payment_details_sealed IS NOT NULL AND t.card_mask IS NOT NULL)
    ), held AS (
      INSERT INTO card_held (organisation_id, merchant_id, audit, look_at) SELECT $1, $2, audit, look_at FROM to_hold
      -- Everybody in the same order, so that two of these cannot wait for each other.
      ORDER BY audit
      ON CONFLICT (organisation_id, audit) DO UPDATE SET look_at = excluded.look_at
    ), let_go AS (
      DELETE FROM card_held USING unnest($3::integer[]) looked(audit)
      WHERE card_held.organisation_id = $1 AND card_held.audit = looked.audit
        AND NOT EXISTS (SELECT 1 FROM to_hold WHERE to_hold.audit = looked.audit)
    )
    SELECT (SELECT count(*) FROM destroyed)::integer AS destroyed`,
};

/** The merchant's turn is over: it comes again at once where there was more to look at ($3), later otherwise. */
export const CARDS_REVIEWED: Statement = {
  name: 'cards-reviewed',
  text: `
    UPDATE card_review
    SET next_at = gateway_now() + CASE WHEN $3 THEN interval '0' ELSE interval '15 minutes' END, destroyed = destroyed + $4::bigint
    WHERE organisation_id = $1 AND merchant_id = $2`,
};

/** A turn that failed must not keep the others waiting. */
export const POSTPONE_CARD_REVIEW: Statement = {
  name: 'postpone-card-review',
  text: `
    UPDATE card_review SET next_at = gateway_now() + interval '1 minute' WHERE organisation_id = $1 AND merchant_id = $2`,
};

/** From the beginning, of every merchant or of one. */
export const REVIEW_CARDS_AGAIN: Statement = {
  name: '',
  text: `
    UPDATE card_review SET first_at = '-infinity', first_audit = 0, last_at = '-infinity', last_audit = 0, next_at = '-infinity'
    WHERE $1::integer IS NULL OR merchant_id = $1
    RETURNING organisation_id AS "organisationId", merchant_id AS "merchantId"`,
};
