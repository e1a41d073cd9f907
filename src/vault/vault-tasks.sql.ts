import type { Statement } from '../postgres/database.js';

export const MERCHANT_OF_CUSTOMER: Statement = {
  name: '',
  text: `SELECT merchant_id AS merchant FROM customer WHERE organisation_id = $1 AND id = $2`,
};

export const OWNER_OF_TOKEN: Statement = {
  name: '',
  text: `
    SELECT merchant_id AS merchant, customer_id AS customer FROM token
    WHERE organisation_id = $1 AND id = $2 AND deleted_at IS NULL`,
};

export const VAULT_OF_MERCHANT: Statement = {
  name: '',
  text: `
    SELECT organisation_id AS "organisationId", id AS "merchantId", mode, vault, suspended_at IS NOT NULL AS suspended
    FROM merchant WHERE id = $1`,
};

/** By which customers, tokens and events know an operator. */
export const NUMBER_OF_OPERATOR: Statement = {
  name: '',
  text: `SELECT id FROM operator WHERE name = $1`,
};
