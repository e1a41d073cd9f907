import type { Statement } from '../postgres/database.js';

const MERCHANT = `id, organisation_id AS organisation, name, mode, vault,
  preauthorisation_days AS "preauthorisationDays", card_days AS "cardDays", acquirer`;

export const ADD_MERCHANT: Statement = {
  name: '',
  text: `
    INSERT INTO merchant (organisation_id, name, vault, preauthorisation_days, card_days, mode, acquirer)
    SELECT id, $2, $3, $4, $6, $5, CASE WHEN $5 = 'test' THEN 'simulator' END FROM organisation WHERE id = $1
    RETURNING ${MERCHANT}`,
};

export const LIST_MERCHANTS: Statement = {
  name: '',
  text: `SELECT ${MERCHANT} FROM merchant WHERE $1::integer IS NULL OR organisation_id = $1 ORDER BY id`,
};

export const SET_MERCHANT: Statement = {
  name: '',
  text: `
    UPDATE merchant SET name = coalesce($2, name), vault = coalesce($3, vault),
      preauthorisation_days = coalesce($4, preauthorisation_days), card_days = coalesce($5, card_days)
    WHERE id = $1 RETURNING ${MERCHANT}`,
};
