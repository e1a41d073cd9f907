/** By what is stored and the days of this run alone, in other words than the gateway's. All of it is younger than an hour. */
export const SEALED_WRONGLY = `
  SELECT transaction_type || ' ' || audit || ', ' || status || CASE WHEN sealed THEN ', has a card' ELSE ', has none' END AS what
  FROM (
    SELECT *, payment_details_sealed IS NOT NULL AS sealed,
      transaction_type IN ('purchase', 'preauthorisation', 'standalone_refund')
        -- What was reversed by messages may have to be reversed again, for a day.
        AND (status = 'approved' OR (status = 'error' AND reversing AND prepared IS NOT NULL)) AS usable
    FROM transaction WHERE reference <> 'before-everything') looked
  WHERE sealed <> usable
  UNION ALL
  SELECT 'token ' || id || ', deleted, has a card' FROM token WHERE deleted_at IS NOT NULL AND sealed IS NOT NULL`;

export const SEALED_CARDS = `
  SELECT transaction_type || ' ' || audit || ' has a card' AS what FROM transaction
  WHERE payment_details_sealed IS NOT NULL AND card_mask IS NOT NULL LIMIT 20`;

/** As if all of it had happened long ago: the clock cannot be moved where there are real links. */
export const AGE_EVERYTHING = `
  UPDATE transaction SET created_at = created_at - interval '130 days', completable_until = completable_until - interval '130 days',
    voidable_until = voidable_until - interval '130 days', decided_at = decided_at - interval '130 days'`;

export const REVIEW_CARDS = `UPDATE card_review SET next_at = '-infinity'`;
