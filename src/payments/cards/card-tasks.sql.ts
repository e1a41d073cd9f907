import type { Statement } from '../../postgres/database.js';
import { ENDS_AT, FOR_LIFE, HAS_CARD, LIFE, LIFE_ELSEWHERE } from './card-life.sql.js';

export const ORGANISATIONS_WITH_CARDS: Statement = {
  name: '',
  text: `
    SELECT o.id, (o.next_audit - 1)::integer AS "lastAudit", (o.next_token_id - 1)::integer AS "lastToken" FROM organisation o
    WHERE $1::integer IS NULL OR EXISTS (SELECT 1 FROM merchant m WHERE m.organisation_id = o.id AND m.id = $1) ORDER BY o.id`,
};

const CARDS_OF_PAGE = `
    WITH moment AS MATERIALIZED (
      SELECT gateway_now() AS present
    ), card AS MATERIALIZED (
      SELECT ${FOR_LIFE}, NOT (${HAS_CARD}) AS direct_debit FROM transaction
      WHERE organisation_id = $1 AND audit BETWEEN $2 AND $3 AND payment_details_sealed IS NOT NULL
        AND ($4::integer IS NULL OR merchant_id = $4)
    ), judged AS (
      SELECT card.merchant_id, card.created_at, ${ENDS_AT} AS ends_at,
        CASE WHEN card.direct_debit THEN 'direct debit'
          WHEN life.undecided THEN 'undecided'
          WHEN life.completable_until > moment.present THEN 'completable'
          WHEN life.refundable_until > moment.present THEN 'refundable'
          WHEN life.voidable_until > moment.present THEN 'voidable'
          ELSE 'ended' END AS why
      FROM moment, card JOIN merchant ON merchant.organisation_id = $1 AND merchant.id = card.merchant_id`;

const BY_REASON = `    )
    SELECT judged.merchant_id AS merchant, judged.why, count(*) AS cards, min(judged.created_at) AS oldest,
      CASE WHEN judged.why NOT IN ('undecided', 'direct debit')
        THEN max(nullif(judged.ends_at, '-infinity')) END AS until,
      count(*) FILTER (WHERE judged.why = 'ended' AND judged.ends_at < moment.present - interval '1 hour'
        AND judged.created_at < moment.present - interval '1 hour') AS overdue
    FROM judged, moment GROUP BY judged.merchant_id, judged.why`;

/** One page of an organisation ($1): its audits from $2 to $3, of every merchant or of one ($4). */
export const SEALED_CARDS_OF_TRANSACTIONS: Statement = {
  name: '',
  text: `${CARDS_OF_PAGE}${LIFE}
${BY_REASON}`,
  spread: `${CARDS_OF_PAGE}${LIFE_ELSEWHERE}
${BY_REASON}`,
};

/** The same for tokens, by token ID. */
export const SEALED_CARDS_OF_TOKENS: Statement = {
  name: '',
  text: `
    SELECT merchant_id AS merchant, 'token' AS why, count(*) AS cards, min(created_at) AS oldest, NULL::timestamptz AS until,
      0 AS overdue
    FROM token
    WHERE organisation_id = $1 AND id BETWEEN $2 AND $3 AND deleted_at IS NULL AND account_type = 'general_creditcard'
      AND ($4::integer IS NULL OR merchant_id = $4)
    GROUP BY merchant_id`,
};

export const DESTROYED_CARDS: Statement = {
  name: '',
  text: `
    SELECT coalesce(sum(destroyed), 0)::bigint AS destroyed FROM card_review WHERE $1::integer IS NULL OR merchant_id = $1`,
};
