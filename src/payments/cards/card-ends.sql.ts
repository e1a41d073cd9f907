import type { Statement } from '../../postgres/database.js';
import { ENDS_AT, FOR_LIFE, HAS_CARD, LIFE, LIFE_ELSEWHERE } from './card-life.sql.js';

/**
 * Cards are judged as of a while ago: by then every claim that was still allowed has committed, even from a process whose clock
 * is slightly behind.
 */
// guard(card: not destroyed within ten minutes of its end): 10 minutes ⇒ 0
export const A_WHILE = `interval '10 minutes'`;

// guard(card destruction: nobody is waited for): SKIP LOCKED ⇒
const CARD_AND = `
    WITH card AS MATERIALIZED (
      SELECT audit, completed_by FROM transaction
      WHERE organisation_id = $1 AND audit = ANY ($3::integer[]) AND merchant_id = $2 AND ${HAS_CARD}
      FOR NO KEY UPDATE SKIP LOCKED
    ), completion AS MATERIALIZED (`;

// guard(card: not destroyed while a refund of its completion begins): card.completed_by IN (SELECT audit FROM completion) ⇒ true
const OF_THOSE = `SKIP LOCKED
    )
    SELECT coalesce(array_agg(card.audit), '{}') AS cards FROM card
    WHERE card.completed_by IS NULL OR card.completed_by IN (SELECT audit FROM completion)`;

/**
 * Locks those of a merchant's ($1, $2) transactions ($3) that have a card, with their completions. Refunds that start after
 * this find no card; the judging statement sees refunds that started before. Rows that somebody else has locked are skipped, so
 * that this lock is never held for long. Returns the rows that were locked.
 */
export const LOCK_CARDS: Statement = {
  name: 'lock-cards',
  text: `${CARD_AND}
      SELECT t.audit FROM card JOIN transaction t ON t.organisation_id = $1 AND t.audit = card.completed_by
      FOR NO KEY UPDATE OF t ${OF_THOSE}`,
  spread: `${CARD_AND}
      SELECT t.audit FROM transaction t WHERE t.organisation_id = $1 AND t.audit = ANY (ARRAY(SELECT completed_by FROM card))
      FOR NO KEY UPDATE ${OF_THOSE}`,
};

const CARDS_TO_JUDGE = `
    WITH moment AS MATERIALIZED (
      SELECT gateway_now() AS present, gateway_now() - ${A_WHILE} AS past
    ), card AS MATERIALIZED (
      SELECT ${FOR_LIFE} FROM transaction
      WHERE organisation_id = $1 AND audit = ANY ($4::integer[]) AND merchant_id = $2 AND ${HAS_CARD}
    ), judged AS MATERIALIZED (
      SELECT card.audit, ${ENDS_AT} AS ends_at, life.undecided, life.refundable_until,
        merchant.card_days * interval '24 hours' AS card_days
      FROM card JOIN merchant ON merchant.organisation_id = $1 AND merchant.id = $2`;

// guard(card: what ends between the looks is held): judged.ends_at > moment.past ⇒ false
// guard(card: destroyed only when it has ended): AND judged.ends_at <= moment.past ⇒
const DESTROY_JUDGED = `    ), destroyed AS (
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
        -- The last review of a refundable card is still to come, unless it has run under a different number of days.
        AND (judged.refundable_until IS NULL OR judged.refundable_until <= moment.past
          OR judged.refundable_until - judged.card_days <= review.last_at)
      UNION ALL
      SELECT locked.audit, moment.present + interval '1 minute'
      FROM moment, unnest($3::integer[]) locked(audit)
      WHERE NOT EXISTS (SELECT 1 FROM card WHERE card.audit = locked.audit)
        AND`;

const HOLD_THE_REST = `AND t.payment_details_sealed IS NOT NULL AND t.card_mask IS NOT NULL)
    ), held AS (
      INSERT INTO card_held (organisation_id, merchant_id, audit, look_at) SELECT $1, $2, audit, look_at FROM to_hold
      -- A fixed order, so that two of these statements cannot deadlock.
      ORDER BY audit
      ON CONFLICT (organisation_id, audit) DO UPDATE SET look_at = excluded.look_at
    ), let_go AS (
      DELETE FROM card_held USING unnest($3::integer[]) looked(audit)
      WHERE card_held.organisation_id = $1 AND card_held.audit = looked.audit
        AND NOT EXISTS (SELECT 1 FROM to_hold WHERE to_hold.audit = looked.audit)
    )
    SELECT (SELECT count(*) FROM destroyed)::integer AS destroyed`;

/**
 * Judges a merchant's ($1, $2) transactions ($3), of which $4 are locked, and destroys the cards that no operation can need any
 * more. A card that must stay for now and would not be reviewed again is held; so is a card that somebody else had locked.
 */
export const DESTROY_ENDED_CARDS: Statement = {
  name: 'destroy-ended-cards',
  text: `${CARDS_TO_JUDGE}${LIFE}
${DESTROY_JUDGED} EXISTS (SELECT 1 FROM transaction t
          WHERE t.organisation_id = $1 AND t.audit = locked.audit AND t.merchant_id = $2
            ${HOLD_THE_REST}`,
  spread: `${CARDS_TO_JUDGE}${LIFE_ELSEWHERE}
${DESTROY_JUDGED} EXISTS (SELECT 1 FROM transactions_at(ARRAY[$1::integer], ARRAY[locked.audit]) t
          WHERE t.merchant_id = $2
            ${HOLD_THE_REST}`,
};
