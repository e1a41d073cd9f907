import { newestSeal } from '../../journal/seals.js';
import { columns, optionalText, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { BinRange } from '../../values/card.js';

/** Locks the merchant, so that one command at a time changes its routes. Returns what it takes to know whether it can pay over a link. */
export const BEGIN_ROUTES: Statement = {
  name: '',
  // guard(routes: one command at a time changes the routes of a merchant): FOR NO KEY UPDATE ⇒
  text: `
    SELECT organisation_id AS "organisationId", id, mode, acceptor_id AS "acceptorId", terminals FROM merchant WHERE id = $1
    FOR NO KEY UPDATE`,
};

/** After organisation, merchant, acquirer, card type, currency, share and place. */
export const BINS = columns<BinRange | undefined>(
  'bin',
  {
    // So that a row without a BIN is a row.
    kind: text((range) => (range === undefined ? 'any' : 'range')),
    bin_from: optionalText((range) => range?.from),
    bin_to: optionalText((range) => range?.to),
  },
  { after: 7 },
);

/** One for each range. A route for the same payments over the same link is replaced. */
export const SET_ROUTES: Statement = {
  name: '',
  text: `
    INSERT INTO route (organisation_id, merchant_id, acquirer, card_type, currency, share, place, bin_from, bin_to)
    SELECT $1::integer, $2::integer, $3::text, $4::text, $5::text, $6::integer, $7::integer, bin_from, bin_to FROM ${BINS.rows}
    ON CONFLICT (organisation_id, merchant_id, acquirer, card_type, bin_from, bin_to, currency)
    DO UPDATE SET share = excluded.share, place = excluded.place`,
};

/** The largest sum of shares among routes for the same payments, in the same place. */
export const LARGEST_SHARES: Statement = {
  name: '',
  // guard(routes: one command at a time changes the routes of a merchant): WHERE ⇒ , (SELECT pg_sleep(0.3)) slept WHERE
  text: `
    SELECT sum(share)::integer AS thousandths FROM route WHERE organisation_id = $1 AND merchant_id = $2
    GROUP BY card_type, bin_from, bin_to, currency, place ORDER BY 1 DESC NULLS LAST LIMIT 1`,
};

export const COUNT_ROUTES: Statement = {
  name: '',
  text: `SELECT count(*)::integer AS routes FROM route WHERE organisation_id = $1 AND merchant_id = $2`,
};

export const ROUTED_MERCHANT: Statement = {
  name: '',
  text: `SELECT organisation_id AS "organisationId" FROM merchant WHERE id = $1`,
};

/** Those that have everything that is named. */
export const REMOVE_ROUTES: Statement = {
  name: '',
  text: `
    DELETE FROM route WHERE organisation_id = $1 AND merchant_id = $2
      AND ($3::text IS NULL OR acquirer = $3) AND ($4::text IS NULL OR card_type = $4)
      AND ($5::text IS NULL OR currency = $5) AND ($6::integer IS NULL OR place = $6)
      AND ($7::text[] IS NULL OR bin_from || '-' || bin_to = ANY ($7))
    RETURNING acquirer`,
};

export const ROUTES_OF_MERCHANT: Statement = {
  name: 'routes-of-merchant',
  text: `
    SELECT sealed.newest, acquirer, card_type AS "cardType", bin_from AS "binFrom", bin_to AS "binTo", currency, share, place
    FROM (SELECT ${newestSeal("'routes/' || $2::integer")} AS newest) sealed
    LEFT JOIN route ON organisation_id = $1 AND merchant_id = $2`,
};

/** Empty: of the whole installation. */
export const ORGANISATION_OF_OPERATOR: Statement = {
  name: '',
  text: `SELECT organisation_id AS "organisationId" FROM operator WHERE name = $1`,
};
