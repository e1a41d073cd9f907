import type { Statement } from '../postgres/database.js';

const MERCHANT = `id, organisation_id AS organisation, name, mode, vault,
  preauthorisation_days AS "preauthorisationDays", card_days AS "cardDays", acquirer, acceptor_id AS "acceptorId",
  terminals, category_code AS "categoryCode", suspended_at AS "suspendedAt",
  (SELECT b.display_name FROM merchant_brand b WHERE b.merchant_id = merchant.id) AS "displayName",
  (SELECT b.colour FROM merchant_brand b WHERE b.merchant_id = merchant.id) AS colour,
  (SELECT octet_length(b.logo) FROM merchant_brand b WHERE b.merchant_id = merchant.id) AS "logoBytes"`;

export const ADD_MERCHANT: Statement = {
  name: '',
  text: `
    INSERT INTO merchant (organisation_id, name, vault, preauthorisation_days, card_days, mode, acquirer, acceptor_id,
      terminals, category_code)
    SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM organisation WHERE id = $1
    RETURNING ${MERCHANT}`,
};

export const LIST_MERCHANTS: Statement = {
  name: '',
  text: `SELECT ${MERCHANT} FROM merchant WHERE $1::integer IS NULL OR organisation_id = $1 ORDER BY id`,
};

export const SHOW_MERCHANT: Statement = {
  name: '',
  text: `SELECT ${MERCHANT} FROM merchant WHERE id = $1`,
};

export const FIND_MERCHANT: Statement = {
  name: '',
  text: `SELECT mode FROM merchant WHERE id = $1`,
};

export const SET_MERCHANT: Statement = {
  name: '',
  text: `
    UPDATE merchant SET name = coalesce($2, name), vault = coalesce($3, vault),
      preauthorisation_days = coalesce($4, preauthorisation_days), card_days = coalesce($5, card_days),
      acquirer = CASE WHEN $6 THEN $7 ELSE acquirer END, acceptor_id = coalesce($8, acceptor_id),
      terminals = coalesce($9, terminals), category_code = coalesce($10, category_code)
    WHERE id = $1 RETURNING ${MERCHANT}`,
};

export const SUSPEND_MERCHANT: Statement = {
  name: '',
  text: `
    UPDATE merchant SET suspended_at = CASE WHEN $2 THEN coalesce(suspended_at, now()) END
    WHERE id = $1 RETURNING ${MERCHANT}`,
};

export const HAS_LIVE_MERCHANT: Statement = {
  name: '',
  text: `SELECT FROM merchant WHERE mode = 'live' AND ($1::integer IS NULL OR organisation_id = $1) LIMIT 1`,
};
