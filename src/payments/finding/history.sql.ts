import type { Statement } from '../../postgres/database.js';
import { decimalsInSql } from '../../values/money.js';
import { PROVING, TRANSACTION_COLUMNS } from './lookup.sql.js';

// A page of transactions, the newest first: fragments that `history.ts` puts together. Lanes are walked along an index, one
// for each merchant or for each token of a customer. Parameters: $1 organisation (or that of each lane), $2 and $3 the lanes (merchants,
// tokens), $4 from and $5 before which microsecond since 1970 (and $6 before which audit of it), $7 how many the page has, $8 how many a
// lane keeps and $9 how many it looks at, at most; from $10 on the filters, each empty where it is not asked for. $19: how many it looks
// at even if its time is over, and $20 how many milliseconds it has. $21 to $23: further filters.

/** A filter that is not asked for is folded away when the statement is planned. */
const MATCHES = `
          ($10::text IS NULL OR status = $10) AND ($11::text IS NULL OR transaction_type = $11)
          AND ($12::text IS NULL OR (bank_account IS NULL) = ($12 = 'creditcard'))
          AND ($13::text IS NULL OR (card_mask IS NOT NULL AND coalesce(card_type, '') = $13)) AND ($14::text IS NULL OR right(card_mask, 4) = $14)
          AND ($15::text IS NULL OR (reference ~>=~ $15 AND reference ~<~ ($15 || chr(127))))
          AND ($16::bigint[] IS NULL OR amount_cents = ($16::bigint[])[1 + ${decimalsInSql('currency')}]) AND ($17::date IS NULL OR settlement_date = $17)
          AND ($18::integer IS NULL OR target_audit = $18)
          AND ($21::text IS NULL OR acquirer = $21) AND ($22::text IS NULL OR coalesce(response_code, '') = $22)
          AND ($23::text IS NULL OR currency = $23)`;

export const PAGE = `${PROVING}, kept AS MATERIALIZED (`;

/** Lanes of one organisation, which is a constant of the statement. */
export const LANES_OF_ORGANISATION = `
    SELECT kept.* FROM unnest($2::integer[], $3::integer[]) AS lane(of_merchant, of_token)`;
export const IN_ORGANISATION = `organisation_id = $1`;

/** Lanes of several. */
export const LANES_ANYWHERE = `
    SELECT kept.* FROM unnest($1::integer[], $2::integer[], $3::integer[]) AS lane(of_organisation, of_merchant, of_token)`;
export const ANYWHERE = `organisation_id = of_organisation`;

/** Of what it looks at, a lane keeps what matches, and where it had to stop (`cut`). When its time is over it keeps whatever comes, and so soon has enough. */
export const LANE = `
    CROSS JOIN LATERAL (
      SELECT at_time, at_audit, at_organisation, matches,
        looked = $9 OR row_number() OVER (ORDER BY at_time DESC, at_audit DESC) = $8 AS cut
      FROM (
        SELECT created_at AS at_time, audit AS at_audit, organisation_id AS at_organisation, (${MATCHES}) AS matches,
          row_number() OVER (ORDER BY created_at DESC, audit DESC) AS looked
        FROM`;

export const EVERY_TRANSACTION = `
          transaction`;

/** Not in the order of time: for so few that they can be sorted. Followed by whose. */
export const BY_REFERENCE = `
          (SELECT * FROM transaction WHERE `;
export const OF_REFERENCE = ` AND merchant_id = of_merchant AND created_at > '-infinity'
            AND reference ~>=~ $15 AND reference ~<~ ($15 || chr(127))
          ORDER BY reference USING ~<~ LIMIT $9) AS of_reference`;

/** Followed by whose. */
export const WHERE = `
        WHERE `;
export const IN_LANE = ` AND merchant_id = of_merchant AND created_at > '-infinity'
          AND (created_at, audit) < (coalesce(to_timestamp($5::float8 / 1000000), 'infinity'), $6::integer)`;

export const SINCE = `
          AND created_at >= coalesce(to_timestamp($4::float8 / 1000000), '-infinity')`;

/** What was once in doubt, from before the other lanes begin ($4) back to $24. */
export const ONCE_IN_DOUBT = `
          AND resolve_attempts > 0 AND created_at < to_timestamp($4::float8 / 1000000)
          AND created_at >= coalesce(to_timestamp($24::float8 / 1000000), '-infinity')`;

/**
 * Direct debits settle on the day of their file, which may be made days after them: those of a month, from before the other lanes
 * begin. What was once in doubt has a lane of its own.
 */
export const WAITED_FOR_A_FILE = `
          AND bank_account IS NOT NULL AND resolve_attempts = 0 AND created_at < to_timestamp($4::float8 / 1000000)
          AND created_at >= greatest(to_timestamp($4::float8 / 1000000) - interval '31 days',
            coalesce(to_timestamp($24::float8 / 1000000), '-infinity'))`;

export const OF_TARGET = `
          AND target_audit = $18`;
/** An index finds these at once: $24. */
export const OF_CORRELATION_IDS = `
          AND correlation_id = ANY ($24::text[]) AND (of_token IS NULL OR token_id = of_token)`;
export const OF_TOKEN = `
          AND token_id = of_token`;
export const OF_TYPE = `
          AND transaction_type = $11 AND transaction_type <> 'purchase'`;
export const OF_BANK_ACCOUNT = `
          AND bank_account IS NOT NULL`;

export const END_OF_LANE = `
        ORDER BY created_at DESC, audit DESC LIMIT $9) walked
      WHERE matches OR looked = $9
        OR (looked > $19 AND clock_timestamp() > statement_timestamp() + $20 * interval '1 millisecond')
      ORDER BY at_time DESC, at_audit DESC LIMIT $8) kept`;

export const AND_LANE = `
    UNION ALL`;

/** Up to the horizon every lane has been looked at. What is beyond it is for a later page. Followed by where its rows are found. */
export const END_OF_PAGE = `
    ), horizon AS (
      SELECT at_time, at_audit FROM kept WHERE cut ORDER BY at_time DESC, at_audit DESC LIMIT 1
    ), page AS (
      SELECT kept.at_time, kept.at_audit, kept.at_organisation FROM kept LEFT JOIN horizon ON true
      WHERE kept.matches
        AND (horizon.at_time IS NULL OR (kept.at_time, kept.at_audit) >= (horizon.at_time, horizon.at_audit))
      ORDER BY kept.at_time DESC, kept.at_audit DESC LIMIT $7
    )
    SELECT (extract(epoch FROM horizon.at_time) * 1000000)::bigint AS "horizonUs", horizon.at_audit AS "horizonAudit", found.*
    FROM proof LEFT JOIN horizon ON true LEFT JOIN (
      SELECT (extract(epoch FROM created_at) * 1000000)::bigint AS "createdUs", ${TRANSACTION_COLUMNS}
      FROM page JOIN transaction ON `;

export const AT_PLACE_IN_ORGANISATION = `organisation_id = $1 AND audit = at_audit`;
export const AT_PLACE_ANYWHERE = `organisation_id = at_organisation AND audit = at_audit`;

export const IN_ORDER = `) AS found ON true
    ORDER BY found."createdUs" DESC, found.audit DESC, found."organisationId"`;

/** How many references begin like this, up to so many; of merchants of one organisation. */
export const COUNT_REFERENCES: Statement = {
  name: 'count-references',
  text: `
    SELECT count(*)::integer AS count FROM (
      SELECT FROM transaction, unnest($2::integer[]) AS of_merchant
      WHERE organisation_id = $1 AND merchant_id = of_merchant AND created_at > '-infinity'
        AND reference ~>=~ $3 AND reference ~<~ ($3 || chr(127)) LIMIT $4) AS counted`,
};

/** The same for merchants of several organisations. */
export const COUNT_REFERENCES_ANYWHERE: Statement = {
  name: 'count-references-anywhere',
  text: `
    SELECT count(*)::integer AS count FROM (
      SELECT FROM unnest($1::integer[], $2::integer[]) AS lane(of_organisation, of_merchant) CROSS JOIN LATERAL (
        SELECT FROM transaction
        WHERE organisation_id = of_organisation AND merchant_id = of_merchant AND created_at > '-infinity'
          AND reference ~>=~ $3 AND reference ~<~ ($3 || chr(127)) LIMIT $4) AS of_lane
      LIMIT $4) AS counted`,
  spread: `
    SELECT count(*)::integer AS count FROM (
      SELECT 1 FROM transaction
      WHERE organisation_id = ANY ($1::integer[]) AND merchant_id = ANY ($2::integer[]) AND created_at > '-infinity'
        AND reference ~>=~ $3 AND reference ~<~ ($3 || chr(127)) LIMIT $4) AS counted`,
};
