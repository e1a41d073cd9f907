import type { Statement } from '../postgres/database.js';

export const MERCHANT_OF_SURCHARGE: Statement = {
  name: '',
  text: `SELECT organisation_id AS "organisationId", id AS "merchantId", mode FROM merchant WHERE id = $1`,
};

/** A rule for the same thing from the same day is replaced. */
export const SET_SURCHARGE: Statement = {
  name: '',
  text: `
    INSERT INTO surcharge_rule (organisation_id, merchant_id, scope, thousandths, first_day, last_day)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (organisation_id, merchant_id, scope, first_day)
    DO UPDATE SET thousandths = excluded.thousandths, last_day = excluded.last_day`,
};

export const SHOW_SURCHARGES: Statement = {
  name: '',
  text: `
    SELECT scope, thousandths, first_day::text AS "from", last_day::text AS until FROM surcharge_rule
    WHERE merchant_id = $1 ORDER BY scope, first_day NULLS FIRST`,
};

export const CLEAR_SURCHARGES: Statement = {
  name: '',
  text: `DELETE FROM surcharge_rule WHERE merchant_id = $1`,
};
