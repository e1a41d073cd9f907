import { INTO_EVENTS_WITH_DATA } from '../../events/events.sql.js';
import type { Statement } from '../../postgres/database.js';

/** Of a merchant ($1, $2) with a card ($3) in 30 days, by what was said of them. */
// guard(retries: declines count for 30 days): interval '30 days' ⇒ interval '0 days'
export const DECLINES_OF_CARD: Statement = {
  name: 'declines-of-card',
  text: `
    SELECT response_code AS "responseCode", advice_code AS "adviceCode", count(*)::integer AS count FROM declined_card
    WHERE organisation_id = $1 AND merchant_id = $2 AND tag = $3 AND declined_at > gateway_now() - interval '30 days'
    GROUP BY response_code, advice_code`,
};

/** A payment of a merchant ($1, $2) with a card ($3, shown as $4) by a user ($5): told of for the first time in a row. */
export const NOTE_RETRY_FORBIDDEN: Statement = {
  name: 'note-retry-forbidden',
  text: `
    WITH reached AS MATERIALIZED (SELECT * FROM note_retry_forbidden($1, $2, $3, $4))
    ${INTO_EVENTS_WITH_DATA}
      SELECT $1::integer, $2::integer, id, version, 'limit.reached', gateway_now(),
        json_build_object('per', 'retry', 'mode', 'block', 'shown', $4::text), $5::integer
      FROM reached WHERE begins`,
};

export const FORGET_DECLINES: Statement = {
  name: 'forget-declines',
  text: `DELETE FROM declined_card WHERE declined_at <= gateway_now() - interval '30 days'`,
};
